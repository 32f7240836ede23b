"""Downloads, from a server of this machine: whole and right, or not at all."""

import dataclasses
import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.training.cifarfiles import packed, random_parts, write_python_version
from torcheer.errors import FileFormatError, InputError
from torcheer.training.data.cifar10 import CIFAR10
from torcheer.training.data.cifareditions import CIFAR_10
from torcheer.training.data.fetching import Published, fetch

ARCHIVE = "cifar-10-python.tar.gz"


class Server(ThreadingHTTPServer):
    """Serves a folder, and counts."""

    num_asked = 0

    def finish_request(self, *arguments: Any) -> None:
        self.num_asked += 1
        super().finish_request(*arguments)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Published]]:
    folder = tmp_path_factory.mktemp("served")
    content = packed(write_python_version(folder, random_parts()), folder / ARCHIVE).read_bytes()
    server = Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield (
        server,
        Published(
            address=f"http://127.0.0.1:{server.server_port}/{ARCHIVE}",
            sha256=hashlib.sha256(content).hexdigest(),
            num_bytes=len(content),
        ),
    )
    server.shutdown()
    thread.join()
    server.server_close()


def test_download_fetches_what_is_not_there_and_nothing_else(
    served: tuple[Server, Published], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, published = served
    monkeypatch.setattr(CIFAR10, "_cifar", dataclasses.replace(CIFAR_10, published=published))
    before = server.num_asked

    train = CIFAR10(tmp_path / "new" / "data", train=True, download=True)
    test = CIFAR10(tmp_path / "new" / "data", train=False, download=True)

    assert server.num_asked == before + 1
    assert train.targets == [label for part in list(random_parts().values())[:5] for label in part.labels]
    assert len(test) == 4
    assert [path.name for path in (tmp_path / "new" / "data").iterdir()] == [ARCHIVE]


def test_download_completes_a_folder_that_is_not_whole(
    served: tuple[Server, Published], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CIFAR10, "_cifar", dataclasses.replace(CIFAR_10, published=served[1]))
    (write_python_version(tmp_path, random_parts()) / "data_batch_2").unlink()

    assert len(CIFAR10(tmp_path, download=True)) == 20


def test_another_file_than_the_published_one_is_not_kept(
    served: tuple[Server, Published], tmp_path: Path
) -> None:
    wrong = dataclasses.replace(served[1], sha256="0" * 64)

    with pytest.raises(FileFormatError, match="another file than the published one"):
        fetch(wrong, tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing.tar.gz", "../missing.tar.gz"])
def test_where_there_is_no_way_to_it_the_error_says_what_to_do(
    served: tuple[Server, Published], tmp_path: Path, name: str
) -> None:
    nowhere = dataclasses.replace(served[1], address=served[1].address.replace(ARCHIVE, name))

    with pytest.raises(
        InputError, match=f"404.*get missing.tar.gz by any other way and put it into {tmp_path}"
    ):
        fetch(nowhere, tmp_path)

    assert list(tmp_path.iterdir()) == []

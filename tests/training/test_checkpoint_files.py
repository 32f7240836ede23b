"""A file that is damaged, foreign or made to harm is refused; one that is being written never shows half."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from torcheer.errors import FileFormatError
from torcheer.tensorfile import files as wholefile
from torcheer.training import load_checkpoint, save_checkpoint
from torcheer.training.checkpoint.files import DOCUMENT, VERSION


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "c.safetensors"
    model = nn.Linear(3, 2)
    save_checkpoint(
        path,
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        extra=["text", 1, torch.tensor(2)],
    )
    return path.read_bytes()


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header: str | bytes, rest: bytes) -> bytes:
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + rest


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(FileFormatError) as caught:
        load_checkpoint(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def test_any_flipped_bit_is_found(good: bytes, tmp_path: Path) -> None:
    """In the header one by one, for there it is digits and names; in the tensors here and there."""
    header_end = len(good) - len(header_of(good)[1])
    for at in (*range(0, header_end, 29), *range(header_end, len(good), 499), len(good) - 1, len(good) - 9):
        damaged = bytearray(good)
        damaged[at] ^= 1 << at % 8
        assert refused(tmp_path / "c", bytes(damaged))


def test_a_file_that_was_cut_short_or_grew_is_refused(good: bytes, tmp_path: Path) -> None:
    for length in (0, 7, 8, 100, len(good) // 2, len(good) - 1):
        assert refused(tmp_path / "c", good[:length])
    assert "bytes and should have" in refused(tmp_path / "c", good + b"\0")


def test_files_of_others_are_told_apart(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(2)}, tmp_path / "pickled")
    save_file({"weight": torch.ones(2)}, tmp_path / "plain")

    assert "files of torch.save are opened by torch.load" in refused(
        tmp_path / "pickled", (tmp_path / "pickled").read_bytes()
    )
    assert "none that save_checkpoint wrote" in refused(tmp_path / "plain", (tmp_path / "plain").read_bytes())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="no ordinary file"):
        load_checkpoint(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "nothing")


def test_a_newer_format_is_refused_with_what_to_do(good: bytes, tmp_path: Path) -> None:
    header, rest = header_of(good)
    document = json.loads(header["__metadata__"][DOCUMENT])
    header["__metadata__"][DOCUMENT] = json.dumps({**document, "version": VERSION + 1})

    assert "newer than 1, the newest known here. Update torcheer" in refused(
        tmp_path / "c", with_header(json.dumps(header), rest)
    )


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], str]:
    def edit(header: dict[str, Any]) -> str:
        change(header)
        return json.dumps(header)

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (edited(lambda h: h["model.weight"].update(shape=[2**40, 2**20])), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(data_offsets=[0, 2**60])), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(dtype="X")), "what cannot be"),
        (edited(lambda h: h["model.weight"].update(shape=[1] * 100)), "what cannot be"),
        (edited(lambda h: h.update(more={"dtype": "U8", "shape": [2**62, 0], "data_offsets": [0, 0]})), ""),
        (edited(lambda h: h.pop("torcheer.checksums")), "should have"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: "{"})), "no JSON of a checkpoint"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: '{"version": "1"}'})), "no JSON of a check"),
        (edited(lambda h: h["__metadata__"].update({DOCUMENT: "[" * 10**5})), "no JSON of a checkpoint"),
        (lambda h: json.dumps(h)[:-1] + ', "model.bias": {}}', "names 'model.bias' twice"),
        (lambda h: "[" * 10**5, "no safetensors file"),
        (lambda h: '{"__metadata__": 3}', "no safetensors file"),
        (lambda h: "[]", "no safetensors file"),
    ],
)
def test_a_header_that_claims_what_cannot_be_is_refused(
    edit: Callable[[dict[str, Any]], str], words: str, good: bytes, tmp_path: Path
) -> None:
    header, rest = header_of(good)

    assert words in refused(tmp_path / "c", with_header(edit(header), rest))


def test_other_libraries_find_the_text_and_the_weights(good: bytes, tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(good)

    with safe_open(tmp_path / "c", "pt") as file:
        metadata = file.metadata()
        assert metadata["format"] == "pt"  # transformers and others ask for it
        assert json.loads(metadata[DOCUMENT])["state"]["extra"] == ["text", 1, {"$tensor": "extra.2"}]
        assert file.get_tensor("model.weight").shape == (2, 3)


@pytest.mark.parametrize("stage", ["write", "fsync", "replace"])
def test_what_was_there_stays_when_writing_fails(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(path, model=nn.Linear(3, 2), position=1)
    before = path.read_bytes()
    model = nn.Linear(3, 2)

    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    if stage == "write":
        monkeypatch.setattr("torcheer.training.checkpoint.files.file_tensor", fail)
    else:
        monkeypatch.setattr(wholefile.os, stage, fail)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, model=model, position=2)

    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_the_file_and_its_folder_are_on_the_disk_when_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), sync(fd)))

    save_checkpoint(tmp_path / "c", model=nn.Linear(3, 2))

    assert synced[0].endswith(".partial")
    assert synced[1:] == [str(tmp_path)]

"""Pipes and sockets where files are looked for: nobody waits for them, and only our errors come out."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import torcheer as tl
from tests.run import handmade_events as made
from torcheer.app.features.shelf import find_features
from torcheer.cli import app
from torcheer.errors import FileFormatError, InputError
from torcheer.training.datasets import read_picture

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
CONFIG = "projector_config.pbtxt"
PATIENCE = 60.0
SCALAR = made.event(made.scalar("loss", 0.5))


@pytest.fixture(autouse=True)
def patience(tmp_path: Path) -> Iterator[None]:
    """Whoever opens a pipe waits for ever: after a while somebody comes, and the test fails."""
    is_done = threading.Event()
    came: list[Path] = []

    def come() -> None:
        pause = PATIENCE
        while not is_done.wait(pause):
            pause = 0.1
            for path in tmp_path.rglob("*"):
                if path.is_fifo():
                    came.append(path)
                    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    thread = threading.Thread(target=come, daemon=True)
    thread.start()
    yield
    is_done.set()
    thread.join()
    assert not came, "somebody waited for a pipe"


def make_strange(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
        return
    here = os.getcwd()
    os.chdir(path.parent)  # the whole path may be longer than a socket can have
    try:
        with socket.socket(socket.AF_UNIX) as made_by:
            made_by.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_configuration_that_is_no_file_is_left_out_and_said(tmp_path: Path, kind: str) -> None:
    made.write_events(tmp_path, SCALAR)
    make_strange(tmp_path / CONFIG, kind)

    run = tl.open_run(tmp_path)
    assert run.scalars("loss").values.tolist() == [0.5]
    note = f"the embeddings are not read ({CONFIG} is no ordinary file)"
    assert note in run.status().note
    listed = CliRunner().invoke(app, ["runs", "list", str(tmp_path)])
    assert listed.exit_code == 0
    assert note in " ".join(listed.output.split())


def test_a_table_that_is_no_file_is_left_out_and_said(tmp_path: Path) -> None:
    made.write_events(tmp_path, SCALAR)
    os.mkfifo(tmp_path / "t.tsv")
    (tmp_path / "u.tsv").write_text("1\t2\n")
    for name in ("m.tsv", "s.png"):
        os.mkfifo(tmp_path / name)
    (tmp_path / CONFIG).write_text(
        'embeddings { tensor_name: "a" tensor_path: "t.tsv" }\n'
        'embeddings { tensor_name: "b" tensor_path: "u.tsv" metadata_path: "m.tsv" '
        'sprite { image_path: "s.png" single_image_dim: 2 single_image_dim: 2 } }\n'
    )
    run = tl.open_run(tmp_path)
    assert [record.matrix.tolist() for record in run.embeddings("b")] == [[[1, 2]]]
    assert "the embedding 'a' could not be read" in run.status().note


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe" + 'embeddings { tensor_name: "e" }'.encode("utf-16-le"),
        b"\x89\x01\x02 nothing \xfe\xff",
        b"embeddings { embeddings {",
        b'embeddings { tensor_name: "e',
        b"} embeddings { }",
    ],
    ids=["UTF-16", "bytes", "open braces", "an open quote", "a brace too many"],
)
def test_a_garbled_configuration_is_said(tmp_path: Path, text: bytes) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / CONFIG).write_bytes(text)
    note = f"the embeddings are not read ({CONFIG} is damaged)"
    assert note in tl.open_run(tmp_path).status().note
    for command in ("list", "show"):
        listed = CliRunner().invoke(app, ["runs", command, str(tmp_path)])
        assert note in " ".join(listed.output.split()), command


def test_what_can_be_read_before_the_damage_is_read(tmp_path: Path) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\t2\n")
    (tmp_path / CONFIG).write_text('embeddings { tensor_name: "a" tensor_path: "t.tsv" }\nembeddings {')
    run = tl.open_run(tmp_path)
    assert len(run.embeddings("a")) == 1
    assert f"some embeddings are not read ({CONFIG} is damaged)" in run.status().note


def test_a_folder_whose_event_files_are_pipes_is_no_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / made.FILE)
    with pytest.raises(InputError, match="is no run"):
        tl.open_run(tmp_path)
    (tmp_path / f"{made.FILE}.more").write_bytes(SCALAR)
    assert tl.open_run(tmp_path).names() == ["loss"]


@pytest.mark.parametrize("strange", ["rank-0.lock", "rank-0.sqlite-journal", "rank-0.sqlite-wal"])
def test_what_stands_beside_a_part_is_not_waited_for(tmp_path: Path, strange: str) -> None:
    with tl.Run(tmp_path) as run:
        run.log(0, loss=1.0)
    make_strange(tmp_path / strange, "pipe")
    assert tl.open_run(tmp_path).scalars("loss").values.tolist() == [1.0]


def test_a_pipe_beside_a_part_with_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log(0, loss=1.0)
    (tmp_path / "rank-0.sqlite-wal").write_bytes(bytes(100))  # so SQLite looks at both
    os.mkfifo(tmp_path / "rank-0.sqlite-journal")
    assert "rank-0.sqlite-journal is no ordinary file" in tl.open_run(tmp_path).status().note


@pytest.mark.parametrize("place", ["features", "features.zarr"])
def test_features_with_pipes_among_their_files_are_refused(tmp_path: Path, place: str) -> None:
    to = tmp_path / place
    tl.extract(nn.Sequential(nn.Linear(4, 3)), torch.ones(6, 4), layers=["0"], to=to, progress=False)
    files = sorted(path for path in to.rglob("*") if path.is_file())
    assert len(files) > 2
    num_refused = 0
    for path in files:
        content = path.read_bytes()
        make_strange(path, "pipe")
        try:
            features = tl.open_features(to)
            _ = features.progress
            numpy.asarray(features["0"])
        except FileFormatError as error:
            num_refused += "no ordinary file" in str(error)
        path.unlink()
        path.write_bytes(content)
    assert num_refused >= 2
    assert numpy.asarray(tl.open_features(to)["0"]).shape == (6, 3)


def test_a_picture_that_is_a_pipe_is_named(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(FileFormatError, match=r"a\.png.*no ordinary file"):
        read_picture(tmp_path / "a.png", "RGB")


def test_a_folder_whose_manifest_is_a_pipe_is_no_set_of_features(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    assert not find_features(tmp_path)

"""Files that say what cannot be, or are damaged: what can be read is read, the rest is in the note."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sqlite3
import tempfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from typer.testing import CliRunner

import torcheer as tl
from tests.many import examples
from tests.run import handmade_events as made
from tests.run.handmade_part import HandmadePart
from torcheer.app.features.feature_sets import find_features
from torcheer.cli import app
from torcheer.errors import FileFormatError, InputError
from torcheer.run.read.part_protocol import SeriesKey
from torcheer.run.read.run_reader import RunReader
from torcheer.run.records import (
    ConfusionHead,
    EmbeddingHead,
    HistogramHead,
    HparamsHead,
    PassHead,
    PrCurveHead,
    TensorHead,
    TextHead,
    VideoHead,
)
from torcheer.training.datasets import read_picture


def tensor_head(shape: list[int], dtype: str) -> TensorHead:
    figures = dict.fromkeys(("mean", "std", "min", "max"), 0.0)
    return TensorHead(shape=shape, dtype=dtype, num_zeros=0, num_nan=0, num_inf=0, **figures)


def embedding_head(num_points: int, num_dims: int, label_bytes: int, sprite_bytes: int) -> EmbeddingHead:
    return EmbeddingHead(
        num_points=num_points,
        num_dims=num_dims,
        columns=[],
        matrix_bytes=4 * num_points * num_dims,
        label_bytes=label_bytes,
        sprite_bytes=sprite_bytes,
        sprite_width=0,
        sprite_height=0,
        sprites_per_row=0,
    )


BLOCK = "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) VALUES "
GOOD = [(0, 1.0, 0.5), (1, 2.0, 0.25)]


@pytest.fixture
def part(tmp_path: Path) -> HandmadePart:
    part = HandmadePart(tmp_path)
    part.add_block("loss", GOOD)
    return part


def reader_of(part: HandmadePart) -> RunReader:
    return RunReader(part.path.parent)


@pytest.mark.parametrize(
    "row",
    [
        "(1, 2, 1000000000000, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 2, -1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 2, 0, 0, 0, zeroblob(0), zeroblob(0), zeroblob(0))",
        "(1, 2, 1, 0, 0, zeroblob(8), zeroblob(7), zeroblob(8))",
        "(1, 2, 1, 0, 0, 'eight ch', zeroblob(8), zeroblob(8))",
        "(1, -5, 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 9223372036854775807, 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 'two', 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 2, 1.5, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(1, 2, 1, 0, 7, zeroblob(8), zeroblob(8), zeroblob(8))",
        "(99, 2, 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
        "('loss', 2, 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
    ],
)
def test_points_that_cannot_be_are_skipped_and_said(part: HandmadePart, row: str) -> None:
    part.run(BLOCK + row)
    part.add_block("other", GOOD)

    reader = reader_of(part)

    assert reader.points("loss").values.tolist() == [0.5, 0.25]
    assert reader.points("other").values.tolist() == [0.5, 0.25]
    assert reader.series()[SeriesKey("scalar", "loss")].count == 2
    assert "points" in reader.status().note


def test_a_gap_in_the_points_is_said_and_the_rest_is_there(part: HandmadePart) -> None:
    part.add_block("loss", [(9, 9.0, 0.125)], first=100)

    reader = reader_of(part)
    tail = reader.tail("loss")
    part.add_block("loss", [(10, 10.0, 0.0625)], first=101)
    reader.refresh()

    assert tail.points.values.tolist() == [0.5, 0.25, 0.125]
    assert reader.tail("loss", tail.cursor).points.values.tolist() == [0.0625]
    assert "missing" in reader.status().note


@pytest.mark.parametrize(
    ("head", "data"),
    [
        (b"no json", b""),
        (b"[" * 100_000, b""),
        (b'{"kind": "surprise"}', b""),
        (b'{"kind": "text", "num_characters": "many"}', b""),
        (b"\xff\xfe", b""),
        (TextHead(num_characters=3), b"of another kind"),
        (tensor_head([2**40, 2**40], "float32"), b"four"),
        (tensor_head([-1, -1], "float32"), b"four"),
        (tensor_head([1] * 1000, "float32"), b"four"),
        (tensor_head([4], "object"), b"four"),
    ],
)
def test_a_record_whose_head_does_not_fit_is_skipped_and_said(
    part: HandmadePart, head: bytes, data: bytes
) -> None:
    number = part.add_record("tensor", "w", head, data)
    good = TensorHead(shape=[], dtype="int32", mean=1, std=0, min=1, max=1, num_zeros=0, num_nan=0, num_inf=0)
    part.add_record("tensor", "w", good, b"\1\0\0\0", step=3)

    reader = reader_of(part)

    assert [entry.step for entry in reader.records("tensor", "w")] == [3]
    if not isinstance(head, TextHead):
        assert reader.record(f"rank-0:{number}") is None
        assert "records" in reader.status().note


@pytest.mark.parametrize(
    ("head", "num_bytes"),
    [
        (HistogramHead(num_bins=3, num=1, min=0, max=1, sum=0, sum_squares=0, num_nan=0, num_inf=0), 56),
        (VideoHead(width=1, height=1, frames_per_second=1, frame_bytes=[5, 6]), 11),
        (PrCurveHead(num_thresholds=2), 96),
        (ConfusionHead(labels=["a", "b"]), 32),
        (PassHead(document="", model_name="", num_ops=2, figures=["mean"]), 16),
        (HparamsHead(hparams={}, metrics={}), 0),
        (embedding_head(2, 3, 2, 1), 27),
    ],
)
def test_a_head_fits_so_many_bytes_and_no_others(head: msgspec.Struct, num_bytes: int) -> None:
    assert head.fits(num_bytes)  # type: ignore[attr-defined]
    for wrong in (num_bytes - 1, num_bytes + 1, num_bytes + 8, -num_bytes - 8):
        assert not head.fits(wrong)  # type: ignore[attr-defined]


def test_numbers_below_zero_do_not_make_a_head_fit() -> None:
    assert not embedding_head(-2, -3, -4, 4).fits(24)
    assert not VideoHead(width=1, height=1, frames_per_second=1, frame_bytes=[-4, 8]).fits(4)


def test_data_that_is_shorter_than_it_says_is_not_given(part: HandmadePart) -> None:
    number = part.add_text("note", "hello")
    part.run("UPDATE data SET bytes = x'00'")

    reader = reader_of(part)

    assert reader.data(f"rank-0:{number}") is None
    assert not reader.records("text", "note")
    assert "long" in reader.status().note


def test_records_are_named_by_part_and_number_and_by_nothing_else(part: HandmadePart) -> None:
    number = part.add_text("note", "hello")
    reader = reader_of(part)

    assert reader.data(f"rank-0:{number}") == b"hello"
    for wrong in (
        "",
        ":",
        f"rank-1:{number}",
        "rank-0:",
        "rank-0:x",
        "rank-0:-1",
        "rank-0:²",
        "rank-0:" + "9" * 40,
    ):
        assert reader.data(wrong) is None
        assert reader.record(wrong) is None


def test_a_document_that_would_grow_without_end_is_refused(part: HandmadePart) -> None:
    bomb = zlib.compress(bytes(50_000_000))
    part.run("INSERT INTO documents VALUES ('bomb', 10, ?)", bomb)
    part.run("INSERT INTO documents VALUES ('huge', 100000000000000, ?)", bomb)
    part.run("INSERT INTO documents VALUES ('none', 10, ?)", b"not packed")
    part.run("INSERT INTO documents VALUES ('good', 2, ?)", zlib.compress(b"{}"))
    reader = reader_of(part)

    assert [reader.document(name) for name in ("bomb", "huge", "none", "gone")] == [None] * 4
    assert reader.document("good") == b"{}"


@pytest.mark.parametrize("table", ["meta", "sessions", "names", "points", "records", "data", "documents"])
def test_a_view_in_the_place_of_a_table_is_not_asked(part: HandmadePart, table: str) -> None:
    part.run(f"DROP TABLE {table}")
    endless = "WITH RECURSIVE up(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM up) SELECT x AS id FROM up"
    part.run(f"CREATE VIEW {table} AS {endless}")

    reader = reader_of(part)

    assert not reader.series()
    assert reader.status().num_points == 0


def test_tables_with_other_columns_are_said(part: HandmadePart) -> None:
    part.run("DROP TABLE points")
    part.run("CREATE TABLE points (id INTEGER PRIMARY KEY, name)")

    reader = reader_of(part)

    assert not reader.series()
    assert "no such column" in reader.status().note


def test_odd_names_and_kinds_do_no_harm(part: HandmadePart) -> None:
    part.run("INSERT INTO names (kind, name) VALUES ('scalar', CAST(x'ff00fe' AS TEXT))")
    part.run("INSERT INTO names (kind, name) VALUES ('scalar', x'ff')")
    part.run("INSERT INTO names (kind, name) VALUES ('hologram', 'new')")
    part.add_block("<script>\0\n\u202e", GOOD)

    reader = reader_of(part)

    assert [key.name for key in reader.series()] == ["loss", "<script>\0\n\u202e"]
    assert "kind" in reader.status().note


def test_tags_and_totals_that_are_none_are_none(part: HandmadePart) -> None:
    part.run("INSERT INTO meta VALUES ('tags', ?)", "[" * 100_000)
    part.run("INSERT INTO meta VALUES ('total_steps', 'many')")
    part.run("INSERT INTO sessions (started, host, pid) VALUES ('yesterday', 'here', 'me')")
    part.run("INSERT INTO sessions (started, ended, host, pid) VALUES (9e999, 1e300, 'here', 1)")
    part.run("UPDATE meta SET value = ? WHERE key = 'comment'", "long " * 1_000_000)

    status = reader_of(part).status()

    assert status.tags == ()
    assert status.total_steps is None
    assert status.started == 1000.0
    assert len(status.comment) == 10_000


# --- damage ------------------------------------------------------------------------------------


def large_part(folder: Path) -> Path:
    part = HandmadePart(folder, journal="delete")
    part.run("BEGIN")
    for name in range(20):
        for first in range(0, 4000, 1000):
            part.add_block(f"s{name}", [(step, float(step), step / 4) for step in range(first, first + 1000)])
    part.run("COMMIT")
    for step in range(50):
        part.add_text("note", f"{step} " * 2000, step)
    part.finish()
    return part.path


def test_what_is_not_in_a_damaged_page_is_read(tmp_path: Path) -> None:
    path = large_part(tmp_path)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 8192 * 8192
    content[middle : middle + 3 * 8192] = b"\xa5" * 3 * 8192
    path.write_bytes(content)

    reader = RunReader(tmp_path)
    for _ in range(2):  # what cannot be read is found out by reading it
        found = {key.name: reader.points(key.name) for key in reader.series() if key.kind == "scalar"}
        reader.refresh()

    whole = [name for name, points in found.items() if len(points.steps) == 4000]
    assert len(found) == 20
    assert 15 <= len(whole) < 20
    for name, points in found.items():
        assert (points.values == points.steps / 4).all()
        assert len(points.steps) == reader.series()[SeriesKey("scalar", name)].count
    assert reader.status().note


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["bytes", "page", "cut"]))
def test_whatever_is_damaged_nothing_is_raised_and_what_is_read_is_bounded(seed: int, damage: str) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rank-0.sqlite")
        content = bytearray(_LARGE)
        if damage == "cut":
            del content[chance.randrange(len(content)) :]
        elif damage == "page":
            source, target = (chance.randrange(len(content) // 8192) * 8192 for _ in range(2))
            content[target : target + 8192] = content[source : source + 8192]
        else:
            for _ in range(chance.randrange(1, 200)):
                content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content)

        reader = RunReader(folder)
        num_points = sum(
            len(reader.points(key.name).steps) for key in reader.series() if key.kind == "scalar"
        )
        records = [entry for key in reader.series() for entry in reader.records(key.kind, key.name)]
        for entry in records:
            data = reader.data(f"{entry.part}:{entry.id}")
            assert data is None or len(data) == entry.num_bytes
        reader.status()

        assert 24 * num_points <= 2 * len(content)


with tempfile.TemporaryDirectory() as _folder:
    _LARGE = large_part(Path(_folder)).read_bytes()


def test_a_tree_that_leads_round_in_circles_comes_to_an_end(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path, journal="delete")
    part.run("BEGIN")
    for step in range(2000):
        part.run(
            "INSERT INTO records (name, step, time, head, num_bytes) VALUES (1, ?, 0, zeroblob(100), 0)", step
        )
    part.run("COMMIT")
    root = part.connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records'").fetchone()[0]
    part.finish()
    content = bytearray(part.path.read_bytes())
    page = memoryview(content)[(root - 1) * 8192 : root * 8192]
    assert page[0] == 5, "the root is an inner page"
    num_cells = int.from_bytes(page[3:5], "big")
    for cell in range(num_cells):  # every child is the root again
        at = int.from_bytes(page[12 + 2 * cell : 14 + 2 * cell], "big")
        page[at : at + 4] = root.to_bytes(4, "big")
    page[8:12] = root.to_bytes(4, "big")
    page.release()
    part.path.write_bytes(content)

    reader = RunReader(tmp_path)

    assert reader.status().note
    with contextlib.closing(sqlite3.connect(part.path)) as connection, pytest.raises(sqlite3.DatabaseError):
        connection.execute("SELECT count(step) FROM records").fetchall()


def test_records_are_read_where_only_their_index_is_damaged(part: HandmadePart) -> None:
    for step in range(300):
        part.add_text("note", "x", step)
        part.add_text("other", "y", step)
    found = part.connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records_by_name'")
    (root,) = found.fetchone()
    part.finish()
    content = bytearray(part.path.read_bytes())
    content[(root - 1) * 8192 : root * 8192] = b"\xa5" * 8192
    part.path.write_bytes(content)

    reader = reader_of(part)

    assert [record.step for record in reader.records("text", "note")] == list(range(300))
    assert [record.step for record in reader.records("text", "other")] == list(range(300))


def test_a_damaged_number_of_points_allocates_nothing(part: HandmadePart) -> None:
    part.run("UPDATE points SET count = 100000000000, first = 0")

    reader = reader_of(part)

    assert not reader.series()
    assert isinstance(reader.points("loss").steps, numpy.ndarray)


# --- Pipes and sockets where files are looked for: nobody waits for them, and only our errors c --------


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

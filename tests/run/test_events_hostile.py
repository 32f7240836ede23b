"""Folders of event files that declare far more than they hold: what is made of them stays in proportion."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy
import pytest
from typer.testing import CliRunner

import torcheer as tl
from tests.many import some
from tests.run import handmade_events as made
from tests.run.amplification import can_measure, measured
from tests.run.reading_all import read_all
from torcheer.cli import app
from torcheer.run.read.part_protocol import InterruptedReading, interruptible
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import FREE_WORK, POINTS_COPIED, WORK_PER_BYTE, FrameFile
from torcheer.run.tensorboard.events_part import EventsPart, _Column

SCALAR = made.event(made.scalar("loss", 0.5))
MOST_BYTES = 48 << 20  # for files of a few bytes


def peak_bytes(folder: Path) -> int:
    """What the process took at most while all of it was read, above what it had."""
    if not can_measure():
        return 0
    with measured(folder) as taken, tl.open_run(folder) as run:
        read_all(run)
    return taken.memory_bytes


def note_of(folder: Path) -> str:
    return tl.open_run(folder).status().note


# --- one value that declares too much ----------------------------------------------------------------

NOT_PAID = "1 values are left out: they declare far more than their bytes can hold"
NO_EVENT = "1 events could not be read"


def _layout(num_groups: int) -> bytes:
    return made.strings("custom_scalars__config__", "custom_scalars", [b"\x12\x00" * num_groups])


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (made.hparams([("a", made.nested_lists(40, pb.text_field(3, '"')))]), NOT_PAID),
        (made.hparams([("a", made.nested_lists(20_000, pb.text_field(3, '"')))]), NOT_PAID),
        (made.tensor("t", 18, [1 << 28]), NOT_PAID),  # complex numbers
        (made.tensor("t", 18, [0, 1 << 60, 1 << 60]), NOT_PAID),
        (made.tensor("t", 1, [1] * 50_000, bytes(4)), NOT_PAID),
        (made.tensor("t", 9, [1 << 18], more=b"\x50\x01" * (1 << 18)), NOT_PAID),  # numbers one by one
        (_layout(100_000), NOT_PAID),
        (made.hparams([(f"{at:x}", b"") for at in range(120_000)]), NOT_PAID),
        (made.strings("p", "images", [b"1", b"1", *[b"ab"] * 100_000]), NOT_PAID),
        (made.image("p", b"\xff" * 9 + b"\x7f"), NO_EVENT),  # 2^70 wide
        (made.image("p", b"\xff" * 9 + b"\x01"), NO_EVENT),  # wide by less than nothing
    ],
    ids=[
        "lists in lists",
        "lists in lists without end",
        "2^28 complex numbers",
        "nothing, times too much",
        "50,000 dimensions",
        "numbers one by one",
        "a layout of 100,000 groups",
        "120,000 hyperparameters",
        "100,000 pictures",
        "a picture 2^70 wide",
        "a picture of negative width",
    ],
)
def test_a_value_that_declares_too_much_is_left_out_and_counted(
    tmp_path: Path, value: bytes, note: str
) -> None:
    path = made.write_events(tmp_path, made.event(value), SCALAR)
    assert peak_bytes(tmp_path) < MOST_BYTES + 8 * path.stat().st_size
    assert note in note_of(tmp_path)
    assert tl.open_run(tmp_path).scalars("loss").values.tolist() == [0.5]


def test_the_list_of_runs_shows_a_folder_with_lists_in_lists(tmp_path: Path) -> None:
    value = made.hparams([("a", made.nested_lists(20_000, b""))])
    made.write_events(tmp_path / "deep", made.event(value), SCALAR)
    result = CliRunner().invoke(app, ["runs", "list", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert NOT_PAID in result.output


def test_a_list_in_a_list_is_read_as_one(tmp_path: Path) -> None:
    number = pb.double_field(2, 1.5)
    inner = pb.bytes_field(6, pb.bytes_field(1, number) + pb.bytes_field(1, pb.text_field(3, 'a "b"')))
    value = made.hparams([("list", pb.bytes_field(6, pb.bytes_field(1, inner) + pb.bytes_field(1, number)))])
    made.write_events(tmp_path, made.event(value))
    assert tl.open_run(tmp_path).hparams() == {"list": '[[1.5, "a \\"b\\""], 1.5]'}


def test_names_beyond_all_proportion_are_left_out_and_counted(tmp_path: Path) -> None:
    values = [made.scalar(f"{at:x}", 1.0) for at in range(20_000)]
    events = [made.event(*values[start : start + 1000]) for start in range(0, 20_000, 1000)]
    path = made.write_events(tmp_path, *events, SCALAR)
    assert path.stat().st_size < 1 << 20
    assert peak_bytes(tmp_path) < 64 << 20
    status = tl.open_run(tmp_path).status()
    assert 10_000 < status.num_series < 20_000
    assert f"{20_001 - status.num_series:,} values are left out" in status.note


def test_what_takes_all_it_can_get_leaves_enough_for_others(tmp_path: Path) -> None:
    greedy = made.event(made.strings("p", "images", [b"1", b"1", *[b"ab"] * 20_000]))
    made.write_events(tmp_path, *[greedy] * 6, SCALAR, made.event(made.tensor("t", 1, [1], bytes(4))))
    run = tl.open_run(tmp_path)
    assert run.scalars("loss").values.tolist() == [0.5]
    assert run.tensors("t")[0].array.tolist() == [0.0]
    assert "6 values are left out" in run.status().note


def test_a_tensor_that_leaves_out_what_is_alike_is_filled_within_reason(tmp_path: Path) -> None:
    made.write_events(tmp_path, made.event(made.tensor("t", 1, [100, 100], numpy.float32(7).tobytes())))
    (record,) = tl.open_run(tmp_path).tensors("t")
    assert record.array.shape == (100, 100)
    assert (record.array == 7).all()
    assert (record.head.mean, record.head.std) == (7.0, 0.0)


def test_small_tensors_have_the_figures_that_large_ones_have(tmp_path: Path) -> None:
    generator = numpy.random.default_rng(0)
    for dtype, number in (("float32", 1), ("float64", 2), ("int64", 9), ("uint8", 4), ("bool", 10)):
        values = (generator.normal(size=40) * 10).astype(dtype)
        if dtype == "float64":
            values[:3] = numpy.nan, numpy.inf, 0
        folder = tmp_path / dtype
        small = made.tensor("small", number, [40], values.tobytes())
        large = made.tensor("large", number, [80], numpy.tile(values, 2).tobytes())
        made.write_events(folder, made.event(small, large))
        run = tl.open_run(folder)
        few, many = run.tensors("small")[0].head, run.tensors("large")[0].head
        assert (few.min, few.max) == (many.min, many.max)
        assert few.mean == pytest.approx(many.mean)
        finite = values[numpy.isfinite(values)].astype(float)
        assert few.std == pytest.approx(finite.std(ddof=1))
        assert (2 * few.num_zeros, 2 * few.num_nan, 2 * few.num_inf) == (
            many.num_zeros,
            many.num_nan,
            many.num_inf,
        )


def test_pictures_of_one_value_are_each_read_from_their_own_place(tmp_path: Path) -> None:
    pictures = [bytes([at]) * (at + 1) for at in range(50)]
    value = made.strings("p", "images", [b"3", b"2", *pictures])
    made.write_events(tmp_path, SCALAR, made.event(made.scalar("loss", 1.0), value, step=2))
    run = tl.open_run(tmp_path)
    names = ["p", *(f"p/{at}" for at in range(1, 50))]
    assert [run.images(name)[0].raw for name in names] == pictures
    assert (run.images("p")[0].width, run.images("p/1")[0].height) == (3, 2)


# --- files -------------------------------------------------------------------------------------------


def test_sessions_that_begin_anew_thousands_of_times_are_dealt_with_at_once(tmp_path: Path) -> None:
    records = []
    for step in range(4000):
        records += [made.event(made.scalar(f"n{step % 200}", 1.0), step=step), made.restart(step + 1)]
    made.write_events(tmp_path, *records, made.event(made.scalar("n0", 7.0), step=5), made.restart(400))
    part = EventsPart(tmp_path)
    part.refresh()
    assert part.points("n0").steps.tolist() == [0, 200, 5]
    assert part.points("n1").steps.tolist() == [1, 201]


def test_a_session_of_very_many_series_that_begins_anew_takes_all_of_them_back(tmp_path: Path) -> None:
    names = [f"layer{number}/norm" + "x" * 60 for number in range(18_000)]
    sessions = [made.event(made.scalar(name, float(step)), step=step) for step in range(2) for name in names]
    again = made.event(made.scalar(names[0], 7.0), made.scalar(names[-1], 7.0), step=1)
    made.write_events(tmp_path, *sessions, made.restart(1), again)
    part = EventsPart(tmp_path)
    part.refresh()
    assert not part.status().note
    assert part.points(names[0]).values.tolist() == part.points(names[-1]).values.tolist() == [0.0, 7.0]
    assert part.points(names[500]).steps.tolist() == [0]


def test_the_work_of_beginning_anew_is_in_proportion_to_the_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps that do not rise: each time all points that stay are copied."""
    points = [made.event(made.scalar("loss", 1.0), step=step) for step in range(30_000, 0, -1)]
    back = [made.event(made.scalar("loss", 1.0), step=50_000), made.restart(40_000)]
    path = made.write_events(tmp_path, *points, *back * 6_000)
    num_copied = 0
    real = _Column.take_back

    def counted(column: _Column, from_step: int) -> None:
        nonlocal num_copied
        num_copied += len(column.steps)
        real(column, from_step)

    monkeypatch.setattr(_Column, "take_back", counted)
    part = EventsPart(tmp_path)
    part.refresh()
    assert num_copied <= POINTS_COPIED * (FREE_WORK + WORK_PER_BYTE * path.stat().st_size)
    assert "values are left out" in part.status().note
    assert part.points("loss").steps.tolist()[:30_000] == list(range(30_000, 0, -1))


def test_what_is_taken_back_is_what_was_logged_before_and_not_after(tmp_path: Path) -> None:
    def of(number: float, step: int) -> bytes:
        text = made.strings("note", "text", [str(number).encode()])
        return made.event(made.scalar("loss", number), text, step=step)

    records = [of(0, 0), of(1, 10), made.restart(5), of(2, 6), of(3, 9), made.restart(8), of(4, 8), of(5, 20)]
    path = made.write_events(tmp_path, *records)
    part = EventsPart(tmp_path)
    first = part.refresh()
    assert part.points("loss").values.tolist() == [0, 2, 4, 5]
    texts = [part.data(entry.id) for entry in part.records("text", "note")]
    assert texts == [b"0", b"2", b"4", b"5"]
    with open(path, "ab") as file:
        file.write(made.restart(7) + of(6, 7))
    assert part.refresh() != first
    assert part.points("loss").values.tolist() == [0, 2, 6]
    again = part.refresh()
    with open(path, "ab") as file:
        file.write(made.restart(1000))
    assert part.refresh() == again  # nothing was taken back


def test_a_sparse_file_that_declares_a_petabyte_is_not_read(tmp_path: Path) -> None:
    path = made.write_events(tmp_path, SCALAR, made.record_head(1 << 50))
    os.truncate(path, 8 << 30)
    assert peak_bytes(tmp_path) < MOST_BYTES
    assert "where a record of 1,125,899,906,842,624 bytes begins" in note_of(tmp_path)


def test_a_record_over_a_hole_is_not_read(tmp_path: Path) -> None:
    path = made.write_events(tmp_path, SCALAR, made.record_head(1 << 29))
    os.truncate(path, 8 << 30)
    assert peak_bytes(tmp_path) < MOST_BYTES
    assert "a hole is there" in note_of(tmp_path)


def test_a_record_that_is_not_whole_yet_is_waited_for_without_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made.event(made.strings("note", "text", [b"x" * 1000]), step=3)
    path = made.write_events(tmp_path, SCALAR, whole[:500])
    part = EventsPart(tmp_path)
    part.refresh()
    opened: list[Path] = []
    real = FrameFile._read

    def watched(self: FrameFile, *given: object) -> object:
        opened.append(self.path)
        return real(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(FrameFile, "_read", watched)
    for _ in range(5):
        part.refresh()
    assert not opened
    path.write_bytes(SCALAR + whole)
    part.refresh()
    assert opened == [path]
    assert part.records("text", "note")[0].num_bytes == 1000


def test_a_time_that_is_none_does_not_get_out(tmp_path: Path) -> None:
    for number, moment in enumerate((float("nan"), float("inf"), 1e300, -1e300)):
        made.write_events(tmp_path / str(number), made.event(made.scalar("loss", 1.0), time=moment), SCALAR)
    for folder in tmp_path.iterdir():
        status = tl.open_run(folder).status()
        assert status.started == 1000.0
        assert tl.open_run(folder).scalars("loss").times.tolist() == [0.0, 1000.0]
    assert CliRunner().invoke(app, ["runs", "list", str(tmp_path)]).exit_code == 0


# --- embeddings --------------------------------------------------------------------------------------

CONFIG = "projector_config.pbtxt"


def _unclosed(count: int) -> str:
    return "embeddings {" + ' a: "' + '\\"' * count


@pytest.mark.parametrize(
    "text",
    some(
        [
            pytest.param("embeddings { " + "a" * 900_000 + " }", id="a word"),
            pytest.param(_unclosed(400_000), id="quotes"),
            pytest.param("embeddings { " + 'tensor_name "' * 40_000, id="quotes and words"),
            pytest.param("embeddings " + "{" * 900_000, id="braces"),
            pytest.param("embeddings { " + 'x: "y" ' * 140_000 + "}", id="pairs"),
            pytest.param(
                "embeddings { single_image_dim: " + "9" * 900_000 + ' tensor_path: "t.tsv" }', id="digits"
            ),
            pytest.param(
                'embeddings { tensor_path: "a\0b" } embeddings { tensor_path: "' + "c" * 9000 + '" }',
                id="no names",
            ),
        ],
        one_in=3,
    ),
)
def test_a_configuration_of_a_megabyte_is_gone_through_once(tmp_path: Path, text: str) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\t2\n")
    (tmp_path / CONFIG).write_text(text)
    began = time.process_time()
    assert peak_bytes(tmp_path) < MOST_BYTES
    # Not a measure of speed: what is quadratic would take hours.
    assert time.process_time() - began < 60
    assert tl.open_run(tmp_path).scalars("loss").values.tolist() == [0.5]


def test_tables_of_labels_with_more_cells_than_bytes_are_left_out_and_said(tmp_path: Path) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\n" * 50_000)
    (tmp_path / "m.tsv").write_text("a\t" * 9_000 + "\n" * 50_000)
    paths = 'tensor_path: "t.tsv" metadata_path: "m.tsv"'
    (tmp_path / CONFIG).write_text(f'embeddings {{ tensor_name: "wide" {paths} }}')
    assert peak_bytes(tmp_path) < MOST_BYTES
    assert "the embedding 'wide' could not be read" in note_of(tmp_path)


def test_a_table_named_ten_thousand_times_is_not_read_as_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\t2\n" * 100_000)
    (tmp_path / CONFIG).write_text('embeddings { tensor_name: "x" tensor_path: "t.tsv" }\n' * 10_000)
    calls: list[int] = []
    real = numpy.loadtxt
    monkeypatch.setattr(numpy, "loadtxt", lambda *a, **b: calls.append(1) or real(*a, **b))
    run = tl.open_run(tmp_path)
    assert len(calls) < 50
    assert "could not be read" in run.status().note
    assert run.embeddings("x")[0].matrix.shape == (100_000, 2)


def test_files_with_holes_are_no_tables(tmp_path: Path) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\t2\n")
    for name in ("sprite.png", "big.tsv"):
        (tmp_path / name).write_bytes(b"")
        os.truncate(tmp_path / name, 200 << 20)
    (tmp_path / CONFIG).write_text(
        'embeddings { tensor_name: "a" tensor_path: "t.tsv" sprite { image_path: "sprite.png" } }\n'
        'embeddings { tensor_name: "b" tensor_path: "big.tsv" }\n'
    )
    assert peak_bytes(tmp_path) < MOST_BYTES
    assert "could not be read" in note_of(tmp_path)


def test_a_configuration_with_comments_and_other_quotes_is_understood(tmp_path: Path) -> None:
    made.write_events(tmp_path, SCALAR)
    (tmp_path / "t.tsv").write_text("1\t2\n3\t4\n\n")
    (tmp_path / "m.tsv").write_text("x\nünï\n")
    (tmp_path / CONFIG).write_text(
        '# tensor_path: not this one\nmodel_checkpoint_path: "other"\n'
        'embeddings: < tensor_name: "a \\"b\\":00007" tensor_path: "t.tsv" metadata_path: "m.tsv" >\n'
    )
    (record,) = tl.open_run(tmp_path).embeddings('a "b"')
    assert record.step == 7
    assert record.matrix.tolist() == [[1, 2], [3, 4]]
    assert record.labels == {"label": ["x", "ünï"]}


# --- giving up ---------------------------------------------------------------------------------------


def test_reading_stops_when_it_should_and_goes_on_from_there(tmp_path: Path) -> None:
    records = [made.event(made.scalar("loss", float(step)), step=step) for step in range(5000)]
    made.write_events(tmp_path, *records)
    part = EventsPart(tmp_path)
    num_stops, reached = 0, [0]
    while True:
        try:
            with interruptible(seconds=0):
                part.refresh()
        except InterruptedReading as stop:
            num_stops += stop.can_go_on
            reached.append(len(part.points("loss").steps))
        else:
            break
        assert num_stops < 100
    assert num_stops > 5
    assert reached == sorted(set(reached))  # further each time
    assert part.points("loss").values.tolist() == [float(step) for step in range(5000)]


@pytest.mark.parametrize("make", ["events", "table"])
def test_reading_is_given_up_when_nobody_waits_any_more(tmp_path: Path, make: str) -> None:
    made.write_events(tmp_path, *([SCALAR] * 2000))
    if make == "table":
        (tmp_path / "t.tsv").write_text("1\t2\n" * 10_000)
        (tmp_path / CONFIG).write_text('embeddings { tensor_name: "x" tensor_path: "t.tsv" }\n')
    num_of_events = 2000 // 256 + 1
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > (0 if make == "events" else num_of_events)

    with pytest.raises(InterruptedReading), interruptible(is_cancelled=is_cancelled):
        EventsPart(tmp_path).refresh()

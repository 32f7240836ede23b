"""What was watched, read while it is written and after: rows, figures over steps, ranks and children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from tests.run.raw_tables import RawPart, quick_folder
from tests.run.watching import COLUMNS, figure, log_plan, log_table, rows_of, table_at
from torcheer.errors import InputError
from torcheer.run import statistics
from torcheer.run.read import watched
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.saved_run import SavedRun, open_run
from torcheer.run.run import Run


@contextmanager
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_MOST_BLOCK_BYTES", 2_000)
        yield


def check_tables(run: SavedRun | Run, steps: list[int], names: tuple[str, ...] = ("a", "b")) -> None:
    """Whether every figure of every row is what it was."""
    watched = run.watched
    at = numpy.array(steps, numpy.int64)
    assert watched.names == [f"{name}.weight" for name in names]
    for column, title in enumerate(COLUMNS):
        table = watched.table(title)
        assert table.steps.tolist() == steps
        for row in range(len(names)):
            assert numpy.array_equal(table.values[row], figure(column, row, at))
            of_row = watched[f"{names[row]}.weight"][title]
            assert of_row.steps.tolist() == steps
            assert numpy.array_equal(of_row.values, figure(column, row, at))


def test_what_was_watched_comes_back_from_a_run_that_is_written_and_from_one_that_is_not(
    tmp_path: Path,
) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        for start in range(0, 100, 10):
            log_table(run, table_at(range(start, start + 10)))
        check_tables(run, list(range(100)))

    with open_run(tmp_path) as saved:
        check_tables(saved, list(range(100)))
        watched = saved.watched
        assert watched.rows == tuple(rows_of("ab"))
        assert (watched.layers, watched.columns, watched.every) == (["a", "b"], COLUMNS, "20/s")
        assert (watched.ranks, len(watched), "a.weight" in watched) == ([0], 2, True)
        assert repr(watched) == "<Watched: 2 rows of 2 layers, 3 figures, 100 steps, 20/s>"
        series = watched["a.weight"]
        assert numpy.array_equal(series.norm.values, series["norm"].values)
        assert series.norm.times.tolist() == pytest.approx([1000 + step / 20 for step in range(100)])
        assert "norm" in dir(series)
        assert numpy.asarray(series.norm).shape == (100,)
        status = saved.status()
        assert (status.last_step, status.num_dropped, status.num_thinned, status.note) == (99, 0, 0, "")


def test_data_frames_have_a_row_for_each_step(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(5)))
        of_row, of_column = run.watched["b.weight"].to_pandas(), run.watched.to_pandas("std")

    assert list(of_row.columns) == ["time", *COLUMNS, "estimates", "num_values"]
    assert list(of_row["estimates"]) == [""] * 5  # a tensor of six elements
    assert of_row["norm"].loc[3] == figure(2, 1, numpy.array([3]))[0]
    assert list(of_column.columns) == ["a.weight", "b.weight"]
    assert of_column["a.weight"].loc[4] == figure(1, 0, numpy.array([4]))[0]


def test_a_run_that_nobody_watched_says_so(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(0, loss=1.0)
        watched = run.watched

    assert not watched
    assert (watched.ranks, watched.rows, len(watched.steps)) == ([], (), 0)
    assert repr(watched) == "<Watched: nothing was watched>"
    assert (run.alarms, run.gaps) == ([], [])


def test_names_that_are_not_there_are_answered_with_those_that_are(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at([0]))
        watched = run.watched
        with pytest.raises(InputError, match=r"did you mean 'a\.weight'"):
            watched["a.wieght"]
        with pytest.raises(InputError, match="did you mean 'norm'"):
            watched.table("norms")
        with pytest.raises(AttributeError, match="no figure 'entropy'"):
            _ = watched["a.weight"].entropy
        with pytest.raises(InputError, match="rank 3 of this run was not watched"):
            watched.of_rank(3)
        with pytest.raises(InputError, match=r"run\.watched"):
            run.follow("statistics")


def test_ranks_stay_apart_and_children_of_one_rank_are_put_together(tmp_path: Path) -> None:
    runs = [Run(tmp_path, rank=rank) for rank in (0, 0, 1)]
    names = (("a", "b"), ("c", "d"), ("a", "b", "c"))
    for number, run in enumerate(runs):
        log_plan(run, names[number], digest=f"plan {number}")
        # The second child of rank 0 missed some steps, and saw others that the first one missed.
        steps = [range(10), range(5, 12), range(100)][number]
        log_table(run, table_at(steps, digest=f"plan {number}", num_rows=len(names[number])))
    for run in runs:
        run.close()

    with open_run(tmp_path) as saved:
        watched = saved.watched
        table = watched.table("mean")
        assert watched.ranks == [0, 1]
        assert table.names == ["a.weight", "b.weight", "c.weight", "d.weight"]
        assert table.steps.tolist() == list(range(12))
        assert numpy.isnan(table.values[:2, 10:]).all()
        assert numpy.isnan(table.values[2:, :5]).all()
        assert numpy.array_equal(table.values[1, :10], figure(0, 1, numpy.arange(10)))
        assert numpy.array_equal(table.values[3, 5:], figure(0, 1, numpy.arange(5, 12)))
        # A row has the steps at which it was seen.
        assert watched["d.weight"].steps.tolist() == list(range(5, 12))
        assert len(watched.of_rank(1).table("mean").steps) == 100
        assert "rank 0 of 0, 1" in repr(watched)


def test_a_new_plan_adds_rows_and_a_resumed_training_has_the_last_word(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run, ("a", "b"), digest="first")
        log_table(run, table_at(range(20), digest="first"))
    with Run(tmp_path) as run:
        # It went back to step 10: what was seen then is seen again, with one more row.
        log_plan(run, ("b", "c"), digest="second", step=10)
        log_table(run, table_at(range(10, 30), digest="second", start=5000.0))

        table = run.watched.table("mean")
        steps = numpy.arange(30)
        # In the order of the last plan, and then what only the first one has.
        assert table.names == ["b.weight", "c.weight", "a.weight"]
        assert table.steps.tolist() == steps.tolist()
        assert numpy.array_equal(table.values[2, :20], figure(0, 0, steps[:20]))
        assert numpy.isnan(table.values[2, 20:]).all()
        assert numpy.array_equal(table.values[0, :10], figure(0, 1, steps[:10]))
        assert numpy.array_equal(table.values[0, 10:], figure(0, 0, steps[10:]))
        assert table.times[15] == 5000 + 15 / 20


def test_a_plan_that_is_said_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        unknown = [msgspec.structs.replace(row, shape=None) for row in rows_of("ab")]
        run.log_watch(0, unknown, COLUMNS, digest="plan", every="20/s")
        log_table(run, table_at([0]))
        assert run.watched.names == ["a.weight", "b.weight"]
        run.log_watch(5, rows_of("ab"), COLUMNS, digest="plan", every="every 5th step")

        assert [row.shape for row in run.watched.rows] == [[2, 3], [2, 3]]
        assert run.watched.every == "every 5th step"
    assert [step for step, _ in RawPart(tmp_path).records("watch", "watch")] == [5]


def test_what_is_taken_back_is_not_watched(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(20)))
        log_plan(run, ("c", "d"), digest="later", step=15)
        log_table(run, table_at(range(20, 25), digest="later"))
        run.log_alarm(3, "nan")
        run.log_alarm(18, "nan")
    with SavedRun(tmp_path) as saved:
        assert len(saved.watched.steps) == 25
        with Run(tmp_path, purge_step=12) as run:
            run.log(12, loss=1.0)

            check_tables(saved, list(range(12)))
            assert [alarm.step for alarm in saved.alarms] == [3]


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=25), st.booleans())
def test_who_follows_sees_what_a_new_reader_sees(lengths: list[int], is_thinned: bool) -> None:
    of_step = len(table_at([0]).data())
    max_bytes = 4 * 40 * of_step if is_thinned else 1 << 30
    with (
        quick_folder() as folder,
        pytest.MonkeyPatch.context() as patch,
        Run(folder, max_bytes=max_bytes) as run,
    ):
        patch.setattr(statistics, "_MOST_BLOCK_BYTES", 2_000)
        log_plan(run)
        run.flush()
        follower, at, before = RunReader(folder), 0, None
        for length in lengths:
            log_table(run, table_at(range(at, at + length)))
            at += length
            assert run.flush()
            follower.refresh()
            fresh = RunReader(folder)
            for column in COLUMNS:
                seen, whole = follower.watched.table(0, column), fresh.watched.table(0, column)
                assert numpy.array_equal(seen.steps, whole.steps)
                assert numpy.array_equal(seen.values, whole.values)
            assert (seen.steps[0], seen.steps[-1]) == (0, at - 1)
            version = follower.watched.version(0)
            assert version != before
            before = version
            follower.refresh()
            assert follower.watched.version(0) == version


def test_merging_does_not_look_like_news(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        for step in range(7):
            log_table(run, table_at([step]))
            run.flush()
        reader = RunReader(tmp_path)
        ids = [block.id for block in reader.parts()["rank-0"].statistics()]  # type: ignore[attr-defined]
        stale = RunReader(tmp_path)
        log_table(run, table_at([7]))  # the eighth: all become one
        run.flush()

        # A reader that has not looked since knows only blocks that are gone: it finds what is there now.
        assert stale.watched.table(0, "mean").steps.tolist()[:7] == list(range(7))
        reader.refresh()
        blocks = reader.parts()["rank-0"].statistics()  # type: ignore[attr-defined]
        assert not {block.id for block in blocks} & set(ids)
        assert reader.watched.table(0, "mean").steps.tolist() == list(range(8))


def test_a_column_is_read_without_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(50)))
    reader = RunReader(tmp_path)
    monkeypatch.setattr("torcheer.run.read.sqlite_part.SqlitePart.data", _not_whole)

    assert len(reader.watched.table(0, "std").steps) == 50
    assert reader.watched.row(0, "nobody") is None
    assert reader.watched.table(0, "entropy").values.shape == (2, 0)
    assert reader.watched.table(7, "mean").values.shape == (0, 0)


def _not_whole(part: object, record: int) -> bytes:
    # What is watched is read in whole; a block of statistics never is.
    row = RawPart(Path(part._file.path.parent)).ask(  # type: ignore[attr-defined]
        "SELECT d.bytes, r.head FROM data d JOIN records r ON r.id = d.record WHERE record = ?", record
    )
    assert b'"watch"' in row[0][1]
    data: bytes = row[0][0]
    return data


def test_a_table_that_would_be_too_large_has_fewer_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "MOST_CELLS", 20)
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(100)))
        table = run.watched.table("mean")

    assert table.values.shape == (2, 10)
    assert (table.steps[0], table.steps[-1]) == (0, 99)
    assert numpy.array_equal(table.values[1], figure(0, 1, table.steps))


def test_arrays_that_are_shared_cannot_be_changed(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(10)))
        table = run.watched.table("mean")
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 1.0


def test_statistics_have_a_budget_of_their_own_and_count_what_goes(tmp_path: Path) -> None:
    of_step = len(table_at([0]).data())
    with Run(tmp_path, max_bytes=4 * 100 * of_step) as run:
        log_plan(run)
        run.log_tensor(0, "weight", numpy.zeros(10))
        for start in range(0, 1000, 10):
            log_table(run, table_at(range(start, start + 10)))
            if start % 100 == 0:
                assert run.flush()
        kept = run.watched.steps.tolist()
        assert run.flush()

        assert len(kept) <= 100
        assert (kept[0], kept[-1]) == (0, 999)
        assert run.num_thinned == 1000 - len(kept)
        assert run.status().num_thinned == run.num_thinned
        # A follower need not count all records anew because of it.
        assert RawPart(tmp_path).session("num_thinned") == 0
        assert len(run.tensors("weight")) == 1


WRITER = """
import sys
from tests.run.watching import log_plan, log_table, table_at
from torcheer.run.run import Run
run = Run(sys.argv[1])
log_plan(run)
step = 0
while True:
    log_table(run, table_at(range(step, step + 8)))
    step += 8
    if step % 80 == 0:
        assert run.flush()
        print(step, flush=True)
"""


def test_a_writer_that_is_killed_leaves_all_that_it_had_flushed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WRITER)
    environment = os.environ | {"PYTHONPATH": f"src{os.pathsep}."}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        last = 0
        deadline = time.monotonic() + 30
        while last < 400 and time.monotonic() < deadline:
            last = int(process.stdout.readline())
            steps = open_run(tmp_path / "run").watched.steps.tolist()
            assert steps == list(range(len(steps)))
            assert len(steps) >= last
        process.send_signal(signal.SIGKILL)

    saved = open_run(tmp_path / "run")
    num_steps = len(saved.watched.steps)
    assert num_steps >= last >= 400
    check_tables(saved, list(range(num_steps)))
    assert saved.state == "died"
    with Run(tmp_path / "run") as run:
        log_table(run, table_at(range(num_steps, num_steps + 8)))
        check_tables(run, list(range(num_steps + 8)))


def test_tensors_make_room_for_statistics_within_one_budget(tmp_path: Path) -> None:
    budget = 200_000
    with Run(tmp_path, max_bytes=budget) as run:
        log_plan(run)
        for step in range(600):
            run.log_tensor(step, "weight", numpy.full(250, step, numpy.float32))
            log_table(run, table_at(range(10 * step, 10 * step + 10)))
            if step % 20 == 0:
                assert run.flush()
                ((num_bytes,),) = RawPart(tmp_path).ask("SELECT sum(num_bytes) FROM records")
                assert num_bytes <= budget

    part = RawPart(tmp_path)
    sizes = {
        kind: sum(len(data) for _, data in part.records(kind, name))
        for kind, name in (("tensor", "weight"), ("statistics", "watch"), ("watch", "watch"))
    }
    assert sum(sizes.values()) <= budget
    assert 0.1 * budget < sizes["statistics"] <= budget / 4
    assert sizes["tensor"] > 0.5 * budget
    assert part.is_intact()

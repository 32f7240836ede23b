"""What is logged is on disk: every point, every name, in order, whatever the batches were."""

from __future__ import annotations

import decimal
import fractions
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from tests.run.raw_tables import RawPart, parts_in, quick_folder, told
from torcheer.errors import InputError
from torcheer.run.records import Encoded, Observation, TextHead
from torcheer.run.run import Run
from torcheer.run.warnings_once import RunWarning
from torcheer.run.write import point_blocks as points_of_part

STEPS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
NAMES = st.text(st.characters(codec="utf-8"), max_size=20)


@pytest.fixture(autouse=True)
def nothing_is_told_unawares() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunWarning)
        yield


@given(
    st.lists(
        st.one_of(st.tuples(STEPS, st.dictionaries(NAMES, NUMBERS, min_size=1, max_size=4)), st.none()),
        max_size=60,
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_any_points_come_back_bit_by_bit_in_the_order_in_which_they_were_logged(
    calls: list[tuple[int, dict[str, float]] | None],
) -> None:
    expected: dict[str, list[tuple[int, float]]] = {}
    with quick_folder() as folder:
        with Run(folder) as run:
            for call in calls:
                if call is None:
                    assert run.flush()
                    continue
                run.log(*call)
                for name, value in call[1].items():
                    expected.setdefault(name, []).append((call[0], value))
        part = RawPart(Path(folder))
        assert sorted(part.names()) == sorted(expected)
        for name, points in expected.items():
            found = part.points(name)
            assert found.steps.tolist() == [step for step, _ in points]
            assert found.values.tobytes() == numpy.array([value for _, value in points]).tobytes()
            assert numpy.all(numpy.diff(found.times) >= 0)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=80), st.lists(st.integers(0, 79), max_size=3))
@settings(max_examples=examples(30), deadline=None)
def test_blocks_are_merged_and_no_point_is_lost_or_doubled(batches: list[int], reopenings: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch, quick_folder() as folder:
        patch.setattr(points_of_part, "MOST_POINTS", 100)
        patch.setattr(points_of_part, "MERGED_AT", 4)
        run = Run(folder)
        num_points = 0
        for index, size in enumerate(batches):
            for _ in range(size):
                run.log(num_points, x=float(num_points), y=-float(num_points))
                num_points += 1
            run.flush()
            if index in reopenings:
                run.close()
                run = Run(folder)
        run.close()
        part = RawPart(Path(folder))
        for name, sign in (("x", 1), ("y", -1)):
            points = part.points(name)
            assert points.steps.tolist() == list(range(num_points))
            assert (points.values * sign).tolist() == list(range(num_points))
        # Full blocks, and of each of the levels below fewer than make a merge.
        assert part.num_blocks() <= 2 * (num_points / 50 + 4 * 5 * (1 + len(reopenings)))


def test_a_name_logged_in_calls_of_different_kinds_keeps_its_order(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        for step in range(100):
            run.log(step, loss=float(step))
            run.log(
                step, {"loss": step + 0.5, "extra": 1.0} if step % 3 else {"extra": 2.0, "loss": step + 0.5}
            )

    assert RawPart(tmp_path).points("loss").values.tolist() == [i / 2 for i in range(200)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (True, 1.0),
        (2**60 + 1, float(2**60)),
        (numpy.float32(0.1), float(numpy.float32(0.1))),
        (numpy.int8(-3), -3.0),
        (numpy.bool_(True), 1.0),
        (numpy.array(2.5), 2.5),
        (torch.tensor(1.5), 1.5),
        (torch.tensor(1.5, requires_grad=True), 1.5),
        (torch.tensor(0.1, dtype=torch.bfloat16), float(torch.tensor(0.1, dtype=torch.bfloat16))),
        (torch.tensor(7), 7.0),
        (torch.tensor(True), 1.0),
        (decimal.Decimal("0.25"), 0.25),
        (fractions.Fraction(1, 4), 0.25),
        (math.inf, math.inf),
    ],
)
def test_whatever_is_a_number_is_a_point(tmp_path: Path, value: Any, expected: float) -> None:
    with Run(tmp_path) as run:
        run.log(1, x=value, y=2.0)

    assert RawPart(tmp_path).points("x").values.tolist() == [expected]


@pytest.mark.parametrize("step", [3, 3.0, True + 2, numpy.int64(3), numpy.uint8(3), torch.tensor(3)])
def test_whatever_is_a_whole_number_is_a_step(tmp_path: Path, step: Any) -> None:
    with Run(tmp_path) as run:
        run.log(step, x=1.0)

    assert RawPart(tmp_path).points("x").steps.tolist() == [3]


def test_a_number_is_taken_as_it_is_at_the_call(tmp_path: Path) -> None:
    tensor, array, values = torch.tensor(1.0), numpy.array(1.0), {"c": 1.0}
    with Run(tmp_path) as run:
        run.log(0, a=tensor, b=array)
        run.log(0, values)
        tensor += 1
        array += 1
        values["c"] = 2.0
        run.flush()

    part = RawPart(tmp_path)
    assert [part.points(name).values.tolist() for name in "abc"] == [[1.0], [1.0], [1.0]]


class FakeDeviceTensor:
    """Stands for a number on a device; fetching it is a wait."""

    shape = ()
    dtype = torch.float32

    class device:  # noqa: N801
        type = "elsewhere"

    def __init__(self, value: float, fetched_in: list[threading.Thread]) -> None:
        self.value, self.fetched_in = value, fetched_in

    def detach(self) -> FakeDeviceTensor:
        return self

    def clone(self) -> FakeDeviceTensor:
        return FakeDeviceTensor(self.value, self.fetched_in)

    def item(self) -> float:
        self.fetched_in.append(threading.current_thread())
        if self.value < 0:
            raise RuntimeError("the device is lost")
        return self.value


def test_a_number_on_a_device_is_copied_at_once_and_waited_for_by_the_writer(tmp_path: Path) -> None:
    fetched_in: list[threading.Thread] = []
    with Run(tmp_path) as run:
        loss = FakeDeviceTensor(2.5, fetched_in)
        run.log(1, loss=loss, other=1.0)
        loss.value = 99.0
        run.flush()

    assert RawPart(tmp_path).points("loss").values.tolist() == [2.5]
    assert threading.main_thread() not in fetched_in


def log_what_the_device_loses(folder: Path) -> None:
    with Run(folder) as run:
        for value in (1.0, -1.0, 3.0):
            run.log(int(value), loss=FakeDeviceTensor(value, []), other=value)


def test_one_number_that_cannot_be_fetched_costs_only_itself(tmp_path: Path) -> None:
    with pytest.warns(RunWarning, match="the device is lost"):
        log_what_the_device_loses(tmp_path)

    part = RawPart(tmp_path)
    assert part.points("loss").steps.tolist() == [1, 3]
    assert part.points("other").steps.tolist() == [1, -1, 3]
    assert part.session("num_dropped") == 1


def test_names_with_anything_in_them_are_kept(tmp_path: Path) -> None:
    names = ["", "a/b", "nul\0in it", "'; DROP TABLE points; --", "ünï/cödé 🔥", "line\nbreak", "x" * 5000]
    with Run(tmp_path) as run:
        run.log(0, dict.fromkeys(names, 1.0))
        run.log(0, {"half \ud83d": 1.0})

    assert RawPart(tmp_path).names() == [*names, "half \\ud83d"]


def test_text_arrays_and_numbers_in_one_call_each_find_their_place(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(4, {"loss": 1.0}, note="hello", weight=numpy.arange(3, dtype=numpy.int32))

    part = RawPart(tmp_path)
    assert part.points("loss").values.tolist() == [1.0]
    assert part.records("text", "note") == [(4, b"hello")]
    assert part.records("tensor", "weight") == [(4, numpy.arange(3, dtype="<i4").tobytes())]


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    num_threads, num_calls = 8, 3000
    run = Run(tmp_path)

    def work(number: int) -> None:
        for step in range(num_calls):
            run.log(step, {f"own/{number}": float(step), "shared": float(number)})
            if step % 500 == 0:
                run.log_text(step, f"text/{number}", str(step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.close()

    part = RawPart(tmp_path)
    for number in range(num_threads):
        assert part.points(f"own/{number}").steps.tolist() == list(range(num_calls))
        assert len(part.records("text", f"text/{number}")) == num_calls / 500
    assert numpy.bincount(part.points("shared").values.astype(int)).tolist() == [num_calls] * num_threads


def test_a_tight_loop_loses_nothing(tmp_path: Path) -> None:
    num_calls = examples(300_000)
    with Run(tmp_path) as run:
        for step in range(num_calls):
            run.log(step, loss=0.5)

    assert run.num_dropped == 0
    assert numpy.array_equal(RawPart(tmp_path).points("loss").steps, numpy.arange(num_calls))


def test_what_was_flushed_is_there_for_others_at_once(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for step in range(5):
        run.log(step, loss=1.0)
        assert run.flush()
        assert len(RawPart(tmp_path).points("loss").steps) == step + 1
    run.close()


def test_a_description_stays_with_its_series(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run._describe("scalar", "loss", "first")
        run.log(0, loss=1.0)
        run._describe("scalar", "loss", "of all")

    part = RawPart(tmp_path)
    assert part.ask("SELECT name, description FROM names") == [("loss", "of all")]
    assert len(part.points("loss").steps) == 1


def test_comment_tags_and_length_are_kept_and_not_forgotten_when_resumed(tmp_path: Path) -> None:
    Run(tmp_path, comment="a try", tags=["small", "new"], total_steps=100).close()
    Run(tmp_path, total_steps=200).close()

    found = dict(RawPart(tmp_path).ask("SELECT key, value FROM meta"))
    assert found == {
        "format": "1", "generation": "0", "comment": "a try", "tags": '["small", "new"]', "total_steps": "200"
    }  # fmt: skip


def test_resuming_appends_to_the_same_part(tmp_path: Path) -> None:
    for session in range(3):
        with Run(tmp_path) as run:
            for step in range(10):
                run.log(session * 10 + step, loss=1.0)
            run.log_text(session, "note", str(session))

    (part,) = parts_in(tmp_path)
    assert part.points("loss").steps.tolist() == list(range(30))
    assert part.records("text", "note") == [(0, b"0"), (1, b"1"), (2, b"2")]
    assert part.ask("SELECT outcome FROM sessions") == [("finished",)] * 3


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 21))
@settings(max_examples=examples(25), deadline=None)
def test_purging_takes_back_exactly_the_steps_from_there_on(steps: list[int], purge_step: int) -> None:
    with quick_folder() as name:
        folder = Path(name)
        with Run(folder) as run:
            for count, step in enumerate(steps):
                run.log(step, loss=float(count))
                run.log_text(step, "note", str(count))
                if count % 7 == 0:
                    run.flush()
        with Run(folder, purge_step=purge_step) as run:
            run.log(100, loss=-1.0)
        part = RawPart(folder)
        kept = [(step, count) for count, step in enumerate(steps) if step < purge_step]
        points = part.points("loss")
        assert list(zip(points.steps.tolist(), points.values.tolist(), strict=True)) == [*kept, (100, -1.0)]
        assert part.records("text", "note") == [(step, str(count).encode()) for step, count in kept]
        ((generation,),) = part.ask("SELECT value FROM meta WHERE key = 'generation'")
        assert int(generation) == (len(kept) != len(steps))


def test_ids_are_never_used_twice_after_a_purge(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(5, loss=1.0)
        run.log_text(5, "note", "old")
    (before,) = RawPart(tmp_path).ask("SELECT max(p.id), max(r.id) FROM points p, records r")
    with Run(tmp_path, purge_step=0) as run:
        run.log(5, loss=1.0)
        run.log_text(5, "note", "new")
    (after,) = RawPart(tmp_path).ask("SELECT min(p.id), min(r.id) FROM points p, records r")

    assert after[0] > before[0]
    assert after[1] > before[1]


def test_two_runs_of_one_process_on_one_path_have_a_part_each(tmp_path: Path) -> None:
    first, second = Run(tmp_path), Run(tmp_path)
    first.log(0, loss=1.0)
    second.log(0, loss=2.0)
    first.close()
    second.close()

    assert [part.path.stem for part in parts_in(tmp_path)] == ["rank-0", "rank-0.1"]
    assert [part.points("loss").values.tolist() for part in parts_in(tmp_path)] == [[1.0], [2.0]]


def test_the_rank_names_the_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Run(tmp_path, rank=7).close()
    monkeypatch.setenv("RANK", "3")
    Run(tmp_path).close()
    monkeypatch.setenv("RANK", "../../etc")
    Run(tmp_path).close()

    assert [part.path.stem for part in parts_in(tmp_path)] == ["rank-0", "rank-3", "rank-7"]


def test_without_a_path_each_run_has_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [Run() for _ in range(3)]
    for run in runs:
        run.close()

    assert len({run.path for run in runs}) == 3
    assert {run.path.parent for run in runs} == {tmp_path / "runs"}


def test_a_change_of_folder_does_not_move_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Run("here")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run.log(0, loss=1.0)
    run.close()

    assert RawPart(tmp_path / "here").points("loss").values.tolist() == [1.0]


@pytest.mark.parametrize(
    "wrong",
    [{"path": 3}, {"max_bytes": "much"}, {"max_bytes": -1}, {"purge_step": 1.5}, {"rank": -1}, {"tags": 5}],
)
def test_arguments_that_mean_nothing_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Run(**{"path": tmp_path, **wrong})


def test_a_run_that_nobody_holds_any_more_is_finished(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.log(0, loss=1.0)
    thread = run._writer._thread
    assert thread is not None
    del run
    thread.join()

    part = RawPart(tmp_path)
    assert part.points("loss").values.tolist() == [1.0]
    assert part.session("outcome") == "finished"


def test_a_run_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(1, loss=0.5)
        assert run.scalars("loss").values.tolist() == [0.5]
        run.log(2, loss=0.25)
        assert run.scalars("loss").values.tolist() == [0.5, 0.25]
    assert run.names() == ["loss"]


def test_numbers_do_not_wait_for_a_picture_that_takes_long(tmp_path: Path) -> None:
    is_allowed = threading.Event()

    def encode() -> Encoded:
        is_allowed.wait(60)
        return Encoded(TextHead(num_characters=4), b"done")

    run = Run(tmp_path)
    run._put(Observation(kind="text", name="slow", step=0, time=0.0, num_bytes=4, encode=encode))
    run.log(1, loss=0.5)
    part = RawPart(tmp_path)
    with run._queue.news:
        assert run._queue.news.wait_for(lambda: "loss" in part.names(), 60)
    assert part.points("loss").values.tolist() == [0.5]
    assert part.records("text", "slow") == []
    is_allowed.set()
    run.close()

    assert part.records("text", "slow") == [(0, b"done")]


def test_records_stay_in_the_order_in_which_they_were_logged(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        for step in range(2000):
            run.log_text(step, f"note/{step % 3}", str(step))
            if step % 700 == 0:
                assert run.flush()
                assert RawPart(tmp_path).ask("SELECT count(*) FROM records") == [(step + 1,)]

    assert RawPart(tmp_path).ask("SELECT step FROM records ORDER BY id") == [(step,) for step in range(2000)]


# --- However `run.log` is called: what can be understood is kept, and nothing raises ------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.log(3, loss=0.5),
        lambda run: run.log(3, {"loss": 0.5}),
        lambda run: run.log(step=3, loss=0.5),
        lambda run: run.log({"loss": 0.5}, step=3),
        lambda run: run.log(3, values={"loss": 0.5}),
        lambda run: run.log(step=3, values={"loss": 0.5}),
        lambda run: run.log(3, values={"loss": 1.0}, loss=0.5),
        lambda run: run.log(torch.tensor(3), loss=torch.tensor(0.5)),
        lambda run: run.log(step=3.0, loss=numpy.float32(0.5)),
    ],
)
def test_a_step_and_values_are_understood_whichever_way_they_are_given(
    tmp_path: Path, call: Callable[[Run], None]
) -> None:
    with told() as messages, Run(tmp_path) as run:
        call(run)

    part = RawPart(tmp_path)
    assert (part.points("loss").steps.tolist(), part.points("loss").values.tolist()) == ([3], [0.5])
    assert part.names() == ["loss"]
    assert messages == []


def test_behind_a_step_a_value_may_be_called_step_or_values(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(3, step=7.0, values=8.0)
        run.log(4, {"step": 9.0})

    part = RawPart(tmp_path)
    assert part.points("step").values.tolist() == [7.0, 9.0]
    assert part.points("values").values.tolist() == [8.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.log(),
        lambda run: run.log(loss=0.5),
        lambda run: run.log({"loss": 0.5}),
        lambda run: run.log(1, 2),
        lambda run: run.log(1, 2, 3),
        lambda run: run.log(1, {"loss": 0.5}, 3),
        lambda run: run.log("loss", 0.5),
        lambda run: run.log(step="three", loss=0.5),
        lambda run: run.log(step=None, loss=0.5),
    ],
)
def test_a_call_that_means_nothing_is_told_with_how_to_write_it_and_counted(
    tmp_path: Path, call: Callable[[Run], None]
) -> None:
    with told() as messages, Run(tmp_path) as run:
        call(run)
        run.log(5, loss=1.0)

    assert RawPart(tmp_path).points("loss").steps.tolist() == [5]
    assert run.num_dropped == 1
    (message,) = messages
    assert "run.log(step, loss=0.1)" in message or "give the step first" in message


@pytest.mark.parametrize(
    "value",
    [
        torch.full((1,), 0.5),
        torch.full((1, 1), 0.5, requires_grad=True),
        torch.full((1, 1, 1), 0.5, dtype=torch.bfloat16),
        numpy.full(1, 0.5),
        numpy.full((1, 1), 0.5, dtype=numpy.float16),
    ],
)
def test_a_tensor_of_one_element_is_a_number(tmp_path: Path, value: Any) -> None:
    with Run(tmp_path) as run:
        run.log(0, loss=value)
        run.log_tensor(0, "kept", value)

    part = RawPart(tmp_path)
    assert part.points("loss").values.tolist() == [0.5]
    assert part.names("tensor") == ["kept"]


@pytest.mark.parametrize(
    "value", [torch.zeros(2), torch.zeros(0), torch.ones(1, 2), numpy.ones((1, 1), "c8")]
)
def test_what_has_more_or_less_than_one_real_element_is_a_tensor(tmp_path: Path, value: Any) -> None:
    with Run(tmp_path) as run:
        run.log(0, weight=value)

    assert RawPart(tmp_path).names("tensor") == ["weight"]
    assert RawPart(tmp_path).names() == []


# --- `purge_step` takes back what earlier sessions logged, in whichever of the rank's files it  --------


def log_with(*runs: Run) -> None:
    for run in runs:
        for step in range(10):
            run.log(step, loss=1.0)
            run.log_text(step, "note", "x")
        run.flush()


def steps_in(folder: Path, name: str) -> tuple[list[int], list[int]]:
    part = RawPart(folder, name)
    return part.points("loss").steps.tolist(), [step for step, _ in part.records("text", "note")]


def generation_of(folder: Path, name: str) -> int:
    return int(RawPart(folder, name).ask("SELECT value FROM meta WHERE key = 'generation'")[0][0])


def test_it_takes_back_in_all_parts_of_its_rank_and_in_no_other(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second, Run(tmp_path, rank=1) as other:
        log_with(first, second, other)
    with told() as messages, Run(tmp_path, purge_step=5):
        pass

    assert messages == []
    assert steps_in(tmp_path, "rank-0") == steps_in(tmp_path, "rank-0.1") == ([0, 1, 2, 3, 4],) * 2
    assert steps_in(tmp_path, "rank-1")[0] == list(range(10))
    assert [generation_of(tmp_path, name) for name in ("rank-0", "rank-0.1", "rank-1")] == [1, 1, 0]
    # Nobody wrote into the second one: it was only looked through.
    assert RawPart(tmp_path, "rank-0.1").ask("SELECT outcome FROM sessions") == [("finished",)]


def test_a_part_without_such_steps_is_left_as_it_is(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second:
        log_with(first, second)
    with Run(tmp_path, purge_step=10):
        pass

    assert generation_of(tmp_path, "rank-0.1") == 0


def test_what_somebody_else_is_writing_is_not_taken_back_and_told(tmp_path: Path) -> None:
    with told() as messages:
        holder = Run(tmp_path)
        log_with(holder)
        with Run(tmp_path, purge_step=5) as resumed:
            resumed.log(5, loss=2.0)
        holder.close()

    assert steps_in(tmp_path, "rank-0")[0] == list(range(10))
    assert RawPart(tmp_path, "rank-0.1").points("loss").steps.tolist() == [5]
    (message,) = messages
    assert "from step 5 on is not taken back in rank-0.sqlite: somebody writes it" in message


def test_a_file_that_is_no_part_is_told_and_stops_neither_the_purge_nor_the_run(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second, Run(tmp_path) as third:
        log_with(first, second, third)
    (tmp_path / "rank-0.1.sqlite").write_bytes(b"no database" * 1000)
    (tmp_path / "rank-0.3.sqlite").touch()  # of somebody who was killed at once
    with told() as messages, Run(tmp_path, purge_step=5) as run:
        run.log(5, loss=2.0)

    assert steps_in(tmp_path, "rank-0.2")[0] == [0, 1, 2, 3, 4]
    assert steps_in(tmp_path, "rank-0")[0] == [0, 1, 2, 3, 4, 5]
    (message,) = messages
    assert "rank-0.1.sqlite" in message

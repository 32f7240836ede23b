"""A run stays under its budget: old records make way, the newest stand densest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
from hypothesis import given
from hypothesis import strategies as st

from tests.run.raw_tables import RawPart
from torcheer.run.run import Run
from torcheer.run.write.part_file import Candidate, choose


def series_at(steps: Sequence[int], *, num_bytes: int = 10, first_id: int = 0) -> list[Candidate]:
    """Of several series, each has a first id of its own, which is its number as well."""
    return [
        Candidate(first_id + index, step, float(index), num_bytes, first_id)
        for index, step in enumerate(sorted(steps))
    ]


@given(
    st.lists(st.lists(st.integers(-50, 50), max_size=15), max_size=4),
    st.lists(st.integers(1, 1000), min_size=4, max_size=4),
    st.integers(1, 20_000),
)
def test_first_and_last_stay_and_no_more_goes_than_must(
    all_steps: list[list[int]], sizes: list[int], wanted: int
) -> None:
    series = [
        series_at(steps, num_bytes=size, first_id=100 * number)
        for number, (steps, size) in enumerate(zip(all_steps, sizes, strict=False))
    ]
    chosen, num_freed = choose([record for records in series for record in records], wanted)

    size_of = {record.id: record.num_bytes for records in series for record in records}
    inner = {record.id for records in series for record in records[1:-1]}
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= inner
    assert num_freed == sum(size_of[id] for id in chosen)
    if num_freed < wanted:
        assert set(chosen) == inner
    else:
        assert num_freed - size_of[chosen[-1]] < wanted


def how_missed(steps: Sequence[int]) -> dict[int, float]:
    """Of each step but the first and the last: the gap that it would leave, by its age."""
    return {
        step: (after - before) / (steps[-1] - step)
        for before, step, after in zip(steps, steps[1:], steps[2:], strict=False)
    }


@given(st.sets(st.integers(0, 500), min_size=3, max_size=60), st.integers(1, 60))
def test_what_goes_is_what_is_missed_least(all_steps: set[int], num_gone: int) -> None:
    steps = sorted(all_steps)
    gone = {steps[id] for id in choose(series_at(steps), 10 * num_gone)[0]}
    before, after = how_missed(steps), how_missed([step for step in steps if step not in gone])

    # Records are chosen some at a time: none that stays is missed less than half as much as one that goes.
    for step in gone:
        assert all(before[step] <= 2 * missed for missed in after.values())


def test_the_newest_stand_densest_also_when_it_is_done_over_and_over() -> None:
    kept: list[Candidate] = []
    for step in range(3000):
        kept.append(Candidate(step, step, 0.0, 10, 0))
        if len(kept) > 200:
            gone = set(choose(kept, 200)[0])
            kept = [record for record in kept if record.id not in gone]
    steps = numpy.array([record.step for record in kept])
    gaps, ages = numpy.diff(steps), 2999 - steps[:-1]

    assert steps[0] == 0
    assert steps[-1] == 2999
    assert gaps[ages < 50].max() <= 2
    assert gaps[ages > 1500].min() > gaps[ages < 300].max()
    assert (gaps / (ages + 1)).max() <= 0.6


def test_large_records_make_way_before_small_ones() -> None:
    large = series_at(range(100), num_bytes=10_000)
    small = series_at(range(100), num_bytes=10, first_id=1000)

    assert all(id < 1000 for id in choose([*large, *small], 500_000)[0])


def test_a_run_stays_under_its_budget_and_its_file_does_not_grow(tmp_path: Path) -> None:
    budget = 400_000
    with Run(tmp_path, max_bytes=budget) as run:
        for step in range(1500):
            run.log_tensor(step, "weight", numpy.full(1000, step, dtype=numpy.float32))
            run.log_text(step, "note", f"note {step}")
            run.log(step, loss=float(step))
            if step % 50 == 0:
                assert run.flush()

    part = RawPart(tmp_path)
    tensors = part.records("tensor", "weight")
    steps = [step for step, _ in tensors]
    assert sum(len(data) for _, data in tensors) <= budget
    assert len(tensors) > 0.7 * budget / 4000
    assert all(data == numpy.full(1000, step, dtype="<f4").tobytes() for step, data in tensors)
    assert (steps[0], steps[-1]) == (0, 1499)
    assert run.num_thinned == part.session("num_thinned") == 1500 - len(tensors)
    assert len(part.records("text", "note")) == len(part.points("loss").steps) == 1500
    assert part.path.stat().st_size < 4 * budget  # of 6 MB that were logged
    assert part.is_intact()


def test_a_budget_below_what_must_stay_does_no_harm(tmp_path: Path) -> None:
    with Run(tmp_path, max_bytes=10) as run:
        for step in range(20):
            for name in "abc":
                run.log_tensor(step, name, numpy.zeros(100))
            run.flush()

    part = RawPart(tmp_path)
    for name in "abc":
        steps = [step for step, _ in part.records("tensor", name)]
        assert (steps[0], steps[-1]) == (0, 19)
    assert run.num_dropped == 0


def test_a_resumed_run_counts_what_is_there_already(tmp_path: Path) -> None:
    for session in range(5):
        with Run(tmp_path, max_bytes=40_000) as run:
            for step in range(5):
                run.log_tensor(5 * session + step, "weight", numpy.zeros(500))

    found = RawPart(tmp_path).records("tensor", "weight")
    assert sum(len(data) for _, data in found) <= 40_000
    assert [found[0][0], found[-1][0]] == [0, 24]

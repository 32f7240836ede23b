"""Records that are encoded already, many at once: kept whole, in order, counted, and marked when on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from tests.run.raw_tables import RawPart, quick_folder
from tests.run.watching import log_plan, table_at
from torcheer.run import run as run_module
from torcheer.run.records import EncodedRecord, TensorHead, TextHead, encode_head
from torcheer.run.run import Run
from torcheer.run.statistics import FigureTable
from torcheer.run.warnings_once import RunWarning
from torcheer.run.write.part_file import PartFile
from torcheer.run.write.queue import Mark


def tensor_record(name: str, step: int, values: Any, *, is_json: bool = False) -> EncodedRecord:
    array = numpy.asarray(values, "<f4")
    head = TensorHead(
        shape=list(array.shape),
        dtype="float32",
        mean=None,
        std=None,
        min=None,
        max=None,
        num_zeros=0,
        num_nan=0,
        num_inf=0,
    )
    its_head = encode_head(head) if is_json else head
    return EncodedRecord("tensor", name, step, 1000.0 + step, its_head, array.tobytes())


def keep_and_flush(run: Run, *groups: list[EncodedRecord]) -> Mark:
    """The writer may come before the flush: what it warns of is in here, whenever it does."""
    for records in groups:
        run.keep_encoded(records)
    mark = run.mark()
    run.flush(timeout=10)
    return mark


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["a", "ü/b", "c"]),
                st.integers(-5, 5),
                st.lists(st.floats(width=32), max_size=5),
            )
        ),
        max_size=8,
    ),
    st.booleans(),
)
def test_what_is_handed_over_comes_back(
    groups: list[list[tuple[str, int, list[float]]]], is_json: bool
) -> None:
    with quick_folder() as folder:
        with Run(folder) as run:
            for group in groups:
                run.keep_encoded([tensor_record(*one, is_json=is_json) for one in group])
            assert run.flush()
            for name in {name for group in groups for name, _, _ in group}:
                wanted = [(step, values) for group in groups for one, step, values in group if one == name]
                wanted.sort(key=lambda item: item[0])  # which is stable: as a reader puts them
                found = run.tensors(name)
                assert found.steps.tolist() == [step for step, _ in wanted]
                for record, (_, values) in zip(found, wanted, strict=True):
                    assert numpy.array_equal(record.array, numpy.asarray(values, "<f4"), equal_nan=True)
        assert run.num_dropped == 0


def test_they_mix_with_what_is_encoded_later_and_with_numbers(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        for step in range(50):
            run.keep_encoded([tensor_record(f"layer{number}", step, [step]) for number in range(20)])
            run.log_tensor(step, "weight", numpy.full(3, step))
            run.log(step, loss=float(step))
            if step % 10 == 0:
                assert run.flush()
                assert len(run.tensors("layer19")) == len(run.tensors("weight")) == step + 1

    part = RawPart(tmp_path)
    assert part.is_intact()
    assert [step for step, _ in part.records("tensor", "layer7")] == list(range(50))


def test_descriptions_are_kept(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.keep_encoded([tensor_record("a", 0, [1.0])._replace(description="what it is")])
        run.flush()
        (entry,) = run._reader().series().values()
        assert entry.description == "what it is"


def test_a_mark_is_settled_when_all_before_it_is_on_disk(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        first = run.mark()
        assert first.is_settled
        assert first.is_done
        run.keep_encoded([tensor_record("a", step, numpy.zeros(1000)) for step in range(300)])
        mark = run.mark(hurry=True)
        deadline = time.monotonic() + 30
        while not mark.is_settled and time.monotonic() < deadline:
            time.sleep(0.001)
        assert mark.is_done
        assert len(RawPart(tmp_path).records("tensor", "a")) == 300


def test_a_mark_is_never_done_for_what_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path)
    monkeypatch.setattr(PartFile, "write", _no_space)
    monkeypatch.setattr(run_module, "_CLOSE_SECONDS", 1.0)
    # More than one batch takes: some of it waits behind.
    groups = [
        [tensor_record("a", first + step, numpy.zeros(200_000)) for step in range(10)]
        for first in range(0, 40, 10)
    ]
    with pytest.warns(RunWarning, match="disk is full"):
        mark = keep_and_flush(run, *groups)
    run.close()

    assert mark.is_settled
    assert not mark.is_done
    assert run.num_dropped == 40


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_what_comes_after_the_end_is_counted(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.close()
    with pytest.warns(RunWarning, match="is closed"):
        run.keep_encoded([tensor_record("a", step, [1.0]) for step in range(5)])

    assert run.num_dropped == 5
    run.keep_encoded([])
    assert run.num_dropped == 5


def test_a_record_that_is_too_large_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MOST_RECORD_BYTES", 100)
    with Run(tmp_path) as run, pytest.warns(RunWarning, match="'large' has 400 bytes"):
        run.keep_encoded(
            [
                tensor_record("a", 0, [1.0]),
                tensor_record("large", 0, numpy.zeros(100)),
                tensor_record("b", 0, [2.0]),
            ]
        )
    part = RawPart(tmp_path)
    assert (part.names("tensor"), run.num_dropped) == (["a", "b"], 1)


def test_one_that_cannot_be_stored_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    bad = EncodedRecord("text", "bad", 2**70, 1000.0, TextHead(num_characters=0), b"")
    with Run(tmp_path) as run, pytest.warns(RunWarning, match="text 'bad' cannot be written"):
        keep_and_flush(run, [tensor_record("a", 0, [1.0]), bad, tensor_record("b", 0, [2.0])])

    assert RawPart(tmp_path).names("tensor") == ["a", "b"]
    assert run.num_dropped == 1


def test_a_block_of_statistics_that_is_none_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    bad = EncodedRecord("statistics", "watch", 0, 1000.0, TextHead(num_characters=0), b"abc")
    with Run(tmp_path) as run, pytest.warns(RunWarning, match="statistics 'watch' cannot be written"):
        keep_and_flush(run, [tensor_record("a", 0, [1.0]), bad])

    assert RawPart(tmp_path).names("tensor") == ["a"]
    assert run.num_dropped == 1


def test_statistics_of_times_that_cannot_be_do_not_harm_what_follows(tmp_path: Path) -> None:
    good = table_at(range(4))
    with Run(tmp_path) as run:
        log_plan(run)
        bad = [
            FigureTable(digest="plan", steps=good.steps, times=good.times * 0 + moment, values=good.values)
            for moment in (float("nan"), float("inf"), 1e300)
        ]
        records = [
            EncodedRecord("statistics", "watch", 0, 1.0, one.head(), one.data()) for one in (*bad, good)
        ]
        with pytest.warns(RunWarning, match="some times of statistics cannot be"):
            keep_and_flush(run, records)

        assert run.watched.steps.tolist() == [0, 1, 2, 3]
        assert run.num_dropped == 3
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["rank-0.sqlite"]

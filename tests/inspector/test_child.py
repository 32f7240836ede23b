"""The parts of the child, each by itself: what it makes of frames, of callbacks, and of what goes wrong."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.inspector.feeding import fill, plan_with
from tests.inspector.frame_builder import frame_of, plan_of, row_of
from torcheer.errors import InputError, InspectorError
from torcheer.inspector import child_process
from torcheer.inspector.child.child_loop import Caller, Figures, Losses, UserMessages, tensor_of
from torcheer.inspector.child.run_writer import Histograms, Tensors, lost_frames, words_for
from torcheer.inspector.frame_format import DTYPE_CODES, DTYPES, Layout, Plan, read_frame
from torcheer.inspector.protocol import Callbacks, Channel, Numbers, ToChild, Told, ToParent
from torcheer.inspector.ring import Ring
from torcheer.run import HistogramHead, Run, RunWarning, TensorHead

FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)


@pytest.fixture
def spoken() -> Iterator[tuple[UserMessages, Channel[ToParent]]]:
    """A voice, and what hears it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield UserMessages(Channel(theirs, ToChild)), Channel(ours, ToParent)


Spoken = tuple[UserMessages, Channel[ToParent]]


# --- histograms --------------------------------------------------------------------------------------------


def histogram_of(values: Any) -> tuple[HistogramHead, Any, Any]:
    """Of one row: the head, edges and counts."""
    frame = frame_of(plan_of(["a.Act"], sample_elements=64), {"a.Act": values})
    (record,) = Histograms(["a.Act"], 1.0).records(frame, 0.0)
    head = record.head
    assert isinstance(head, HistogramHead)
    numbers = numpy.frombuffer(record.data, "<f8")
    return head, numbers[: head.num_bins + 1], numbers[head.num_bins + 1 :]


@given(arrays.arrays(numpy.float32, st.integers(1, 64), elements=FLOATS))
def test_a_histogram_counts_each_finite_value_in_a_bin_that_holds_it(values: Any) -> None:
    head, edges, counts = histogram_of(values)
    finite = values[numpy.isfinite(values)].astype(numpy.float64)

    assert len(counts) == head.num_bins
    assert len(edges) == head.num_bins + 1
    assert counts.sum() == head.num == len(finite)
    assert head.num_nan == numpy.isnan(values).sum()
    assert head.num_inf == numpy.isinf(values).sum()
    assert (numpy.diff(edges) > 0).all() or head.num_bins == 1
    if len(finite):
        for index, edge in list(enumerate(edges))[1:-1]:
            assert counts[:index].sum() == numpy.count_nonzero(finite < edge)
        assert head.min == finite.min()
        assert head.max == finite.max()


def test_a_histogram_of_weights_has_bins_as_fine_as_a_tenth() -> None:
    values = numpy.random.default_rng(0).normal(0, 0.05, 64).astype(numpy.float32)
    head, edges, _ = histogram_of(values)

    largest = edges[edges > 1e-4]
    assert (largest[1:] / largest[:-1]).max() < 1.13
    assert head.num_bins <= 260


def test_each_row_that_is_seen_has_a_histogram_now_and_then() -> None:
    plan = plan_of(["a.Act", "b.Act"], sample_elements=64)
    histograms, none = (Histograms(["a.Act", "b.Act"], seconds) for seconds in (1.0, 0.0))
    one = frame_of(plan, {"b.Act": numpy.ones(3, numpy.float32)})
    both = frame_of(plan, {"a.Act": numpy.ones(3, numpy.float32), "b.Act": numpy.ones(3, numpy.float32)})

    seen = [(one, 0.0), (one, 0.5), (both, 0.6), (both, 0.9), (both, 1.5), (both, 1.6)]
    names = [[record.name for record in histograms.records(*known)] for known in seen]

    assert names == [["b.Act"], [], ["a.Act"], [], ["b.Act"], ["a.Act"]]
    assert none.records(both, 0.0) == []


# --- tensors -----------------------------------------------------------------------------------------------


@given(
    arrays.arrays(numpy.float32, arrays.array_shapes(max_dims=3, max_side=4, min_side=0), elements=FLOATS),
    st.integers(8, 64),
)
def test_a_tensor_is_kept_with_its_shape_and_its_figures(values: Any, sample_elements: int) -> None:
    plan = plan_of([row_of("a.weight", excerpt_bytes=512)], sample_elements=sample_elements)
    frame = frame_of(plan, {"a.weight": values}, step=5)

    (record,) = Tensors(["rank 1/a.weight"]).records(frame, Figures(plan).table([frame])[0])

    head = record.head
    assert isinstance(head, TensorHead)
    assert (record.name, record.step, head.shape) == ("rank 1/a.weight", 5, list(values.shape))
    assert record.data == values.tobytes()
    assert head.num_zeros == numpy.count_nonzero(values == 0)
    assert head.num_nan == numpy.isnan(values).sum()
    assert head.num_inf == numpy.isinf(values).sum()
    finite = values[numpy.isfinite(values)]
    assert (head.min, head.max) == ((finite.min(), finite.max()) if finite.size else (None, None))


# --- callbacks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(DTYPE_CODES))
def test_a_callback_gets_a_tensor_of_the_type_that_it_had(name: str) -> None:
    tensor = torch.tensor([[1.0, 0.0, -2.0]]).to(getattr(torch, name))
    raw = numpy.frombuffer(bytes(tensor.view(torch.uint8).numpy().tobytes()), numpy.uint8)
    excerpt = raw.view(DTYPES[DTYPE_CODES[name]][1]).reshape(1, 3)

    found = tensor_of(excerpt, DTYPE_CODES[name])

    assert found.dtype == tensor.dtype
    assert found.shape == tensor.shape
    assert torch.equal(found.view(torch.uint8), tensor.view(torch.uint8))


def test_what_a_callback_keeps_does_not_change_when_the_slot_does(spoken: Spoken) -> None:
    plan = plan_with("a.Act")
    kept: list[torch.Tensor] = []
    frame = frame_of(plan, {"a.Act": numpy.ones((2, 2), numpy.float32)})
    caller = Caller(Callbacks(on_run=lambda _name, _step, tensor: kept.append(tensor)), spoken[0])

    caller.call(frame, plan, float("inf"))
    frame_of(plan, {"a.Act": numpy.zeros((2, 2), numpy.float32)}, slot=frame.slot)

    assert torch.equal(kept[0], torch.ones(2, 2))


@pytest.mark.parametrize("error", [ValueError("no such layer"), SystemExit(3), KeyboardInterrupt()])
def test_a_callback_that_fails_is_told_once_and_called_again(error: BaseException, spoken: Spoken) -> None:
    def fail(name: str, step: int, tensor: Any) -> None:
        called.append(step)
        raise error

    plan = plan_with("a.Act")
    called: list[int] = []
    told, hearer = spoken
    caller = Caller(Callbacks(on_run=fail), told)
    for step in range(4):
        caller.call(frame_of(plan, {"a.Act": numpy.ones(2, numpy.float32)}, step=step), plan, float("inf"))
    caller.close()
    told.send()

    first, last = list(hearer.hear())
    assert called == [0, 1, 2, 3]
    assert type(error).__name__ in first.message
    assert "a.Act, step 0" in first.message
    assert Path(__file__).name in first.message
    assert "4 times" in last.message


def test_calls_for_which_no_time_is_left_are_counted_by_name(spoken: Spoken) -> None:
    plan = plan_with("a.Act", "b.Act")
    called: list[str] = []
    told, hearer = spoken
    caller = Caller(Callbacks(on_run=lambda name, _step, _tensor: called.append(name)), told)
    for step in range(3):
        arrays = {name: numpy.ones(2, numpy.float32) for name in ("a.Act", "b.Act")}
        caller.call(frame_of(plan, arrays, step=step), plan, 0.0 if step else float("inf"))
    skipped = caller.take_skipped()
    caller.close()
    told.send()

    assert called == ["a.Act", "b.Act"]
    assert skipped is not None
    assert skipped.counts == {"callback(a.Act)": 2, "callback(b.Act)": 2}
    assert (skipped.first_step, skipped.last_step) == (1, 2)
    assert "4 calls of the callback are missing from step 1 to 2" in words_for(skipped)
    assert caller.take_skipped() is None
    assert "before the callback had seen all" in [message.message for message in hearer.hear()][-1]


def test_the_closing_callback_may_fail(spoken: Spoken) -> None:
    calls: list[int] = []
    told, hearer = spoken
    caller = Caller(Callbacks(on_closing=lambda: calls.append(1 // 0)), told)

    caller.close()
    told.send()

    (message,) = list(hearer.hear())
    assert "ZeroDivisionError" in message.message


def test_only_functions_can_be_called() -> None:
    with pytest.raises(InputError, match="function"):
        Callbacks(on_run="print")  # type: ignore[arg-type]


# --- what is lost ------------------------------------------------------------------------------------------


def test_lost_frames_are_counted_by_what_was_seen_in_them() -> None:
    plan = plan_with("a.Act", "b.Act", num_slots=4)
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    one = {"a.Act": numpy.ones(2, numpy.float32)}
    for step in (10, 11, 12):
        fill(ring, plan, step, one)

    lost = lost_frames(ring, plan, range(1, 3), "killed")

    assert lost is not None
    assert lost.counts == {"a.Act": 2}
    assert (lost.first_step, lost.last_step) == (11, 12)
    assert "2 records are missing from step 11 to 12" in words_for(lost)
    assert lost_frames(ring, plan, range(0), "killed") is None


def test_frames_are_known_by_the_journal_when_their_slots_hold_others() -> None:
    plan = plan_with("a.Act", "b.Act", num_slots=2)
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    for step in range(6):
        fill(ring, plan, step, {"a.Act" if step % 3 else "b.Act": numpy.ones(2, numpy.float32)})
        ring.give_back()

    lost = lost_frames(ring, plan, range(6), "killed")

    assert lost is not None
    assert lost.counts == {"a.Act": 4, "b.Act": 2}
    assert (lost.first_step, lost.last_step) == (0, 5)


def test_of_frames_that_left_the_journal_all_rows_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torcheer.inspector.ring._NUM_NOTES", 4)
    plan = plan_with("a.Act", "b.Act", num_slots=2)
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    for step in range(6):
        fill(ring, plan, step, {"a.Act": numpy.ones(2, numpy.float32)})
        ring.give_back()

    lost = lost_frames(ring, plan, range(6), "killed")

    assert lost is not None
    assert lost.counts == {"a.Act": 6, "b.Act": 3}
    assert (lost.first_step, lost.last_step) == (3, 5)


# --- what is said, and what is heard -----------------------------------------------------------------------


def test_warnings_of_a_run_go_to_the_training_once(spoken: Spoken) -> None:
    told, hearer = spoken
    with warnings.catch_warnings():
        told.pass_on_warnings()
        for _ in range(3):
            warnings.warn("the disk is full", RunWarning, stacklevel=1)
        with pytest.warns(UserWarning, match="something else"):
            warnings.warn("something else", UserWarning, stacklevel=1)
    told.send()

    assert list(hearer.hear()) == [Told(message="the disk is full")]


def test_losses_that_another_process_logs_are_found(tmp_path: Path) -> None:
    with Run(tmp_path / "run") as before:
        before.log(1, loss=9.0)
    losses = Losses(str(tmp_path / "run"), 0)
    assert losses.new() == []
    pid = os.fork()
    if pid == 0:
        with Run(tmp_path / "run") as run:
            run.log(2, {"train/loss": 0.5, "accuracy": 0.1})
        with Run(tmp_path / "run", rank=1) as run:
            run.log(2, {"train/loss": 0.7})
        os._exit(0)
    os.waitpid(pid, 0)

    found: list[Numbers] = []
    end = time.monotonic() + 30
    while not found and time.monotonic() < end:
        found = losses.new()
        time.sleep(0.05)

    assert [(numbers.step, numbers.values) for numbers in found] == [(2, {"train/loss": 0.5})]


def test_a_child_cannot_watch_a_training_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_is_child", True)

    with pytest.raises(InspectorError, match="watches a training itself"):
        child_process.check_start(None)


def test_frames_come_out_of_a_ring_as_they_went_in() -> None:
    plan: Plan = plan_with("a.Act")
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    fill(ring, plan, 3)

    frame = read_frame(ring.slot(0), Layout(plan))

    assert (frame.number, frame.step) == (0, 3)

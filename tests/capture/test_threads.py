"""Threads that forward starts are recorded; other threads are left alone."""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from tqdm import tqdm

import torcheer as tl
from tests.copying import run_copy


class Pooled(nn.Module):
    """Each branch runs in a thread of a pool."""

    def __init__(self, num_branches: int = 3) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(4, 4) for _ in range(num_branches))

    def forward(self, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda branch: branch(x).tanh(), self.branches))
        return torch.stack(results).sum(0)


def test_ops_of_a_pool_are_recorded_in_their_modules() -> None:
    history = tl.log_forward_pass(Pooled(), torch.rand(2, 4))

    linears = [op for op in history if op.layer_type == "linear"]
    tanhs = [op for op in history if op.layer_type == "tanh"]
    assert {op.containing_module_origin for op in linears} == {"branches.0", "branches.1", "branches.2"}
    assert {op.containing_module_origin for op in tanhs} == {""}
    assert [op.parent_layers for op in linears] == [["input_1_0"]] * 3
    assert {tuple(op.parent_layers) for op in tanhs} == {(op.layer_label,) for op in linears}
    assert set(history["stack_1"].parent_layers) == {op.layer_label for op in tanhs}
    assert not history.model_is_recurrent


def test_the_result_of_a_pool_is_unchanged_and_valid() -> None:
    model, x = Pooled(), torch.rand(2, 4)

    history = tl.log_forward_pass(model, x)

    assert torch.equal(history["output_1"].tensor_contents, model(x))
    assert history.validate()


def test_many_threads_lose_nothing() -> None:
    history = tl.log_forward_pass(Pooled(num_branches=24), torch.rand(2, 4))

    assert sum(op.layer_type == "linear" for op in history) == 24
    assert sum(op.layer_type == "tanh" for op in history) == 24
    assert history.validate()


def test_a_thread_that_was_there_before_is_left_alone() -> None:
    begin, done = threading.Event(), threading.Event()

    def work() -> None:
        begin.wait(timeout=30)
        torch.rand(3).cos()
        done.set()

    class Waits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            begin.set()
            done.wait(timeout=30)
            return x.sin()

    other = threading.Thread(target=work)
    other.start()
    history = tl.log_forward_pass(Waits(), torch.rand(3))
    other.join()

    assert history.layer_labels == ["input_1_0", "sin_1_1", "output_1_2"]


def test_a_thread_that_outlives_the_pass_is_no_longer_recorded() -> None:
    go_on = threading.Event()
    threads: list[threading.Thread] = []
    seen: list[list[object]] = []

    class Leaves(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            started = threading.Event()

            def work() -> None:
                x.cos()
                started.set()
                go_on.wait(timeout=30)
                x.tan()
                seen.append(torch.overrides._get_current_function_mode_stack())

            threads.append(threading.Thread(target=work))
            threads[0].start()
            started.wait(timeout=30)
            return x.sin()

    history = tl.log_forward_pass(Leaves(), torch.rand(3))
    labels = history.layer_labels
    go_on.set()
    threads[0].join()

    assert labels == ["input_1_0", "cos_1_1", "sin_1_2", "output_1_3"]
    assert history.layer_labels == labels
    assert seen == [[]]


def test_a_thread_that_works_when_the_pass_ends_is_not_disturbed() -> None:
    """Wherever the end falls: between two ops, before an op is noted, or while it runs."""
    errors: list[BaseException] = []
    left: list[list[object]] = []
    lengths: list[tuple[int, int]] = []
    for _ in range(30):
        stop = threading.Event()
        threads: list[threading.Thread] = []

        class Leaves(nn.Module):
            def forward(
                self, x: Tensor, stop: threading.Event = stop, threads: list[threading.Thread] = threads
            ) -> Tensor:
                started = threading.Event()

                def work() -> None:
                    try:
                        made = x
                        while not stop.is_set():
                            made = made.cos().add_(1)
                            made.sum().item()
                            started.set()
                        left.append(torch.overrides._get_current_function_mode_stack())
                    except BaseException as error:
                        errors.append(error)
                        started.set()

                threads.append(threading.Thread(target=work))
                threads[0].start()
                started.wait(timeout=30)
                return x.sin()

        history = tl.log_forward_pass(Leaves(), torch.rand(300))
        num_ops = len(history)
        stop.set()
        threads[0].join()
        lengths.append((num_ops, len(history)))

    assert errors == []
    assert left == [[]] * 30
    assert all(before == after for before, after in lengths)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize(
    "make", [lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), lambda: torch.ones(2)]
)
def test_the_work_of_a_thread_that_was_already_running_is_told(make: Callable[[], Tensor]) -> None:
    wanted: queue.Queue[bool] = queue.Queue()
    made: queue.Queue[Tensor] = queue.Queue()

    def work() -> None:
        while wanted.get(timeout=30):
            made.put(make())

    other = threading.Thread(target=work, name="a worker")
    other.start()

    class Asks(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            wanted.put(True)
            return made.get(timeout=30), x.sin()

    try:
        history = tl.log_forward_pass(Asks(), torch.rand(3))
    finally:
        wanted.put(False)
        other.join()

    (note,) = history.notes
    assert "came from outside" in note
    assert "a worker" in note


def test_a_thread_that_made_nothing_is_not_suspected() -> None:
    end = threading.Event()
    idle = threading.Thread(target=end.wait, args=(60,), name="idle")
    idle.start()
    with tqdm(total=3, file=io.StringIO()) as bar:  # its monitor runs until the process ends
        bar.update()
        assert bar.monitor is not None
        elsewhere = torch.ones(3)

        class Adds(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                bar.update()
                return x + elsewhere

        try:
            history = tl.log_forward_pass(Adds(), torch.rand(3))
        finally:
            end.set()
            idle.join()

    assert history.notes == []
    assert [op.layer_type for op in history] == ["input", "source", "add", "output"]


def test_a_thread_that_waits_for_a_process_is_not_suspected() -> None:
    end = threading.Event()
    other = threading.Thread(target=end.wait, args=(30,), name="asyncio-waitpid-0")
    other.start()
    elsewhere = torch.ones(3)

    class Adds(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + elsewhere

    try:
        history = tl.log_forward_pass(Adds(), torch.rand(3))
    finally:
        end.set()
        other.join()

    assert history.notes == []


THREADS_THAT_ENDED = """
import _thread, threading, torch
import torcheer as tl

together, done = threading.Barrier(41), threading.Barrier(41)
def work():
    threading.current_thread()  # Python did not start it, and lists it from now on
    together.wait()
    done.wait()
for _ in range(40):
    _thread.start_new_thread(work, ())
together.wait()
done.wait()
while _thread._count() > 0:
    pass
assert threading.active_count() == 41
history = tl.log_forward_pass(torch.nn.Linear(2, 2), torch.rand(1, 2))
print(len(history), history.num_tensors_total)
"""


def test_threads_that_python_lists_although_they_have_ended_are_no_danger(tmp_path: Path) -> None:
    """The system reads the clock of a thread where the thread had its memory, if asked in the wrong way."""
    assert run_copy(["-c", THREADS_THAT_ENDED], cwd=tmp_path).stdout == "3 3\n"


def test_two_captures_that_overlap_record_their_own_threads_and_leave_nothing() -> None:
    first_runs, second_runs, first_is_over = (threading.Event() for _ in range(3))

    def in_a_thread(function: Callable[[], Tensor]) -> Tensor:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    class First(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            first_runs.set()
            assert second_runs.wait(timeout=30)
            return in_a_thread(x.cos)

    class Second(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            second_runs.set()
            assert first_is_over.wait(timeout=30)
            return in_a_thread(x.tan)

    def capture_second() -> tl.ModelHistory:
        assert first_runs.wait(timeout=30)
        return tl.log_forward_pass(Second(), torch.rand(3))

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(capture_second)
        first = tl.log_forward_pass(First(), torch.rand(3))
        first_is_over.set()
        found = [[op.layer_type for op in history] for history in (first, second.result())]

    assert found == [["input", "cos", "output"], ["input", "tan", "output"]]
    assert threading.getprofile() is None


def test_two_captures_at_once_do_not_mix() -> None:
    meet = threading.Barrier(2)

    class Meets(nn.Module):
        def __init__(self, function: str) -> None:
            super().__init__()
            self.function = function

        def forward(self, x: Tensor) -> Tensor:
            meet.wait(timeout=30)
            for _ in range(20):
                x = getattr(x, self.function)()
            meet.wait(timeout=30)
            return x

    def capture(function: str) -> tl.ModelHistory:
        return tl.log_forward_pass(Meets(function), torch.rand(3))

    with ThreadPoolExecutor(2) as pool:
        sines, cosines = pool.map(capture, ["sin", "cos"])

    assert {op.layer_type for op in sines} == {"input", "sin", "output"}
    assert {op.layer_type for op in cosines} == {"input", "cos", "output"}
    assert len(sines) == len(cosines) == 22

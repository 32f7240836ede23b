"""The compiler is on again when the last one who wanted it off has ended, in whatever order they do."""

import gc
import threading
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import Tensor, nn

import torcheer as tl
from torcheer.models import begin_eager, end_eager, without_compiler


class Somebody:
    pass


@pytest.fixture(autouse=True)
def fresh_compiler() -> None:
    torch._dynamo.reset()


def is_on() -> bool:
    graphs: list[torch.fx.GraphModule] = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    return bool(graphs)


def test_two_that_overlap_leave_it_on() -> None:
    one, other = Somebody(), Somebody()
    begin_eager(one)
    begin_eager(other)
    end_eager(one)
    assert not is_on()
    end_eager(other)
    assert is_on()


def test_who_asks_twice_ends_once_and_who_never_asked_ends_nothing() -> None:
    one = Somebody()
    begin_eager(one)
    begin_eager(one)
    end_eager(Somebody())
    assert not is_on()
    end_eager(one)
    end_eager(one)
    assert is_on()


def test_who_is_collected_has_ended() -> None:
    begin_eager(Somebody())
    gc.collect()
    assert is_on()


def test_a_stance_of_the_users_own_comes_back() -> None:
    with torch.compiler.set_stance("force_eager"):
        with without_compiler():
            pass
        assert not is_on()
    assert is_on()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), without_compiler():
        1 / 0
    assert is_on()


def test_captures_of_two_threads_that_overlap_leave_it_on() -> None:
    inside, may_end = threading.Event(), threading.Event()

    class Waiting(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            inside.set()
            assert may_end.wait(60)
            return x + 1

    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            may_end.set()  # the first one ends while this one runs
            first.join(60)
            return x * 2

    first = threading.Thread(target=tl.log_forward_pass, args=(Waiting(), torch.ones(2)))
    first.start()
    assert inside.wait(60)
    tl.log_forward_pass(Inner(), torch.ones(2))
    assert not first.is_alive()
    assert is_on()

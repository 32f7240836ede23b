"""However `run.log` is called: what can be understood is kept, and nothing raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from tests.run.rawtables import RawPart, quick_folder
from tests.run.test_faults import told
from torcheer.run.run import Run


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    "call",
    [
        lambda run: run.log(3, loss=0.5),
        lambda run: run.log(3, {"loss": 0.5}),
        lambda run: run.log(step=3, loss=0.5),
        lambda run: run.log({"loss": 0.5}, step=3),
        lambda run: run.log(3, values={"loss": 0.5}),
        lambda run: run.log(step=3, values={"loss": 0.5}),
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

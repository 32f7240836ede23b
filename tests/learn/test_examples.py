"""The examples are Python, too: run as scripts they give the gradients that the page shows."""

import pytest
import torch

from torcheer.autograd import tracer
from torcheer.learn.exercises import EXAMPLES
from torcheer.learn.lesson import lesson_of_source
from torcheer.learn.lesson_document import Example


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_an_example_runs_as_a_script_with_the_same_gradients(example: Example) -> None:
    names: dict[str, object] = {}
    exec(compile(example.source, example.id, "exec"), names)

    shown = {node.name: node.gradient for node in lesson_of_source(example.source).nodes}
    leaves = {name: value for name, value in names.items() if isinstance(value, tracer) and value.is_leaf}
    checked = 0
    for name, leaf in leaves.items():
        cells = shown[name]
        if leaf.grad is None or cells is None:
            continue
        assert cells.is_whole
        wanted = torch.tensor([float(one) for one in cells.values]).reshape(leaf.shape)
        torch.testing.assert_close(leaf.grad, wanted, rtol=1e-4, atol=1e-6)
        checked += 1
    assert checked

"""The document of a pass says what the history says, for every small model, and survives a file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models import SmallModel, some_models
from tests.capture.outcomes import capture
from torcheer.capture.to_document import document_of
from torcheer.graph import PassDocument

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:.*jit.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@some_models
def test_every_op_is_described_as_the_history_knows_it(small: SmallModel) -> None:
    with small.around():
        history = capture(small)
        document = document_of(history)

    assert [op.label for op in document.ops] == history.layer_labels
    labels = history.layer_labels
    for entry, op in zip(document.ops, history, strict=True):
        assert list(dict.fromkeys(labels[link.op] for link in entry.parents)) == op.parent_layers
        assert [document.params[i].address for i in entry.params] == [p.address for p in op.parent_params]
        assert entry.num_bytes == op.tensor_fsize
        assert entry.has_value == op.has_saved_activations
        assert (entry.kind == "input") == op.is_input_layer
        assert (entry.kind == "output") == op.is_output_layer
        assert (entry.kind == "buffer") == op.is_buffer_layer


@some_models
def test_the_scopes_are_a_tree_and_each_op_is_in_the_modules_it_ran_in(small: SmallModel) -> None:
    with small.around():
        history = capture(small)
        document = document_of(history)

    assert document.scopes[0].parent == -1
    assert all(0 <= scope.parent < i for i, scope in enumerate(document.scopes) if i)
    for entry, op in zip(document.ops, history, strict=True):
        assert modules_around(document, entry.scope) == op.containing_modules_origin_nested


def modules_around(document: PassDocument, scope: int) -> list[str]:
    around: list[str] = []
    while scope >= 0:
        address = document.scopes[scope].address
        if address:
            around.append(address)
        scope = document.scopes[scope].parent
    return around[::-1]


@some_models
def test_a_document_is_the_same_after_a_file(small: SmallModel, tmp_path: Path) -> None:
    with small.around():
        history = capture(small)
        document = document_of(history)
        history.save(tmp_path / "pass.safetensors")
        loaded = document_of(tl.load_history(tmp_path / "pass.safetensors"))

    assert comparable(loaded) == comparable(document)
    assert msgspec.json.decode(msgspec.json.encode(document), type=PassDocument) == document


def comparable(document: PassDocument) -> PassDocument:
    """Without what a file leaves out: parameters' values, and lines of other files."""
    params = [msgspec.structs.replace(param, has_value=False) for param in document.params]
    sources = [msgspec.structs.replace(source, context=[]) for source in document.sources]
    ops = [msgspec.structs.replace(op, arguments="") for op in document.ops]
    return msgspec.structs.replace(document, params=params, sources=sources, ops=ops)


def test_arguments_are_named_by_their_place_in_the_call() -> None:
    class Mixed(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            both = torch.cat([a, b], dim=1)
            return torch.sub(both, other=both.flip(0), alpha=2)

    document = document_of(tl.log_forward_pass(Mixed(), [torch.ones(2, 2), torch.ones(2, 3)]))
    by_type = {op.type: op for op in document.ops}

    assert [link.argument for link in by_type["cat"].parents] == ["0.0", "0.1"]
    assert [link.argument for link in by_type["sub"].parents] == ["0", "other"]
    assert by_type["cat"].argument_order_matters
    assert by_type["sub"].arguments == "alpha=2"


def test_the_order_of_a_sum_does_not_matter_and_that_of_a_difference_does() -> None:
    class Two(nn.Module):
        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return (a + b) - (a * b)

    document = document_of(tl.log_forward_pass(Two(), [torch.ones(2), torch.ones(2)]))

    assert {op.type: op.argument_order_matters for op in document.ops if op.kind == "op"} == {
        "add": False,
        "mul": False,
        "sub": True,
    }


def test_gradients_and_their_times_are_said() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    history = tl.log_forward_pass(model, torch.randn(5, 3), save_gradients=True)
    history.log_backward(history.output.sum())

    document = document_of(history)

    assert [op.has_grad for op in document.ops if op.kind == "op"] == [True, True, True]
    assert all(op.backward_seconds is not None for op in document.ops if op.kind == "op")
    assert all(param.has_grad for param in document.params)
    assert document.num_backward_passes == 1


def test_the_lines_around_a_line_of_source_are_those_of_its_file() -> None:
    class Small(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x.exp()
            return y.sqrt()

    document = document_of(tl.log_forward_pass(Small(), torch.ones(2)))
    source = document.sources[next(op.source for op in document.ops if op.type == "sqrt")]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()

    assert source.text == "return y.sqrt()"
    assert source.context[source.line - source.context_start].strip() == source.text
    assert source.context[0] == lines[source.context_start - 1]


def test_a_decision_points_to_the_op_that_was_asked_and_to_what_followed() -> None:
    class Chooses(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                return x.exp()
            return x.sin()

    document = document_of(tl.log_forward_pass(Chooses(), torch.ones(2)))
    branch = document.branches[0]

    assert document.ops[branch.op].type == "gt"
    assert [document.ops[op].type for op in branch.followed_by] == ["exp"]
    assert (branch.statement, branch.value) == ("if", "True")

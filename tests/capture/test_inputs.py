"""What can be given to a capture, and what it says of what cannot."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl


class Takes(nn.Module):
    """A model whose forward is given from outside."""

    def __init__(self, forward: Any) -> None:
        super().__init__()
        self.forward = forward


@dataclass
class Pair:
    a: Tensor
    b: Tensor


class Both(NamedTuple):
    a: Tensor
    b: Tensor


A, B = torch.tensor([1.0]), torch.tensor([2.0])


@pytest.mark.parametrize(
    ("forward", "args", "kwargs", "names"),
    [
        (lambda x: x + 1, A, None, ["x"]),
        (lambda a, b: a + b, [A, B], None, ["a", "b"]),
        (lambda a, b: a + b, (A, B), None, ["a", "b"]),
        (lambda a, b: a + b, {"b": B, "a": A}, None, ["b", "a"]),
        (lambda a, b=None: a + b, A, {"b": B}, ["a", "b"]),
        (lambda a, b: a + b, None, {"a": A, "b": B}, ["a", "b"]),
        (lambda pair: pair[0] + pair[1], [[A, B]], None, ["pair.0", "pair.1"]),
        (lambda pair: pair[0] + pair[1], [A, B], None, ["pair.0", "pair.1"]),
        (lambda d: d["x"] + d["y"], {"x": A, "y": B}, None, ["d.x", "d.y"]),
        (lambda d: d["x"][0]["z"] * 1, [{"x": [{"z": A}]}], None, ["d.x.0.z"]),
        (lambda p: p.a + p.b, Pair(A, B), None, ["p.a", "p.b"]),
        (lambda p: p.a + p.b, Both(A, B), None, ["p.a", "p.b"]),
        (lambda *args: args[0] + args[1], [A, B], None, ["args.0", "args.1"]),
        (lambda x, flag: x * flag, [A, 3], None, ["x"]),
    ],
)
def test_input_of_every_nesting(forward: Any, args: Any, kwargs: Any, names: list[str]) -> None:
    history = tl.log_forward_pass(Takes(forward), args, kwargs)

    assert [history[label].input_output_address for label in history.input_layers] == names
    assert history.validate()


def test_an_encoding_of_transformers() -> None:
    transformers = pytest.importorskip("transformers", reason="a test dependency that make test installs")
    encoding = transformers.BatchEncoding({"input_ids": torch.tensor([[1, 2]]), "mask": torch.ones(1, 2)})

    history = tl.log_forward_pass(Takes(lambda input_ids, mask: input_ids * mask), encoding)

    assert [history[label].input_output_address for label in history.input_layers] == ["input_ids", "mask"]


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (lambda y: (y, y * 2), ["output.0", "output.1"]),
        (lambda y: {"logits": y, "more": [y * 2]}, ["output.logits", "output.more.0"]),
        (lambda y: Pair(y, y * 2), ["output.a", "output.b"]),
        (lambda y: (y, None, 3, "word"), ["output.0"]),
        (lambda y: torch.distributions.Normal(y, y.exp()), ["output.loc", "output.scale"]),
    ],
)
def test_output_of_every_nesting(result: Any, names: list[str]) -> None:
    history = tl.log_forward_pass(Takes(lambda x: result(x + 1)), A)

    assert [history[label].input_output_address for label in history.output_layers][: len(names)] == names


def test_a_model_without_input() -> None:
    history = tl.log_forward_pass(Takes(lambda: torch.ones(2) * 2), [])

    assert history.layer_labels == ["ones_1_0", "mul_1_1", "output_1_2"]


@pytest.mark.parametrize(
    ("model", "args", "options", "message"),
    [
        (3, A, {}, "must be a torch.nn.Module, not int"),
        (nn.Linear, A, {}, "is a class, not a model"),
        (nn.Linear(1, 1), None, {}, "there is no input: Linear.forward takes"),
        (nn.Linear(1, 1), {"x": A, "y": A, 3: A}, {}, None),
        (nn.Bilinear(1, 1, 1), A, {}, "does not fit Bilinear.forward"),
        (nn.Linear(1, 1), A, {"vis_opt": "roled"}, "'none', 'rolled', 'unrolled', not 'roled'"),
        (nn.Linear(1, 1), A, {"layers_to_save": [None]}, "labels, module addresses, names and indices"),
    ],
)
def test_bad_input_gets_an_error_that_names_the_fix(
    model: Any, args: Any, options: Any, message: Any
) -> None:
    with pytest.raises((tl.InputError, TypeError), match=message):
        tl.log_forward_pass(model, args, **options)


def test_a_capture_inside_a_capture_is_refused_and_leaves_no_trace() -> None:
    inner = nn.ReLU()

    with pytest.raises(tl.CaptureError, match="cannot be called from inside"):
        tl.log_forward_pass(Takes(lambda x: tl.log_forward_pass(inner, x)), A)

    assert tl.log_forward_pass(inner, A).layer_labels == ["input_1_0", "relu_1_1", "output_1_2"]

"""Which layers are watched."""

import re

import pytest
import torch
from torch import nn

import torcheer as tl
from torcheer.models import chosen_layers


def model() -> nn.Module:
    return nn.ModuleDict(
        {
            "features": nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)),
            "attention": nn.MultiheadAttention(8, 2),
            "head": nn.Linear(4, 2),
        }
    )


def test_all_layers_are_those_without_layers_inside_and_those_with_parameters_of_their_own() -> None:
    found = tl.trackable(model())

    assert [layer.name for layer in found] == [
        "features.0",
        "features.1",
        "features.2",
        "attention",  # which calls its own layer in a way that no hook sees
        "attention.out_proj",
        "head",
    ]
    assert repr(found[0]) == "features.0: Conv2d (weight, bias)"
    assert list(chosen_layers(model(), "all")) == [layer.name for layer in found]


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ("head", ["head"]),
        ("features", ["features"]),
        ("features.*", ["features.0", "features.1", "features.2"]),
        (["head", "features.1"], ["features.1", "head"]),
        (nn.Conv2d, ["features.0", "features.2"]),
        ([nn.ReLU, nn.MultiheadAttention], ["features.1", "attention"]),
        (re.compile(r"\.[12]$"), ["features.1", "features.2"]),
        (lambda name, module: name.startswith("h"), ["head"]),
    ],
)
def test_layers_are_chosen_by_name_pattern_type_or_rule(layers: object, names: list[str]) -> None:
    assert list(chosen_layers(model(), layers)) == names


def test_layers_are_chosen_by_what_they_are() -> None:
    net = model()
    assert list(chosen_layers(net, net["head"])) == ["head"]  # type: ignore[index]


def test_a_model_is_seen_through_what_is_wrapped_around_it() -> None:
    compiled = torch.compile(model(), backend="eager")
    assert list(chosen_layers(nn.DataParallel(compiled), "head")) == ["head"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("feature.0", r"no layer answers to 'feature.0'. The nearest: features.0"),
        (nn.LSTM, r"tl.trackable\(model\) lists them all"),
        ([], "layers is empty"),
        (3, "layers is 3"),
        ([3], "3 names no layer"),
    ],
)
def test_a_choice_of_nothing_is_told_with_what_is_near(layers: object, message: str) -> None:
    with pytest.raises(tl.InputError, match=message):
        chosen_layers(model(), layers)


def test_something_else_than_a_model_is_told() -> None:
    with pytest.raises(tl.InputError, match="a list is no model"):
        tl.trackable([])  # type: ignore[arg-type]

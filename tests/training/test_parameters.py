"""Parameters of a training: a frozen dataclass, a form, and what may stand in its fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

import torcheer as tl
from torcheer.errors import InputError, ParameterError
from torcheer.training.loop.setup import form_fields, with_values


@dataclass(frozen=True)
class Parameters(tl.Parameters):
    epochs: int = 50
    learning_rate: float = tl.parameter(0.1, low=0.0, live="lr", section="Optimizer", about="of SGD")
    clip: float | None = tl.parameter(None, low=0.0, section="Optimizer", label="Clip gradient")
    activation: Literal["tanh", "relu"] = tl.parameter("tanh", section="Network")
    kernel: int = tl.parameter(3, choices=(1, 3, 5), section="Network")
    width: int = tl.parameter(8, low=1, high=64, section="Network")
    is_noisy: bool = False
    comment: str = ""


def test_a_form_has_the_fields_by_section_with_the_view_last() -> None:
    fields = form_fields(Parameters())

    assert [(one.section, one.label, one.form) for one in fields] == [
        ("Schedule", "Runs", "integer"),
        ("Schedule", "Epochs per run", "integer"),
        ("Schedule", "Epochs per test", "integer"),
        ("Optimizer", "Learning rate", "number"),
        ("Optimizer", "Clip gradient", "number"),
        ("Network", "Activation", "choice"),
        ("Network", "Kernel", "choice"),
        ("Network", "Width", "integer"),
        ("Training", "Is noisy", "truth"),
        ("Training", "Comment", "text"),
        ("View", "NetView every", "choice"),
        ("View", "Plots every", "choice"),
    ]
    by_name = {one.name: one for one in fields}
    assert by_name["epochs"].value == 50  # a new default leaves what was said of the field
    assert by_name["epochs"].low == 1
    assert by_name["learning_rate"].is_live
    assert by_name["learning_rate"].about == "of SGD"
    assert not by_name["width"].is_live
    assert by_name["clip"].is_optional
    assert by_name["kernel"].choices == ["1", "3", "5"]
    assert by_name["kernel"].value == "3"


def test_values_of_a_form_become_parameters() -> None:
    found = with_values(
        Parameters(), {"learning_rate": 1, "clip": "", "kernel": "5", "width": 9.0, "activation": "relu"}
    )

    assert found == Parameters(learning_rate=1.0, kernel=5, width=9, activation="relu")
    assert type(found.learning_rate) is float
    assert type(found.width) is int
    assert with_values(found, {"clip": 2}).clip == 2.0
    assert type(Parameters(learning_rate=1).learning_rate) is float


@pytest.mark.parametrize(
    ("name", "value", "requirement"),
    [
        ("learning_rate", -1, "must be 0 or more"),
        ("learning_rate", float("nan"), "must be 0 or more"),
        ("learning_rate", "fast", "must be 0 or more"),
        ("clip", -1.0, "must be 0 or more, or empty"),
        ("width", 0, "must be a whole number, from 1 to 64"),
        ("width", 65, "must be a whole number, from 1 to 64"),
        ("width", 1.5, "must be a whole number, from 1 to 64"),
        ("width", True, "must be a whole number, from 1 to 64"),
        ("width", None, "must be a whole number, from 1 to 64"),
        ("epochs", 0, "must be a whole number, 1 or more"),
        ("activation", "sigmoid", "must be one of tanh, relu"),
        ("kernel", 2, "must be one of 1, 3, 5"),
        ("is_noisy", 1, "must be true or false"),
        ("comment", 3, "must be text"),
        ("netview_every", "daily", "must be one of 1 trial, 10 trials"),
    ],
)
def test_a_wrong_value_is_refused_in_words_for_its_field(name: str, value: Any, requirement: str) -> None:
    with pytest.raises(ParameterError) as refused:
        with_values(Parameters(), {name: value})

    assert refused.value.field == name
    assert refused.value.requirement.startswith(requirement)
    fields = {field.name: field for field in form_fields(Parameters())}
    assert fields[name].requirement == refused.value.requirement
    assert str(refused.value).startswith(f"{name} is {value!r}: it {requirement}")
    with pytest.raises(ParameterError):
        Parameters(**{name: value})


def test_a_name_that_is_none_of_them_is_refused_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="did you mean 'learning_rate'"):
        with_values(Parameters(), {"learning_rat": 0.1})


def test_a_class_that_no_form_can_show_is_refused() -> None:
    class Bare(tl.Parameters):
        hidden: int = 3

    with pytest.raises(InputError, match=r"Bare has hidden, and is no dataclass: write @dataclass"):
        Bare()

    @dataclass(frozen=True)
    class Listed(tl.Parameters):
        sizes: list[int] = field(default_factory=list)

    with pytest.raises(InputError, match="sizes of Listed is a list: a parameter is int, float"):
        Listed()

    @dataclass(frozen=True)
    class Seeded(tl.Parameters):
        seed: int = 3

    with pytest.raises(InputError, match="has a field 'seed', which every training has"):
        Seeded()
    with pytest.raises(InputError, match="live is 3"):
        tl.parameter(1.0, live=3)  # type: ignore[arg-type]

"""Nothing that is logged raises: what cannot be kept is told. Settings and layouts are kept."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import torcheer as tl
from tests.many import examples
from tests.run.encode_checks import FakeRun, encoded, logged, refused
from torcheer.errors import InputError
from torcheer.netview import grid_of
from torcheer.run.encode.steps_names_hparams import step_of
from torcheer.run.log_methods import LogMethods, never_raising
from torcheer.run.read.run_reader import record_id
from torcheer.run.records import Connection, MomentHead, NetLayer, NetScene, NetViewHead, Place

# --- when ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "whole"),
    [(3, 3), (3.0, 3), (True, 1), (np.int32(4), 4), (torch.tensor(5), 5), (torch.tensor([6.0]), 6), (-1, -1)],
)
def test_a_step_is_a_whole_number_however_it_is_given(step: Any, whole: int) -> None:
    run = FakeRun()
    run.log_text(step, "t", "x")

    assert run.only().step == whole
    assert type(run.only().step) is int


@pytest.mark.parametrize("step", [2.5, math.nan, "3", None, 2**63, torch.ones(2), object()])
def test_what_is_no_step_is_told(step: Any) -> None:
    assert "log_text 't'" in refused(lambda run: run.log_text(step, "t", "x"))


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_step_of_64_bits_is_taken(step: int) -> None:
    assert step_of(step) == step


def test_a_time_that_is_given_holds() -> None:
    run = FakeRun()
    run.log_text(0, "t", "x", time=12.5)

    assert run.only().time == 12.5
    assert "time.time()" in refused(lambda run: run.log_text(0, "t", "x", time=math.nan))


def test_a_name_that_is_no_text_is_told() -> None:
    assert "give the step, then a name" in refused(lambda run: run.log_text("t", 0, "x"))


# --- never raising ---------------------------------------------------------------------------------------

METHODS = sorted(
    name for name, value in inspect.getmembers(LogMethods, inspect.isfunction) if name.startswith("log_")
)
ODD_VALUES: list[Any] = [
    *(None, "text", b"bytes", 3, math.nan, 1 + 2j, object(), object, [], {}, {"a": 1}, [None], [[1], [1, 2]]),
    *(np.zeros(0), np.zeros((0, 3)), np.array("x"), np.array([object()]), np.zeros((1,) * 20)),
    *(torch.zeros(0), torch.tensor(1.0), torch.zeros(2, 0, 3), torch.zeros(1, 1, 1, 1, 1, 1)),
    *(torch.zeros(3, dtype=torch.complex64), torch.zeros(3, device="meta"), torch.rand(3, 4, 5)),
]


class Exploding:
    """An object of which nothing can be asked."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__mro__"):
            return super().__getattribute__(name)
        raise RuntimeError("boom")


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(12), deadline=None)
@given(data=st.data())
def test_no_method_raises_whatever_it_is_given(method: str, data: st.DataObject) -> None:
    odd = st.sampled_from([*ODD_VALUES, Exploding()])
    arguments = data.draw(st.lists(odd, max_size=5))
    options = data.draw(st.dictionaries(st.sampled_from(["time", "labels", "bins", "boxes", "close"]), odd))
    run = FakeRun()

    getattr(run, method)(*arguments, **options)

    assert len(run.told) + len(run.observations) == 1
    for observation in run.observations:
        encode_or_say(observation)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(12), deadline=None)
@given(data=st.data())
def test_no_method_raises_for_an_odd_value(method: str, data: st.DataObject) -> None:
    run = FakeRun()
    value = data.draw(st.sampled_from([*ODD_VALUES, Exploding()]))

    if method in ("log_hparams", "log_layout"):
        getattr(run, method)(value)
    else:
        getattr(run, method)(0, "name", value)

    assert len(run.told) + len(run.observations) == 1
    for observation in run.observations:
        encode_or_say(observation)


def encode_or_say(observation: Any) -> None:
    with contextlib.suppress(InputError):  # a sentence for the user
        encoded(observation)


@settings(max_examples=examples(60), deadline=None)
@given(value=st.sampled_from([*ODD_VALUES, Exploding()]))
def test_run_log_takes_any_value(value: Any) -> None:
    run = FakeRun()
    run._observe_value(0, "name", value)

    assert len(run.told) + len(run.observations) == 1


def test_an_interrupt_goes_through() -> None:
    @never_raising
    class Interrupted(FakeRun):
        def log_wait(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted().log_wait()


def test_run_log_keeps_each_kind_of_value_as_what_it_is() -> None:
    run = FakeRun()
    for value in ("text", b"text", torch.rand(3, 8, 8), np.ones(3), [1, 2]):
        run._observe_value(1, "v", value)

    assert [seen.kind for seen in run.observations] == ["text", "text", "tensor", "tensor", "tensor"]


@given(name=st.text(st.characters(codec=None, categories=None), max_size=20))
def test_any_text_is_a_name(name: str) -> None:
    run = FakeRun()
    run.log_tensor(0, name, [1.0])

    assert run.only().name == name


# --- settings and layouts --------------------------------------------------------------------------------


def test_hyperparameters_are_kept_as_they_are() -> None:
    plain = {"lr": 0.1, "size": 3, "on": True, "name": "adam", "none": None}
    odd = {"nan": math.nan, "huge": 10**400, "array": np.float32(0.5), "tensor": torch.tensor(2)}
    nested = {"list": [1, 2], "model": {"depth": 4}, 7: "key"}
    metrics = {"acc": torch.tensor([0.5]), "loss": math.inf}

    head = logged(lambda run: run.log_hparams({**plain, **odd, **nested}, metrics)).head

    as_numbers = {"nan": None, "huge": None, "array": 0.5, "tensor": 2.0}
    assert head.hparams == {**plain, **as_numbers, "list": "[1, 2]", "model/depth": 4.0, "7": "key"}
    assert head.hparams["on"] is True
    assert head.metrics == {"acc": 0.5, "loss": None}


def test_what_argparse_gives_will_do() -> None:
    namespace = argparse.Namespace(lr=0.1, name="a\udc80")

    head = logged(lambda run: run.log_hparams(namespace)).head

    assert head.hparams == {"lr": 0.1, "name": "a\\udc80"}


def test_hyperparameters_that_cannot_be_are_told() -> None:
    assert "as a dict" in refused(lambda run: run.log_hparams(3))
    assert "metric 'acc'" in refused(lambda run: run.log_hparams({}, {"acc": "high"}))


def test_later_changes_of_the_dict_do_not_reach_the_run() -> None:
    run, settings_so_far = FakeRun(), {"lr": 0.1}
    run.log_hparams(settings_so_far)
    settings_so_far["lr"] = 5.0

    assert encoded(run.only()).head.hparams == {"lr": 0.1}


def test_a_layout_has_groups_of_lines_and_margins() -> None:
    layout = {"a": {"x": ["Multiline", ["p", "q"]], "y": ["Margin", ("v", "low", "high")]}, "b": {}}

    head = logged(lambda run: run.log_layout(layout)).head

    assert [group.title for group in head.groups] == ["a", "b"]
    assert [(chart.title, chart.form, chart.names) for chart in head.groups[0].charts] == [
        ("x", "lines", ["p", "q"]),
        ("y", "margin", ["v", "low", "high"]),
    ]


def test_a_layout_that_cannot_be_is_told() -> None:
    assert "Multiline" in refused(lambda run: run.log_layout(["a"]))
    assert "Multiline" in refused(lambda run: run.log_layout({"a": ["b"]}))
    assert "three names" in refused(lambda run: run.log_layout({"a": {"b": ["Margin", ["v"]]}}))
    assert "its form and its names" in refused(lambda run: run.log_layout({"a": {"b": ["Margin"]}}))


# --- The network and its moments, as a run keeps them beside the tensors of its layers ----------------


def scene_of(*names: str) -> NetScene:
    layers = [
        NetLayer(
            name=name,
            module="Linear",
            shape=[20],
            grid=grid_of([20]),
            variables=["Act"],
            place=Place(scale=2.0),
        )
        for name in names
    ]
    return NetScene(
        layers=layers, connections=[Connection(source=names[0], target=names[-1], form="conv", stride=[2, 1])]
    )


def test_a_scene_comes_back_as_it_was_and_the_last_one_holds(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log_netview(0, scene_of("a", "b"))
        run.log_netview(7, scene_of("a", "b", "é\ud800"))
    with tl.open_run(tmp_path / "a") as saved:
        reader = saved.reader()
        entries = reader.records("netview", "netview")
        assert [entry.step for entry in entries] == [0, 7]
        assert entries[-1].head == NetViewHead(num_layers=3, num_units=60)
        found = msgspec.json.decode(reader.data(record_id(entries[-1])) or b"", type=NetScene)
    assert [layer.name for layer in found.layers][:2] == ["a", "b"]
    assert found.layers[0] == scene_of("a", "b").layers[0]
    assert found.connections[0].stride == [2, 1]


def test_a_moment_has_its_counters_as_texts(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log_moment(3, {"epoch": 12, "name": "digit 3"})
    with tl.open_run(tmp_path / "a") as saved:
        (entry,) = saved.reader().records("moment", "netview")
    assert entry.step == 3
    assert entry.head == MomentHead(counters={"epoch": "12", "name": "digit 3"})


def test_what_is_no_scene_is_told_and_stops_nothing(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        with pytest.warns(tl.RunWarning, match="no scene"):
            run.log_netview(0, "a picture")  # type: ignore[arg-type]
        run.log_moment(1, {})
    with tl.open_run(tmp_path / "a") as saved:
        assert len(saved.reader().records("moment", "netview")) == 1


def test_neither_is_thinned_with_the_tensors(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a", max_bytes=20_000) as run:
        run.log_netview(0, scene_of("a", "b"))
        for step in range(50):
            run.log_tensor(step, "a.Act", [0.5] * 500)
            run.log_moment(step, {"trial": step})
    with tl.open_run(tmp_path / "a") as saved:
        reader = saved.reader()
        assert len(reader.records("netview", "netview")) == 1
        assert len(reader.records("moment", "netview")) == 50
        assert len(reader.records("tensor", "a.Act")) < 15


def test_the_layers_of_a_moment_stay_together_or_go_together(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a", max_bytes=60_000) as run:
        run.log_netview(0, scene_of("large", "small"))
        run.log_tensor(0, "large.weight", [1.0] * 100)
        for step in range(60):
            run.log_tensor(step, "large.Act", [0.5] * 700)
            run.log_tensor(step, "small.Act", [0.5] * 10)
            run.log_tensor(step, "aside", [0.5] * 5)
    with tl.open_run(tmp_path / "a") as saved:
        large, small, aside = (
            [record.step for record in saved.tensors(name)] for name in ("large.Act", "small.Act", "aside")
        )
        kept = [record for name in saved.names("tensor") for record in saved.tensors(name)]
        num_bytes = sum(record.array.nbytes for record in kept)
        assert len(saved.tensors("large.weight")) == 1
    assert large == small
    assert 3 < len(large) < 60
    assert (large[0], large[-1]) == (0, 59)
    assert len(aside) > len(large)
    assert num_bytes <= 60_000

"""The moments of a run: all at first, then what is new, and all again where some are gone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import torcheer as tl
from tests.app.net_runs import AskedRun, blocks_in, layer, scene
from tests.app.runs_page import page_on
from tests.app.watched_runs import only_id
from tests.run.handmade_part import HandmadePart
from torcheer.app.netview import net_values
from torcheer.run import Connection, MomentHead, TensorHead


def tensor_head(*shape: int, low: float = 0.0, high: float = 0.0) -> TensorHead:
    return TensorHead(
        shape=list(shape),
        dtype="float32",
        mean=0.0,
        std=0.0,
        min=low,
        max=high,
        num_zeros=0,
        num_nan=0,
        num_inf=0,
    )


def add_tensor(part: HandmadePart, name: str, step: int, value: float = 0.0) -> int:
    array = np.full((1, 3), value, "<f4")
    head = tensor_head(1, 3, low=value, high=value)
    return part.add_record("tensor", name, head, array.tobytes(), step, 1000.0 + step)


def test_moments_are_the_steps_of_all_layers_with_their_counters(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        connection = Connection(source="a", target="b", form="linear", weight="b.weight")
        run.log_netview(0, scene(layer("a", 3), layer("b", 3), connections=[connection]))
        run.log_tensor(4, "a.Act", np.full((1, 3), 2.0))
        run.log_tensor(2, "a.Act", np.full((1, 3), -1.0))
        run.log_tensor(7, "b.Net", np.full((1, 3), 9.0))
        run.log_tensor(4, "b.Act", np.full((1, 3), np.nan))
        run.log_tensor(5, "b.weight", np.full((3, 3), 0.5))  # no moment of the network
        run.log_tensor(6, "b.bias", np.zeros(3))
        run.log_moment(2, {"epoch": 1, "name": "first"})
        run.log_moment(7, {"epoch": 2, "trial": 30})
        run.log_moment(9, {"epoch": 3})  # of which there are no values
    (news,) = AskedRun(tmp_path).moments_news()
    assert (news["is_all"], news["steps"], news["is_running"]) == (True, [2, 4, 7], False)
    assert len(news["times"]) == 3
    assert news["times"][1] <= news["times"][0] <= news["times"][2]  # step 4 came before step 2
    assert news["counters"] == {"epoch": ["1", "", "2"], "name": ["first", "", ""], "trial": ["", "", "30"]}
    ranges = {one["variable"]: (one["low"], one["high"]) for one in news["ranges"]}
    assert ranges == {
        "Act": (-1.0, 2.0),
        "Net": (9.0, 9.0),
        "Bias": (0.0, 0.0),
        "r.Wt": (0.5, 0.5),
        "s.Wt": (0.5, 0.5),
    }


def test_only_what_is_new_is_said_and_all_again_where_something_came_between(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    for step in (0, 2, 4):
        add_tensor(part, "a.Act", step)
    asked = AskedRun(tmp_path)
    assert asked.moments_news()[0]["steps"] == [0, 2, 4]
    asked.look_anew()
    assert asked.moments_news() == []

    add_tensor(part, "a.Act", 6, value=5.0)
    part.add_record("moment", "netview", MomentHead(counters={"epoch": "1"}), b"", 6)
    asked.look_anew()
    (news,) = asked.moments_news()
    assert (news["is_all"], news["steps"], news["counters"]) == (False, [6], {"epoch": ["1"]})
    assert news["ranges"] == [{"variable": "Act", "low": 0.0, "high": 5.0}]

    add_tensor(part, "a.Act", 3)
    asked.look_anew()
    (news,) = asked.moments_news()
    assert (news["is_all"], news["steps"]) == (True, [0, 2, 3, 4, 6])
    assert news["counters"] == {"epoch": ["", "", "", "", "1"]}

    part.add_record("moment", "netview", MomentHead(counters={"epoch": "0"}), b"", 2)
    asked.look_anew()
    (news,) = asked.moments_news()
    assert (news["is_all"], news["counters"]) == (True, {"epoch": ["", "0", "", "", "1"]})


def test_what_was_thinned_or_taken_back_is_gone_and_all_comes_anew(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    records = [add_tensor(part, "a.Act", step, value=step) for step in range(5)]
    asked = AskedRun(tmp_path)
    asked.moments_news()

    add_tensor(part, "a.Act", 5, value=5.0)
    part.thin(records[2])
    asked.look_anew()
    (news,) = asked.moments_news()
    assert (news["is_all"], news["steps"]) == (True, [0, 1, 3, 4, 5])
    assert asked.values("a", step=2)["a"].said["low"] == 1.0
    assert asked.unit_series("a", 0)["Act"][0].tolist() == [0, 1, 3, 4, 5]

    part.run("DELETE FROM records WHERE step >= 4")
    part.run("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    asked.look_anew()
    (news,) = asked.moments_news()
    assert (news["is_all"], news["steps"]) == (True, [0, 1, 3])
    assert news["ranges"] == [{"variable": "Act", "low": 0.0, "high": 3.0}]


def test_many_moments_come_in_several_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tl.Run(tmp_path) as run:
        for step in range(25):
            run.log_tensor(step, "a.Act", np.zeros((1, 3)))
            run.log_moment(step, {"trial": step})
    monkeypatch.setattr(net_values, "_CHUNK", 10)
    news = AskedRun(tmp_path).moments_news()
    assert [one["is_all"] for one in news] == [True, False, False]
    assert [step for one in news for step in one["steps"]] == list(range(25))
    assert [text for one in news for text in one["counters"]["trial"]] == [str(step) for step in range(25)]
    monkeypatch.setattr(net_values, "_MAX_MOMENTS", 5)
    assert AskedRun(tmp_path).moments_news()[0]["steps"] == [20, 21, 22, 23, 24]


def test_records_are_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = HandmadePart(tmp_path)
    for step in range(20):
        add_tensor(part, "a.Act", step)
    asked = AskedRun(tmp_path)
    asked.moments_news()
    taken: list[int] = []
    plain = asked.nets._of(asked.run.look()).index
    monkeypatch.setattr(plain, "_take", _counting(plain._take, taken))
    add_tensor(part, "a.Act", 20)
    add_tensor(part, "b.Act", 21)
    asked.look_anew()
    assert asked.moments_news()[0]["steps"] == [20, 21]
    assert len(taken) == 2


def _counting(function, counted):  # type: ignore[no-untyped-def]
    def call(*arguments: object) -> object:
        counted.append(1)
        return function(*arguments)

    return call


def test_a_moment_that_is_being_written_waits_for_its_counters(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        for step in range(3):
            run.log_tensor(step, "a.Act", np.zeros((1, 3)))
            run.log_moment(step, {"trial": step})
        run.log_tensor(3, "a.Act", np.zeros((1, 3)))
        run.flush()
        asked = AskedRun(tmp_path)
        assert asked.moments_news()[0]["steps"] == [0, 1, 2]
        run.log_moment(3, {"trial": 3})
        run.log_tensor(4, "a.Act", np.zeros((1, 3)))
        run.flush()
        asked.look_anew()
        (news,) = asked.moments_news()
        assert (news["is_all"], news["steps"], news["counters"]) == (False, [3], {"trial": ["3"]})
    asked.look_anew()
    assert asked.moments_news()[0]["steps"] == [4]  # it never had any


def test_the_numbers_of_an_input_do_not_drown_those_of_the_layers(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        ids, words = layer("ids", 3, is_input=True), layer("words", 3, variables=("Act", "Net"))
        run.log_netview(0, scene(ids, words))
        run.log_tensor(0, "ids.Act", np.array([[7, 50_256, 3]]))
        run.log_tensor(0, "words.Act", np.array([[-0.5, 0.25, 0.5]]))
    variables = AskedRun(tmp_path).variables()
    assert (variables["Act"]["low"], variables["Act"]["high"]) == (-0.5, 0.5)


def test_the_range_of_what_only_an_input_has_is_its_own(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("ids", 3, is_input=True)))
        run.log_tensor(0, "ids.Act", np.array([[7, 50_256, 3]]))
    variables = AskedRun(tmp_path).variables()
    assert (variables["Act"]["low"], variables["Act"]["high"]) == (3, 50_256)


def test_a_page_follows_a_network_while_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.netview.net_values._PUSH_SECONDS", 0.02)
    weight = np.arange(6.0).reshape(2, 3)
    connection = Connection(source="x", target="fc", form="linear", weight="fc.weight")
    with tl.Run(tmp_path / "run") as run:
        run.log_netview(0, scene(layer("x", 3), layer("fc", 2), connections=[connection]))
        run.log_tensor(0, "fc.weight", weight)
        run.log_tensor(0, "x.Act", np.array([[1.0, 2.0, 3.0]]))
        run.log_moment(0, {"epoch": 0})
        run.flush()
        with page_on(tmp_path) as page:
            of_run = {"run_id": only_id(page), "rank": 0}
            network = page.begin("net_scene", **of_run)
            answer = page.hear(network).answer
            assert (answer["type"], answer["source"]) == ("net_scene", "netview")
            assert [one["name"] for one in answer["variables"]] == ["Act", "r.Wt", "s.Wt"]
            moments = page.begin("net_moments", **of_run)
            answer = page.hear(moments).answer
            assert (answer["is_all"], answer["steps"], answer["is_running"]) == (True, [0], True)
            assert answer["counters"] == {"epoch": ["0"]}

            run.log_moment(1, {"epoch": 1})
            run.log_tensor(1, "x.Act", np.array([[-1.0, 0.0, 4.0]]))
            run.flush()
            steps = []
            while 1 not in steps:
                steps = page.hear(moments).answer["steps"]

            asked = {"step": 1, "item": 0}
            head, data = page.once("net_values", variable="Act", layers=["x", "fc"], **of_run, **asked)
            assert head["type"] == "net_values"
            blocks = blocks_in(head, data)
            assert blocks["x"].values.tolist() == pytest.approx([-1, 0, 4], abs=1e-4)
            assert blocks["fc"].said["num_units"] == 0
            unit = page.once("net_unit", layer="x", unit=2, **of_run, **asked).answer
            assert (unit["values"], unit["steps"]) == ({"Act": 4.0}, {"Act": 1})
            head, data = page.once(
                "net_weights", layer="fc", unit=1, direction="received", variable="Wt", **of_run, **asked
            )
            assert blocks_in(head, data)["x"].values.tolist() == pytest.approx([3, 4, 5], abs=1e-4)
            series = {"layer": "x", "unit": 0, "item": 0, "low": None, "high": None, "most": 100}
            head, data = page.once("net_unit_series", **of_run, **series)
            assert np.frombuffer(data).tolist() == [0, 1, 1, -1]
            raster = {"variable": "Act", "layers": ["x"], "num_moments": 4}
            head, data = page.once("net_raster", **of_run, **asked, **raster)
            assert (head["steps"], len(data)) == ([0, 1], 12)

            refused = page.refused("net_unit", layer="x", unit=3, **of_run, **asked)
            assert "3 units: there is no unit 3" in refused
            assert "no longer in the folder" in page.refused(
                "net_values", variable="Act", layers=[], run_id="none", rank=0, **asked
            )
            assert "no longer in the folder" in page.refused("net_scene", run_id="none", rank=0)
            page.stop(network)
            run.close()
            while page.hear(moments).answer["is_running"]:
                pass

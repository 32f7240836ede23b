"""A NetView through a real socket: a page hears of the network, follows its moments and asks for values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import torcheer as tl
from tests.app.following import page_on
from tests.app.net_runs import blocks_in, layer, scene
from tests.app.watched_runs import only_id
from torcheer.run import Connection


def test_a_page_follows_a_network_while_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.net.follow._PUSH_SECONDS", 0.02)
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

"""A network as one HTML file: what is in it, what is not, how large it is, and how a notebook shows it."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import nn

import torcheer as tl
from tests.app.html_pages import HOSTILE, STANDIN, Elements
from tests.app.net_runs import layer, scene
from torcheer.app.netview import net_page as pages
from torcheer.app.netview.net_messages import LEVELS
from torcheer.app.netview.net_page import moments_in_order, net_file_page, show_net, wishes, write_net_page
from torcheer.app.passes.pass_page import one_file_page
from torcheer.capture.page_source import HistorySource
from torcheer.errors import InputError

NUM_MOMENTS = 9


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 6 * 6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc(torch.relu(self.conv(x)).flatten(1))
        return out


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tl.NetView]:
    torch.manual_seed(0)
    model, x = Small(), torch.randn(3, 2, 6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    made = tl.NetView(
        model,
        x,
        run=tmp_path_factory.mktemp("runs") / "small",
        loss=lambda y: (y**2).mean(),
        optimizer=optimizer,
    )
    for epoch in range(1, NUM_MOMENTS):
        (model(x) ** 2).mean().backward()
        optimizer.step()
        made.update(epoch=epoch)
    made.run.flush()  # type: ignore[union-attr]
    yield made
    made.close()


def data_in(html: str) -> Any:
    return json.loads(Elements(html).named("torcheer-net"))


def page_of(view: tl.NetView, max_bytes: int = 20_000_000) -> str:
    return net_file_page(view.run.path, max_bytes=max_bytes, bundle=STANDIN)


def numbers_of(piece: dict[str, Any]) -> np.ndarray:
    data = base64.b64decode(piece["data"])
    data = zlib.decompress(data) if piece.get("deflated") else data
    numbers = np.frombuffer(data, f"<{piece['encoding']}")
    assert len(numbers) == piece["count"]
    if piece["encoding"] == "u2":
        return np.asarray(piece["low"] + numbers / LEVELS * (piece["high"] - piece["low"]))
    return numbers


def compare(view: tl.NetView, data: Any, tolerance: float) -> int:
    """Every value in the file with what the run holds of it; how many were held against each other."""
    layers = data["scene"]["scene"]["layers"]
    num = 0
    for frame in data["frames"]:
        for one, number in zip(layers, frame["pieces"], strict=True):
            if not isinstance(number, int) or frame["variable"] == "Bias":
                continue
            name = f"{one['name']}.{frame['variable']}"
            held = view.values(name, step=frame["step"], item=frame["item"]).ravel()
            found = numbers_of(data["pieces"][number])
            assert np.allclose(found, held, rtol=0, atol=tolerance * np.ptp(held)), name
            num += held.size
    return num


# --- what is in it ---------------------------------------------------------------------------------


def test_everything_is_in_a_file_with_room_for_it_and_exact(view: tl.NetView) -> None:
    data = data_in(page_of(view))

    assert data["is_exact"] is True
    assert data["scene"]["note"] == ""
    assert data["moments"]["steps"] == list(range(NUM_MOMENTS))
    assert data["moments"]["counters"]["epoch"] == ["", *map(str, range(1, NUM_MOMENTS))]
    assert data["moments"]["is_running"] is False
    variables = {name for one in data["scene"]["scene"]["layers"] for name in one["variables"]}
    there = {(one["step"], one["variable"], one["item"]) for one in data["frames"]}
    assert there == {(s, v, i) for s in range(NUM_MOMENTS) for v in variables for i in range(3)}
    assert compare(view, data, 0.0) > 10_000


def test_weights_are_those_of_the_moment_and_each_record_is_there_once(view: tl.NetView) -> None:
    data = data_in(page_of(view))

    assert set(data["weights"]) == {"conv.weight", "fc.weight"}
    has_axes = [axes is not None for axes in data["axes"]]
    assert has_axes == [bool(one["weight"]) for one in data["scene"]["scene"]["connections"]]
    of_weights = [one for one in data["weight_frames"] if one["variable"] == "Wt"]
    assert {one["step"] for one in of_weights} == set(range(NUM_MOMENTS))
    for frame in of_weights:
        for name, number in zip(data["weights"], frame["pieces"], strict=True):
            piece = data["pieces"][number]
            held = view.values(name, step=frame["step"])
            assert np.array_equal(numbers_of(piece), held.ravel())
    assert len({json.dumps(piece) for piece in data["pieces"]}) > len(data["pieces"]) * 0.9
    biases = {
        tuple(one["pieces"]) for one in data["frames"] if one["variable"] == "Bias" and one["step"] == 3
    }
    assert len(biases) == 1  # one for all items


@pytest.mark.parametrize("max_bytes", [60_000, 100_000, 160_000])
def test_a_smaller_file_has_the_last_moments_rounded_and_says_so(view: tl.NetView, max_bytes: int) -> None:
    html = page_of(view, max_bytes)

    assert len(html.encode()) <= max_bytes
    data = data_in(html)
    assert data["is_exact"] is False
    assert "rounded" in data["scene"]["note"]
    steps = data["moments"]["steps"]
    assert steps[-2:] == [NUM_MOMENTS - 2, NUM_MOMENTS - 1]
    assert len(data["moments"]["times"]) == len(data["moments"]["counters"]["epoch"]) == len(steps)
    if len(steps) < NUM_MOMENTS:
        assert f"{len(steps)} of {NUM_MOMENTS} moments" in data["scene"]["note"]
    main = {one["step"] for one in data["frames"] if one["variable"] == "Act" and one["item"] == 0}
    assert main == set(steps)
    assert compare(view, data, 0.51 / LEVELS + 1e-7) > 500


def test_variables_of_which_nothing_has_room_are_named_and_not_offered(view: tl.NetView) -> None:
    every = [one["name"] for one in data_in(page_of(view))["scene"]["variables"]]

    data = data_in(page_of(view, 24_000))

    there = [one["name"] for one in data["scene"]["variables"]]
    assert there[0] == "Act"
    assert 0 < len(there) < len(every)
    left_out = [name for name in every if name not in there]
    assert f"Not in it: {', '.join(left_out)}." in data["scene"]["note"]


@pytest.mark.filterwarnings("ignore:there are no values")
@pytest.mark.parametrize("max_bytes", [0, 5_000, 12_000, 20_000, 40_000, 300_000, 1_000_000])
def test_a_page_is_not_larger_than_it_may_be(view: tl.NetView, max_bytes: int) -> None:
    structure = len(page_of(view, 0).encode())

    html = page_of(view, max_bytes)

    assert len(html.encode()) <= max(max_bytes, structure + 500)
    assert [one["name"] for one in data_in(html)["scene"]["scene"]["layers"]] == ["x", "conv", "fc"]


def test_without_values_the_last_moment_is_there_to_say_so(view: tl.NetView) -> None:
    data = data_in(page_of(view, 0))

    assert data["frames"] == data["pieces"] == []
    assert data["moments"]["steps"] == [NUM_MOMENTS - 1]
    assert f"0 of {NUM_MOMENTS} moments" in data["scene"]["note"]


def test_of_a_network_that_is_too_large_the_small_layers_go_in(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "large") as run:
        run.log_netview(0, scene(layer("large", 100_000), layer("small", 50)))
        run.log_tensor(0, "large.Act", np.random.default_rng(0).normal(size=(1, 100_000)))
        run.log_tensor(0, "small.Act", np.arange(50.0)[None])

    data = data_in(net_file_page(tmp_path / "large", max_bytes=30_000, bundle=STANDIN))

    [frame] = data["frames"]
    assert frame["pieces"][0] is None
    assert np.allclose(numbers_of(data["pieces"][frame["pieces"][1]]), np.arange(50.0), atol=1e-3)


def test_a_weight_that_is_too_large_is_named(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 200), nn.Tanh(), nn.Linear(200, 300), nn.Tanh(), nn.Linear(300, 2))
    with tl.NetView(model, torch.randn(1, 4), run=tmp_path / "heavy") as view:
        view.run.flush()  # type: ignore[union-attr]
        data = data_in(page_of(view, 60_000))

    assert "Not in it: 2.weight." in data["scene"]["note"]
    at = data["weights"].index("2.weight")
    assert [one["pieces"][at] for one in data["weight_frames"]] == [None]
    assert isinstance(data["weight_frames"][0]["pieces"][data["weights"].index("0.weight")], int)


def test_values_are_exact_where_they_fit_when_they_are_deflated(tmp_path: Path) -> None:
    values = np.zeros((1, 10_000), dtype=np.float32)
    with tl.Run(tmp_path / "sparse") as run:
        run.log_netview(0, scene(layer("sparse", 10_000)))
        for step in range(10):
            values[0, step * 7] = 0.1 * step
            run.log_tensor(step, "sparse.Act", values)

    html = net_file_page(tmp_path / "sparse", max_bytes=60_000, bundle=STANDIN)

    data = data_in(html)
    assert data["is_exact"] is True
    assert data["scene"]["note"] == ""
    assert data["moments"]["steps"] == list(range(10))
    assert np.array_equal(numbers_of(data["pieces"][data["frames"][0]["pieces"][0]]), values[0])


def test_a_weight_that_takes_most_of_the_room_is_in_a_file_with_room_for_all(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(100, 200))
    with tl.NetView(model, torch.randn(1, 100), run=tmp_path / "heavy") as view:
        view.run.flush()  # type: ignore[union-attr]
        data = data_in(page_of(view, 130_000))

    assert data["is_exact"] is True
    assert data["scene"]["note"] == ""
    held = numbers_of(data["pieces"][data["weight_frames"][0]["pieces"][0]])
    assert np.array_equal(held, model[0].weight.detach().numpy().ravel())


def test_a_page_without_room_for_any_values_says_so_in_python_too(view: tl.NetView) -> None:
    with pytest.warns(tl.RunWarning, match=r"max_bytes is 5,000, and the page without them takes \d"):
        note = data_in(page_of(view, 5_000))["scene"]["note"]
    assert f"0 of {NUM_MOMENTS} moments" in note
    assert "rounded" not in note


def test_whole_numbers_of_eight_bytes_and_what_is_no_number_stay_as_they_are(tmp_path: Path) -> None:
    large = np.array([[2**40 + 1, 7, -3]])
    odd = np.array([[np.nan, np.inf, -1.5]], dtype=np.float32)
    with tl.Run(tmp_path / "odd") as run:
        run.log_netview(0, scene(layer("a", 3), layer("b", 3)))
        run.log_tensor(0, "a.Act", large)
        run.log_tensor(0, "b.Act", odd)

    data = data_in(net_file_page(tmp_path / "odd", bundle=STANDIN))

    first, second = (data["pieces"][number] for number in data["frames"][0]["pieces"])
    assert first["encoding"] == "f8"
    assert np.array_equal(numbers_of(first), large[0])
    assert np.array_equal(numbers_of(second), odd[0], equal_nan=True)


def test_a_run_of_a_watched_training_or_of_plain_tensors_is_shown_too(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "plain") as run:
        for step in range(3):
            run.log_tensor(step, "hidden.Act", torch.full((2, 4), float(step)))

    data = data_in(net_file_page(tmp_path / "plain", bundle=STANDIN))

    assert data["scene"]["source"] == "names"
    assert data["moments"]["steps"] == [0, 1, 2]
    assert {one["item"] for one in data["frames"]} == {0, 1}


# --- nothing becomes markup --------------------------------------------------------------------------


def test_hostile_names_arrive_as_text_and_change_nothing_in_the_markup(
    tmp_path: Path, view: tl.NetView
) -> None:
    name = HOSTILE.replace("\ud800", "").replace("\0", "")
    with tl.Run(tmp_path / "hostile") as run:
        run.log_netview(0, scene(layer(name, 3)))
        run.log_tensor(0, f"{name}.Act", torch.ones(1, 3))
        run.log_moment(0, {name: name})

    html = net_file_page(tmp_path / "hostile", bundle=STANDIN)

    plain, hostile = Elements(page_of(view)), Elements(html)
    assert [tag for tag, _, _ in hostile.found] == [tag for tag, _, _ in plain.found]
    assert not set("<>&\u2028\u2029") & set(hostile.named("torcheer-net"))
    data = data_in(html)
    assert data["scene"]["scene"]["layers"][0]["name"] == name
    assert data["frames"][0]["pieces"] == [0]


def test_its_policy_is_that_of_the_page_of_a_pass(view: tl.NetView) -> None:
    history = tl.log_forward_pass(Small(), torch.randn(1, 2, 6, 6))
    of_pass = one_file_page(HistorySource(history), bundle=STANDIN)

    policies = [
        re.findall(r'Content-Security-Policy" content="([^"]*)"', html) for html in (of_pass, page_of(view))
    ]

    assert policies[0] == policies[1]
    assert "connect-src 'none'" in policies[0][0]


def test_a_file_does_not_say_on_which_machine_or_where_it_was_made(view: tl.NetView) -> None:
    html = page_of(view)

    assert data_in(html)["runs"]["runs"][0]["host"] == ""
    assert str(view.run.path.parent) not in html


# --- showing it ---------------------------------------------------------------------------------------


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_bundle", lambda _: STANDIN)


@pytest.mark.usefixtures("standin")
def test_a_view_is_written_to_a_file(view: tl.NetView, tmp_path: Path) -> None:
    path = tmp_path / "net.html"

    assert view.write_html(path) == str(path)
    assert data_in(path.read_text(encoding="utf-8"))["runs"]["runs"][0]["name"] == "small"
    with pytest.raises(InputError, match=r"netview\.html"):
        write_net_page(view.run.path, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="max_bytes"):
        view.write_html(path, max_bytes=-1)


@pytest.mark.usefixtures("standin")
def test_a_file_that_takes_long_to_write_shows_a_bar_on_a_terminal(
    view: tl.NetView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("torcheer.graph.progress_bars._PATIENCE_SECONDS", -1.0)
    view.write_html(tmp_path / "net.html")
    assert capsys.readouterr().err == ""  # no terminal

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    view.write_html(tmp_path / "net.html")
    assert "writing the page" in capsys.readouterr().err


@pytest.mark.usefixtures("standin")
def test_what_was_recorded_just_now_is_in_the_file(tmp_path: Path) -> None:
    with tl.NetView(Small(), torch.randn(1, 2, 6, 6), run=tmp_path / "now") as view:
        last = view.update(name="now")

        data = data_in(Path(view.write_html(tmp_path / "net.html")).read_text(encoding="utf-8"))

    assert data["moments"]["steps"][-1] == last
    assert data["moments"]["counters"]["name"][-1] == "now"


@pytest.mark.usefixtures("standin")
def test_a_notebook_shows_it_in_a_frame_that_reaches_nothing_around_it(
    view: tl.NetView, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(pages, "in_notebook", lambda: True)
    monkeypatch.setattr(pages, "address_of", lambda *_: pytest.fail("nothing is served"))
    monkeypatch.setattr("torcheer.app.html_page.display_inline", shown.append)

    assert view.show() is None

    [(attrs, _)] = Elements(shown[0]._repr_html_()).all("iframe")
    assert attrs["sandbox"] == "allow-scripts"
    assert attrs["title"] == "A network and its values"
    assert data_in(str(attrs["srcdoc"]))["moments"]["steps"] == list(range(NUM_MOMENTS))


def test_elsewhere_the_served_page_is_opened(
    view: tl.NetView, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(pages, "net_address", lambda folder: f"http://here/{Path(folder).name}#netview")
    monkeypatch.setattr("torcheer.app.server.open_in_browser", opened.append)

    assert show_net(view.run.path) == "http://here/small#netview"

    assert opened == ["http://here/small#netview"]
    assert "http://here/small#netview" in capsys.readouterr().out


@given(st.integers(0, 3000))
def test_moments_come_once_each_the_last_first(num_moments: int) -> None:
    order = moments_in_order(num_moments)

    assert sorted(order) == list(range(num_moments))
    assert order[:2] == [num_moments - 1, 0][: min(2, num_moments)]


@given(st.integers(40, 3000), st.integers(8, 30))
def test_the_nearer_to_the_last_moment_the_denser(num_moments: int, num_kept: int) -> None:
    kept = sorted(moments_in_order(num_moments)[:num_kept])

    half = num_moments // 2
    assert sum(one >= half for one in kept) >= sum(one < half for one in kept) - 1
    assert num_moments - 2 in kept


def test_of_what_is_wanted_the_main_values_of_a_moment_come_before_all_else_of_it() -> None:
    wanted = wishes(50, ["Act", "Net", "Grad"], ["Wt", "Grad"], 4)

    assert wanted[0] == (49, "Act", 0, False)
    assert len(set(wanted)) == len(wanted) == 50 * (3 * 4 + 2)
    seen = set()
    for wish in wanted:
        if (wish.variable, wish.item, wish.is_of_weights) == ("Act", 0, False):
            seen.add(wish.moment)
        assert wish.moment in seen


def test_very_many_moments_and_items_are_not_all_gone_through() -> None:
    assert len(wishes(200_000, ["Act"] * 20, ["Wt"] * 5, 100_000)) < 200_000

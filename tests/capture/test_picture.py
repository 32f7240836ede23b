"""Pictures from a model: where they go, what is said, how they are coloured; and nothing else changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models.registry import module_with
from tests.capture.outcomes import Does
from torcheer.errors import InputError
from torcheer.graph.drawing import picture


@module_with(lambda: {"first": nn.Linear(4, 8), "norm": nn.BatchNorm1d(8), "drop": nn.Dropout(0.5)})
def small(self, x: Tensor) -> Tensor:
    return torch.relu(self.drop(self.norm(self.first(x))))


X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")  # opens no window, whoever runs this
    return tmp_path


@pytest.mark.parametrize("vis_opt", ["rolled", "unrolled"])
def test_vis_opt_draws_the_pass_and_says_where_it_is(
    vis_opt: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history = tl.log_forward_pass(small().eval(), X, vis_opt=vis_opt)

    assert "is in modelgraph.svg" in capsys.readouterr().err
    svg = (tmp_path / "modelgraph.svg").read_text(encoding="utf-8")
    assert all(label in svg for label in history.layer_labels_no_pass if not label.startswith("buffer"))


def test_without_vis_opt_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tl.log_forward_pass(small(), X)

    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("save_only", [False, True])
def test_the_picture_is_opened_where_it_can_be_seen_unless_it_is_only_saved(
    save_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("torcheer.capture.draw_pass.open_in_browser", opened.append)

    tl.log_forward_pass(small(), X, vis_opt="unrolled", vis_outpath="a net.svg", vis_save_only=save_only)

    assert opened == ([] if save_only else [(tmp_path / "a net.svg").as_uri()])


def test_an_option_without_vis_opt_is_said_to_do_nothing(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="vis_outpath: nothing is drawn unless vis_opt"):
        tl.log_forward_pass(small(), X, vis_outpath="net.svg")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "magic"), [("net.svg", b"<"), ("net.png", b"\x89PNG"), ("net.pdf", b"%PDF"), ("net", b"<")]
)
def test_the_three_calls_take_the_same_options(name: str, magic: bytes, tmp_path: Path) -> None:
    options: Any = {
        "vis_outpath": name,
        "vis_save_only": True,
        "vis_nesting_depth": 1,
        "vis_direction": "leftright",
    }
    target = tmp_path / (name if "." in name else f"{name}.svg")
    contents = []
    for draw in (
        lambda: tl.log_forward_pass(small(), X, vis_opt="unrolled", random_seed=1, **options),
        lambda: tl.log_forward_pass(small(), X, random_seed=1).draw(**options),
        lambda: tl.show_model_graph(small(), X, random_seed=1, **options),
    ):
        draw()
        contents.append(target.read_bytes())
        target.unlink()

    assert all(content.startswith(magic) for content in contents)


def test_a_wrong_option_is_found_before_the_model_runs() -> None:
    class Runs(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise AssertionError("ran")

    with pytest.raises(InputError, match="vis_direction"):
        tl.log_forward_pass(Runs(), X, vis_opt="unrolled", vis_direction="sideways")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="vis_nesting_depth"):
        tl.show_model_graph(Runs(), X, vis_nesting_dept=2)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="not there"):
        tl.log_forward_pass(Runs(), X, vis_opt="rolled", vis_outpath="nowhere/net.svg")


def test_show_model_graph_leaves_the_model_and_the_generator_as_they_were() -> None:
    model = small()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()

    tl.show_model_graph(model, X)

    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_a_function_of_an_op_gives_the_colours() -> None:
    history = tl.log_forward_pass(small().eval(), X)

    by_colour = history.draw(vis_color_by=lambda op: "#12ab34" if op.layer_type == "linear" else None)
    by_number = history.draw(vis_color_by=lambda op: float(op.tensor_contents.float().mean()))

    assert by_colour.svg.count("#12ab34") >= 1
    assert by_number.svg != history.draw().svg


def test_a_function_that_gives_something_else_is_named() -> None:
    history = tl.log_forward_pass(small(), X)

    with pytest.raises(InputError, match=r"vis_color_by gave .* for input_1_0"):
        history.draw(vis_color_by=lambda op: object())  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("metric", "title"),
    [
        ("time", "time"),
        ("memory", "size of the output"),
        ("flops", "FLOPs"),
        ("zeros", "share of zeros"),
    ],
)
def test_every_metric_has_its_scale_in_the_legend(metric: Any, title: str) -> None:
    history = tl.log_forward_pass(small(), X)

    picture = history.draw(vis_color_by=metric)

    assert f">{title}" in picture.svg


def test_zeros_are_those_of_the_values() -> None:
    history = tl.log_forward_pass(nn.ReLU(), torch.tensor([-1.0, -2.0, 3.0, 0.0]))
    from torcheer.capture.draw_pass import figures_of

    figures, _ = figures_of(history, "zeros")

    assert figures == [0.25, 0.75, 0.75]


def test_colours_that_cannot_be_had_are_said_to_be_missing() -> None:
    history = tl.log_forward_pass(small(), X, layers_to_save="none")

    with pytest.warns(UserWarning, match="colours nothing: no value was saved"):
        history.draw(vis_color_by="zeros")


def test_an_error_of_the_function_names_the_op() -> None:
    history = tl.log_forward_pass(small(), X, layers_to_save="none")

    with pytest.raises(AttributeError) as caught:
        history.draw(vis_color_by=lambda op: op.tensor_contents.mean())

    assert caught.value.__notes__ == ["torcheer: raised by vis_color_by for input_1_0"]


@pytest.mark.parametrize("name", ["net.jpg", "net.EPS", "a\0b.svg"])
def test_a_format_that_is_not_written_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"SVG|path of a file"):
        tl.show_model_graph(small(), X, vis_outpath=name)


def test_a_png_that_is_smaller_than_it_should_be_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tenth of what is borne, and of what is drawn: one of the largest takes seconds.
    monkeypatch.setattr(picture, "PNG_MAX_SIDE", picture.PNG_MAX_SIDE // 10)
    tl.show_model_graph(Does(lambda x: torch.stack([x + i for i in range(20)])), X, vis_outpath="wide.png")

    assert "SVG or PDF keep every detail" in capsys.readouterr().err


def test_a_loaded_pass_and_a_shape_only_one_can_be_drawn(tmp_path: Path) -> None:
    history = tl.log_forward_pass(small(), X)
    history.save(tmp_path / "pass.safetensors")

    loaded = tl.load_history(tmp_path / "pass.safetensors").draw().svg
    assert without_lines(loaded) == without_lines(history.draw().svg)
    shapes = tl.log_forward_pass(small().to("meta"), X.to("meta"))
    assert "linear_1_1" in shapes.draw(vis_color_by="memory").svg


def without_lines(svg: str) -> str:
    return re.sub("<title>.*?</title>", "", svg, flags=re.S)


def test_a_pass_that_raised_is_drawn_up_to_where_it_came() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.log_forward_pass(Does(lambda x: x.exp() @ torch.ones(9, 9)), X)
    history = caught.value.history  # type: ignore[attr-defined]

    assert "exp_1" in history.draw().svg

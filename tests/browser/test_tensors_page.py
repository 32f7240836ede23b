"""The page of tensors: any tensor at any step, to the last digit, and two steps against each other."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import expect_equal, expect_param, go_to
from tests.browser.screen import number_in
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

STEPS = (0, 10, 20, 30)
HOSTILE = "<img src=x onerror=alert(1)>"


def weight(step: int) -> NDArray[np.float32]:
    return np.random.default_rng(step).normal(0, 1 + step, (6, 9)).astype(np.float32)


def grads(step: int) -> NDArray[np.float64]:
    return np.random.default_rng(step).normal(step, 1, 500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    with tl.Run(root / "first") as run:
        for step in STEPS:
            run.log_tensor(step, "block.0.weight", weight(step))
            bias = torch.arange(8, dtype=torch.bfloat16) + step
            if step == 20:
                bias[3] = float("nan")
            run.log_tensor(step, "block.0.bias", bias)
            run.log_tensor(step, "block.1/out", np.full((3, 2, 4, 4), step, dtype=np.int32))
            run.log_histogram(step, "grads", grads(step), bins=20)
        run.log_tensor(0, HOSTILE, np.zeros((2, 2)))
        run.log_tensor(0, "changing", np.zeros((2, 3), dtype=np.float32))
        run.log_tensor(1, "changing", np.zeros((3, 2), dtype=np.float32))
    return root


class Tensors:
    """The page as a person reads it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tree = page.get_by_role("tree", name="Tensors")
        self.exact = page.get_by_test_id("exact-value")
        self.steps = page.get_by_role("toolbar", name="Steps")

    def figure(self, name: str) -> Locator:
        return self.page.locator(f"[data-figure={name}]")

    def item(self, title: str) -> Locator:
        return self.tree.get_by_role("treeitem").filter(
            has=self.page.locator(".name", has_text=re.compile(f"^{re.escape(title)}$"))
        )


def open_tensors(page: Page, serving: Serving, query: str) -> Tensors:
    go_to(page, serving, f"tensors?{query}")
    tensors = Tensors(page)
    expect(tensors.tree).to_be_visible()
    return tensors


def expect_number(shown: Locator, wanted: float, rel: float = 1e-3) -> None:
    expect_equal(lambda: number_in(shown.inner_text()), pytest.approx(wanted, rel=rel, abs=1e-6))


def test_names_are_a_tree_with_shapes_types_and_a_mark_for_nan(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "")

    expect(tensors.item("weight")).to_contain_text("6×9 float32")
    expect(tensors.item("bias")).to_contain_text("8 bfloat16")
    expect(tensors.item("bias")).to_contain_text("NaN")
    expect(tensors.item("weight")).not_to_contain_text("NaN")
    expect(tensors.item("grads")).to_contain_text("histogram")
    expect(tensors.item(HOSTILE)).to_be_visible()
    looked.get_by_role("textbox", name="Filter tensors").fill("bias")
    expect(tensors.tree.get_by_role("treeitem")).to_have_count(1)
    looked.get_by_role("textbox", name="Filter tensors").fill("")


def test_the_last_step_is_shown_first_and_each_step_to_the_last_digit(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.0.weight")

    for press, step in ((None, 30), ("ArrowLeft", 20), ("Home", 0), ("ArrowRight", 10), ("End", 30)):
        if press is not None:
            looked.keyboard.press(press)
        expect(tensors.steps).to_contain_text(f"Step {step}")
        expect(tensors.exact).to_have_text(re.compile(rf"^\[0, 0\] = {number_text(weight(step)[0, 0])}$"))
        expect_number(tensors.figure("max"), weight(step).max())


def number_text(value: np.float32) -> str:
    """The fewest digits that tell it from its neighbours, as numpy writes it."""
    return re.escape(np.format_float_positional(value, unique=True, trim="-").replace("-", "−"))


def test_two_steps_are_compared_as_numpy_does_also_after_a_reload(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.0.weight&step=30")
    expect(tensors.steps).to_contain_text("Step 30")
    expect(tensors.exact).to_be_visible()
    looked.keyboard.press("x")

    a, b = weight(30).astype(np.float64), weight(0).astype(np.float64)
    expect(tensors.figure("compared")).to_have_text("54")
    expect_number(tensors.figure("largest"), np.abs(a - b).max())
    expect_number(tensors.figure("correlation"), np.corrcoef(a.ravel(), b.ravel())[0, 1])

    looked.get_by_role("button", name="B one step on").click()
    expect_param(looked, "with", "10")
    wanted = np.abs(a - weight(10)).max()
    expect(tensors.figure("largest")).to_have_text(re.compile(f"^{wanted:.4g}"[:5]))
    looked.reload()
    expect(tensors.figure("largest")).to_have_text(re.compile(f"^{wanted:.4g}"[:5]))


def test_tensors_of_different_shapes_are_not_compared(looked: Page, serving: Serving) -> None:
    open_tensors(looked, serving, "tensor=changing&step=1&with=0")

    expect(looked.get_by_text("The shapes differ: 3×2 at step 1, 2×3 at step 0.")).to_be_visible()


def test_figures_over_time_are_those_of_the_tensors(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.0.weight")
    looked.get_by_role("region", name="Over time").get_by_role("button", name="show as table").click()

    rows = looked.get_by_role("table", name="Figures over time").locator("tbody tr")
    expect(rows).to_have_count(len(STEPS))
    for row, step in zip(rows.all(), STEPS, strict=True):
        shown = [number_in(text) for text in row.locator("td").all_text_contents()[:5]]
        values = weight(step).astype(np.float64)
        assert shown[0] == step
        np.testing.assert_allclose(shown[1:3], [values.mean(), values.std()], rtol=0.02)
        np.testing.assert_allclose(shown[3:], [values.min(), values.max()], rtol=1e-3)
    rows.nth(1).get_by_role("button").click()
    expect(tensors.steps).to_contain_text("Step 10")


def test_nan_is_counted_and_hatched_and_a_click_on_the_chart_goes_to_a_step(
    looked: Page, serving: Serving
) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.0.bias&step=20")
    expect(tensors.figure("nonfinite")).to_have_text("1 / 0")
    expect(looked.get_by_role("grid", name="Values").locator(".nan")).to_have_count(1)
    chart = looked.get_by_role("img", name=re.compile("^Figures over 4 steps"))

    chart.click(position={"x": 46, "y": 40})

    expect(tensors.steps).to_contain_text("Step 0")
    expect(tensors.figure("nonfinite")).to_have_text("0 / 0")
    expect(looked.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")


def test_items_of_a_batch_stay_while_steps_change(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.1/out&step=30")
    looked.get_by_role("button", name="Item after").click()
    expect(tensors.exact).to_have_text("[1, 0, 0, 0] = 30")

    looked.get_by_role("button", name="First step").click()

    expect(tensors.exact).to_have_text("[1, 0, 0, 0] = 0")


def test_values_can_be_taken_along_for_numpy_and_as_a_table(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=block.0.weight&step=10")
    expect(tensors.exact).to_be_visible()

    with looked.expect_download() as array:
        looked.get_by_role("button", name="NPY").click()
    with looked.expect_download() as table:
        looked.get_by_role("button", name="CSV").click()

    np.testing.assert_array_equal(np.load(array.value.path()), weight(10))
    assert array.value.suggested_filename == "block.0.weight-step-10.npy"
    rows = list(csv.reader(io.StringIO(Path(table.value.path()).read_text())))
    assert rows[0] == ["index_0", "index_1", "value"]
    values = np.array([float(row[2]) for row in rows[1:]], dtype=np.float32).reshape(6, 9)
    np.testing.assert_array_equal(values, weight(10))


def test_one_colour_means_one_value_at_every_step_on_wish(looked: Page, serving: Serving) -> None:
    open_tensors(looked, serving, "tensor=block.0.weight&step=0")
    limits = looked.get_by_role("button", name=re.compile("^Colours from"))

    def highest() -> float:
        shown = re.search(r" to (.*): set limits", limits.get_attribute("aria-label") or "")
        assert shown is not None
        return number_in(shown[1])

    expect_equal(highest, pytest.approx(np.abs(weight(0)).max(), rel=1e-3))
    looked.get_by_role("checkbox", name="Same colours at every step").check()
    widest = max(np.abs(weight(step)).max() for step in STEPS)
    expect_equal(highest, pytest.approx(widest, rel=1e-3))
    looked.get_by_role("checkbox", name="Same colours at every step").uncheck()


def test_a_histogram_alone_is_shown_with_its_figures(looked: Page, serving: Serving) -> None:
    tensors = open_tensors(looked, serving, "tensor=grads&kind=histogram&step=20")

    expect(looked.get_by_role("img", name=re.compile("Histogram from .* in 20 bins"))).to_be_visible()
    expect_number(tensors.figure("mean"), grads(20).mean())
    expect_number(tensors.figure("std"), grads(20).std(), rel=1e-2)


def test_a_new_step_comes_by_itself_and_a_step_back_stays(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "live") as run, serve_runs_in_background(tmp_path, secret=SECRET) as serving:
        run.log_tensor(0, "w", np.array([1.5, 2.5]))
        run.flush()
        tensors = open_tensors(page, serving, "")
        expect(tensors.exact).to_have_text("[0] = 1.5")

        run.log_tensor(1, "w", np.array([7.25, 2.5]))
        run.flush()
        expect(tensors.exact).to_have_text("[0] = 7.25")

        page.get_by_role("button", name="One step back").click()
        expect(tensors.exact).to_have_text("[0] = 1.5")
        run.log_tensor(2, "w", np.array([9.0, 2.5]))
        run.flush()
        expect(tensors.steps).to_contain_text("Record 1 of 3")
        expect(tensors.exact).to_have_text("[0] = 1.5")

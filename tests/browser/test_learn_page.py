"""The page Learn in a browser: every number that it shows of a way back is held against torch.

All tests share one page and one server, and each goes to its lesson by the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import Tensor

import torcheer.autograd as T
from tests.browser.learn_page import LearnPage, assert_shown, learning_served
from tests.browser.pages import CONNECTED, LOST, badge, expect_equal, expect_true, one_page, scrolled_size
from tests.browser.screen import number_in
from torcheer.app.server import Serving

ROOTS = """import torcheer.autograd as T

x = T.param([1.0, 4.0])
y = T.sqrt(x)
loss = y.sum()
loss.backward()
"""
_NAMED_ROLES = (
    "button|combobox|complementary|grid|group|link|listbox|option|region|separator|slider|textbox|toolbar"
)
_NAMELESS = re.compile(rf"^\s*- (?:{_NAMED_ROLES})(?::| \[|$)", re.MULTILINE)
_FOCUSED = """() => {
  const one = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return {
    name: one.getAttribute("aria-label") ?? one.textContent.trim().slice(0, 40),
    isBody: one === document.body,
    isCell: one.getAttribute("aria-selected") !== null && one.tagName === "TD",
    isSeen: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
  };
}"""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def serving(state: Path) -> Iterator[Serving]:
    with learning_served(state) as running:
        yield running


@pytest.fixture(scope="module")
def screen(browser: Browser, serving: Serving) -> Iterator[LearnPage]:
    with one_page(browser) as page:
        page.goto(serving.url)
        # A server for lessons alone begins with its examples.
        page.get_by_role("button", name="Two layers").click()
        found = LearnPage(page)
        found.expect_step(1)
        yield found


def two_layers(screen: LearnPage) -> dict[str, Tensor]:
    """The same in torch, from the numbers that the page shows of the parameters, with all gradients."""
    shapes = {"x": (1, 3), "t": (1, 2), "W1": (3, 4), "b1": (1, 4), "W2": (4, 2)}
    made = {name: screen.node(name)[0].to(torch.float32).reshape(shape) for name, shape in shapes.items()}
    for name in ("W1", "b1", "W2"):
        made[name].requires_grad_()
    made["a"] = made["x"] @ made["W1"]
    made["z"] = made["a"] + made["b1"]
    made["h"] = torch.relu(made["z"])
    made["y"] = made["h"] @ made["W2"]
    made["e"] = made["y"] - made["t"]
    made["s"] = made["e"] ** 2
    made["loss"] = made["s"].mean()
    for one in made.values():
        if one.requires_grad:
            one.retain_grad()
    made["loss"].backward()  # type: ignore[no-untyped-call]
    return made


def test_every_number_of_a_whole_way_back_is_that_of_torch(screen: LearnPage) -> None:
    screen.open("two-layers")
    made = two_layers(screen)
    expect(screen.bar).to_contain_text(f"{made['loss'].item():.4f}")
    expect(screen.card("W1")).to_contain_text("not yet")
    seen = []

    for number in range(1, screen.num_steps + 1):
        screen.expect_step(number)
        name = screen.target()
        seen.append(name)
        gradient = made[name].grad
        assert gradient is not None
        # Nothing is used twice here, so one contribution is all of it.
        assert_shown(screen.numbers(screen.contribution), gradient)
        largest = float(gradient.reshape(-1)[gradient.abs().argmax()])
        total = screen.element.locator("b")
        expect_equal(lambda total=total: number_in(total.inner_text()), pytest.approx(largest, rel=1e-4))
        _check_checks(screen, largest)
        screen.page.keyboard.press("ArrowRight")

    assert seen[0] == "loss"
    assert set(seen) == {name for name, one in made.items() if one.grad is not None}
    for name, one in made.items():
        value, gradient = screen.node(name)
        assert_shown(value, one)
        if one.grad is None:
            assert gradient is None
            expect(screen.card(name)).to_contain_text("no grad")
        else:
            assert_shown(gradient, one.grad)


def _check_checks(screen: LearnPage, wanted: float) -> None:
    """Ours, torch's and the differences, all near what torch says here."""
    expect(screen.checks.locator(".verdict.right")).to_have_count(2)
    for row in screen.checks.locator("tbody tr").all():
        shown = float(row.locator("td").nth(1).inner_text().replace("\N{MINUS SIGN}", "-"))
        assert shown == pytest.approx(wanted, abs=2e-6)


def test_a_product_of_matrices_is_worked_out_for_the_element_that_is_chosen(screen: LearnPage) -> None:
    screen.open("two-layers", step=10)
    made = two_layers(screen)
    upstream = made["a"].grad
    assert upstream is not None
    expect(screen.step.get_by_role("math")).to_have_attribute(
        "aria-label", "dL by dW1 equals x transposed times dL by da"
    )
    factors = screen.step.locator(".product table")
    assert_shown(screen.numbers(factors.nth(0)), made["x"].T)
    assert_shown(screen.numbers(factors.nth(1)), upstream)

    screen.contribution.locator("td").nth(3).click()

    expect(screen.element).to_contain_text("W1[0, 3]")
    left, right, total = (
        float(text)
        for text in re.findall(
            r"-?\d+\.?\d*", screen.element.locator(".working").inner_text().replace("\N{MINUS SIGN}", "-")
        )
    )
    assert left == pytest.approx(0.5)
    assert right == pytest.approx(float(upstream[0, 3]), abs=1e-4)
    assert total == pytest.approx(left * right, abs=1e-4)
    marked = screen.step.locator(".product .marked")
    expect(marked).to_have_count(3)
    # The arrow keys go on from there, and the outline with them.
    screen.page.keyboard.press("ArrowDown")
    expect(screen.element).to_contain_text("W1[1, 3]")
    expect(screen.contribution.locator("[tabindex='0']")).to_be_focused()


def test_what_is_used_several_times_adds_up(screen: LearnPage) -> None:
    screen.open("fan-out")
    x = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    (x * x + 3 * x).sum().backward()  # type: ignore[no-untyped-call]
    arrived = torch.zeros(3, dtype=torch.float64)
    for number in range(1, screen.num_steps + 1):
        screen.expect_step(number)
        if screen.target() == "x":
            arrived += screen.numbers(screen.contribution)
        screen.page.keyboard.press("ArrowRight")

    assert_shown(arrived, x.grad)
    expect(screen.step).to_contain_text("contribution 3 of 3")
    assert_shown(screen.numbers(screen.step.get_by_role("table", name="∂L/∂x so far")), x.grad)
    assert_shown(screen.node("x")[1], x.grad)


def test_what_was_broadcast_is_summed_and_that_is_explained(screen: LearnPage) -> None:
    screen.open("broadcasting", step=6)
    raw = screen.numbers(screen.step.get_by_role("table", name="before the sum"))
    assert_shown(screen.numbers(screen.contribution), raw.reshape(3, 2).sum(0))
    expect(screen.step).to_contain_text("Summed from 3×2 to 2")
    expect(screen.element).to_contain_text("×")


def test_values_appear_one_by_one_on_the_way_forward(screen: LearnPage) -> None:
    screen.open("two-layers")
    made = two_layers(screen)
    screen.page.get_by_role("radio", name="Forward").click()
    screen.expect_step(1)
    expect(screen.card("z")).to_contain_text("not yet")
    for number, name in enumerate(("a", "z", "h", "y", "e", "s", "loss"), 1):
        screen.expect_step(number)
        table = screen.step.get_by_role("table", name=name, exact=True)
        assert_shown(screen.numbers(table), made[name])
        expect(screen.page.locator(".code-line.on")).to_contain_text(f"{name} = ")
        screen.page.keyboard.press("ArrowRight")


def test_a_guess_is_judged_before_the_numbers_are_shown(screen: LearnPage) -> None:
    screen.open("product", step=2)
    screen.page.get_by_role("checkbox", name="Guess before showing").check()
    expect(screen.contribution.locator(".secret")).to_have_count(1)
    expect(screen.checks).to_be_hidden()
    wanted = "-2" if screen.target() == "a" else "3"
    field = screen.step.get_by_role("textbox", name="What arrives at")
    field.fill("17")
    field.press("Enter")
    expect(screen.step.get_by_role("status")).to_contain_text("No:")
    field.fill(wanted)
    field.press("Enter")
    expect(screen.step.get_by_role("status")).to_contain_text("Right.")
    screen.step.get_by_role("button", name="Show", exact=True).click()
    assert_shown(screen.numbers(screen.contribution), torch.tensor([float(wanted)]))
    screen.page.get_by_role("checkbox", name="Guess before showing").uncheck()


def test_an_expression_is_edited_run_and_kept_in_the_address(screen: LearnPage) -> None:
    screen.open("product")
    screen.left.get_by_role("button", name="Edit").click()
    field = screen.left.get_by_role("textbox", name="Expression")
    field.fill(ROOTS)
    field.press("Control+Enter")
    expect(field).to_be_hidden()
    expect(screen.page.get_by_role("banner")).to_contain_text("Your expression")
    screen.page.keyboard.press("End")
    assert_shown(screen.numbers(screen.contribution), torch.tensor([0.5, 0.25]))

    expect(screen.page).to_have_url(re.compile("step=3.*source="))
    screen.page.reload()
    screen.expect_step(3)
    assert_shown(screen.numbers(screen.contribution), torch.tensor([0.5, 0.25]))


def test_a_fault_is_marked_in_its_line_and_what_is_before_it_can_be_stepped(screen: LearnPage) -> None:
    screen.open("product")
    screen.left.get_by_role("button", name="Edit").click()
    field = screen.left.get_by_role("textbox", name="Expression")
    field.fill("x = T.param([1.0, 2.0])\na = 2 * x\nb = a + nowhere\nloss = b.sum()\n")
    screen.left.get_by_role("button", name="Run").click()
    expect(field).to_be_hidden()
    expect(screen.left.locator(".code-line.bad")).to_contain_text("b = a + nowhere")
    expect(screen.left.get_by_role("alert")).to_contain_text("nowhere")
    expect(screen.page.get_by_role("radio", name="Forward")).to_be_checked()
    screen.expect_step(1)
    assert_shown(
        screen.numbers(screen.step.get_by_role("table", name="a", exact=True)), torch.tensor([2.0, 4.0])
    )


def test_an_exercise_is_solved_and_the_progress_is_kept(screen: LearnPage, state: Path) -> None:
    page = screen.page
    screen.open("product")
    page.get_by_role("radio", name="Exercises").click()
    panel = page.get_by_role("complementary", name="Exercises")
    expect(panel.get_by_test_id("progress")).to_have_text(re.compile(r"^0 of \d+$"))
    field = page.get_by_role("textbox", name="Gradient of a", exact=True)
    field.fill("g * a")
    field.press("Enter")
    first = page.get_by_role("form", name="Gradient of a")
    expect(first.locator(".verdict.wrong")).to_be_visible()
    expect(first.get_by_role("table", name="wanted")).to_be_visible()
    first.get_by_role("button", name=re.compile("^Hint 1")).click()
    expect(first.locator(".hints li")).to_have_count(1)
    for symbol, answer in (("a", "g * b"), ("b", "g * a")):
        one = page.get_by_role("textbox", name=f"Gradient of {symbol}", exact=True)
        one.fill(answer)
        one.press("Enter")
        expect(
            page.get_by_role("form", name=f"Gradient of {symbol}").locator(".verdict.right")
        ).to_be_visible()
    expect(panel.get_by_test_id("progress")).to_have_text(re.compile(r"^1 of \d+$"))
    assert list(state.rglob("learn.json"))

    # The address names an example as well, which stays behind the exercises.
    expect(page).to_have_url(re.compile("example=product&show=exercises&exercise="))
    page.reload()
    expect(panel.get_by_test_id("progress")).to_have_text(re.compile(r"^1 of \d+$"))
    expect(field).to_have_value("g * b")
    page.get_by_role("button", name="Next exercise").click()
    expect(page.get_by_role("heading", level=2, name="A product of two numbers")).to_be_hidden()

    panel.get_by_role("button", name="Reset progress").click()
    panel.get_by_role("button", name="Forget them").click()
    expect(panel.get_by_test_id("progress")).to_have_text(re.compile(r"^0 of \d+$"))
    page.get_by_role("radio", name="Expressions").click()


def test_everything_can_be_done_without_a_mouse(screen: LearnPage) -> None:
    page, keys = screen.page, screen.page.keyboard
    screen.open("two-layers")
    names, unseen, has_cell = [], [], False
    for _ in range(40):
        keys.press("Tab")
        focused = page.evaluate(_FOCUSED)
        if not focused["isBody"]:
            names.append(focused["name"])
            unseen += [] if focused["isSeen"] else [focused["name"]]
            has_cell = has_cell or focused["isCell"]
    assert unseen == []
    wanted = ["Example", "Edit", "Backward steps", "loss,", "Fit the graph", "Backward", "Play", "Step"]
    assert [one for one in wanted if not any(name.startswith(one) for name in names)] == []
    assert has_cell

    # Along the edges of the graph, and a value shown.
    screen.card("loss").focus()
    keys.press("ArrowUp")
    expect(screen.card("s")).to_be_focused()
    keys.press("ArrowUp")
    keys.press("Enter")
    expect(screen.step.get_by_role("region", name="Numbers of e")).to_be_visible()
    keys.press("Escape")
    expect(screen.step.get_by_role("region", name="Numbers of e")).to_be_hidden()
    screen.steps.focus()
    keys.press("End")
    screen.expect_step(10)
    keys.press("ArrowUp")
    screen.expect_step(9)
    screen.track.focus()
    keys.press("ArrowLeft")
    screen.expect_step(8)
    keys.press("+")
    expect(page.get_by_label("Zoom", exact=True)).not_to_have_text("100 %")
    keys.press("0")
    expect(page.get_by_label("Zoom", exact=True)).to_have_text("100 %")
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Along the edges")
    keys.press("Escape")


def test_everything_has_a_name_and_the_page_fits(screen: LearnPage) -> None:
    page = screen.page
    screen.open("two-layers", step=5)
    assert _NAMELESS.findall(page.locator("body").aria_snapshot()) == []
    for role, name in (
        ("complementary", "Expression"),
        ("complementary", "Current step"),
        ("region", "Graph"),
    ):
        expect(page.get_by_role(role, name=name, exact=True)).to_have_count(1)  # type: ignore[arg-type]
    for width, height in ((1280, 800), (1000, 700), (720, 450), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        expect_equal(lambda: scrolled_size(page), [width, height])
        expect(screen.track).to_be_in_viewport()
        expect(screen.graph).to_be_in_viewport()
        expect_true(lambda: screen.bar.evaluate("(bar) => bar.scrollWidth <= bar.clientWidth"))


def test_a_page_that_is_one_file_steps_without_a_server(page: Page, tmp_path: Path) -> None:
    w = T.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    x = T.tensor([[2.0, -1.0]])
    loss = (T.tanh(x @ w) ** 2).sum()
    path = tmp_path / "lesson.html"
    loss.explain(path)
    of_torch = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    (torch.tanh(torch.tensor([[2.0, -1.0]]) @ of_torch) ** 2).sum().backward()  # type: ignore[no-untyped-call]

    page.goto(path.as_uri())
    screen = LearnPage(page)
    screen.expect_step(1)
    page.keyboard.press("End")
    assert screen.target() == "w"
    assert_shown(screen.numbers(screen.contribution), of_torch.grad)
    expect(screen.checks.locator(".verdict.right")).to_have_count(2)
    expect(page.locator(".code-line.on")).to_contain_text("loss = (T.tanh(x @ w) ** 2).sum()")
    expect(screen.left).to_contain_text("One file")
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    expect(page.get_by_role("radio", name="Exercises")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Views").get_by_role("link")).to_have_text(["Learn"])


def test_without_its_server_one_steps_on(page: Page, tmp_path: Path) -> None:
    screen = LearnPage(page)
    with learning_served(tmp_path) as gone:
        page.goto(f"{gone.url}#learn?example=product")
        screen.expect_step(1)
        expect(badge(page, CONNECTED)).to_be_visible()
    expect(badge(page, LOST)).to_be_visible()

    page.keyboard.press("End")
    screen.expect_step(3)
    expect(screen.left.get_by_role("button", name="Edit")).to_be_disabled()
    expect(screen.left.get_by_role("button", name="Edit")).to_have_attribute(
        "title", "The connection to the server is lost."
    )

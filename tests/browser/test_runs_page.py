"""The start page: which runs there are, found and compared, and nothing of it lost on reload."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import VIEWPORT, go_to
from tests.many import some
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    for at, name in enumerate(["sweep/lr-2", "sweep/lr-10", "base"]):
        with tl.Run(path / name, comment=f"number {at}", tags=["digits"], total_steps=40) as run:
            for step in range(40):
                run.log(step, {"train/loss": 2.0 / (step + 1 + at), "val/acc": 0.5 + 0.2 * at, "lr": 0.1})
    with tl.Run(path / "hostile", comment=HOSTILE) as run:
        run.log(0, {"train/loss": float("nan"), HOSTILE: 3.0})
    return path


class RunsPage:
    """The table of runs as a person reads it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.table = page.get_by_role("grid", name="Runs")
        self.filter = page.get_by_role("textbox", name="Filter runs")
        self.compare = page.get_by_role("complementary", name="Compare")

    def row(self, name: str) -> Locator:
        return self.table.get_by_role("row").filter(
            has=self.page.locator("b", has_text=re.compile(f"^{name}$"))
        )

    def expect_names(self, *names: str) -> None:
        expect(self.table.locator(".run-name b")).to_have_text(list(names))

    def box(self, name: str) -> Locator:
        return self.table.get_by_role("checkbox", name=f"Compare {name}", exact=True)


def opened(page: Page, serving: Serving, hash_: str = "") -> RunsPage:
    go_to(page, serving, "runs", "training")
    runs = RunsPage(page)
    expect(runs.table.locator(".run-name b")).to_have_count(4)
    if hash_:
        page.evaluate("(hash) => { location.hash = hash; }", hash_)
    return runs


def test_a_row_says_how_a_run_stands(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    row = runs.row("base")
    expect(row).to_contain_text("number 2")
    expect(row).to_contain_text("finished")
    expect(row).to_contain_text("of 40")
    expect(row).to_contain_text("0.0476")  # 2 / 42
    expect(row).to_contain_text("0.900")
    expect(row.get_by_role("img", name=re.compile("^train.loss, from"))).to_be_visible()
    expect(looked.locator("footer")).to_contain_text("4 runs in")


def test_a_value_that_is_no_number_is_said(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    expect(runs.row("hostile").locator("td.bad")).to_have_text("NaN")
    expect(runs.row("hostile")).to_contain_text("NaN in train/loss at step 0")


def test_names_of_strangers_are_text(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    looked.get_by_role("button", name="Columns").click()
    looked.get_by_role("dialog", name="Columns").get_by_text(HOSTILE, exact=True).click()
    expect(runs.table.get_by_role("columnheader", name=HOSTILE)).to_be_visible()
    expect(looked.locator("img")).to_have_count(0)
    looked.get_by_role("dialog", name="Columns").get_by_text(HOSTILE, exact=True).click()
    looked.keyboard.press("Escape")


def test_runs_are_found_by_word_and_by_value(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    looked.keyboard.press("/")
    looked.keyboard.type("acc>0.6 sweep")
    runs.expect_names("sweep/lr-10")
    expect(looked).to_have_url(re.compile("q=acc"))
    runs.filter.fill("acc>much")
    expect(looked.get_by_role("status").filter(has_text="much is no number")).to_be_visible()
    runs.filter.press("Escape")
    expect(runs.table.locator(".run-name b")).to_have_count(4)
    runs.filter.fill("nothing like it")
    looked.get_by_role("button", name="Show all runs").click()
    expect(runs.table.locator(".run-name b")).to_have_count(4)


def test_filter_order_and_choice_come_back_on_reload(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    runs.filter.fill("digits")
    runs.table.get_by_role("button", name="Name").click()
    runs.expect_names("base", "sweep/lr-2", "sweep/lr-10")
    runs.box("base").uncheck()
    expect(looked).to_have_url(re.compile("runs="))
    looked.reload()
    runs.expect_names("base", "sweep/lr-2", "sweep/lr-10")
    expect(runs.box("base")).not_to_be_checked()
    expect(runs.box("sweep/lr-2")).to_be_checked()
    expect(runs.table.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "ascending")


def test_columns_that_were_chosen_are_there_on_the_next_visit(page: Page, serving: Serving) -> None:
    runs = opened(page, serving)
    page.get_by_role("button", name="Columns").click()
    chooser = page.get_by_role("dialog", name="Columns")
    chooser.get_by_label("lr", exact=True).check()
    chooser.get_by_label("Host").uncheck()
    page.keyboard.press("Escape")
    expect(chooser).to_have_count(0)
    page.reload()
    expect(runs.table.get_by_role("columnheader", name="lr")).to_be_visible()
    expect(runs.table.get_by_role("columnheader", name="Host")).to_have_count(0)


def test_the_keyboard_chooses_and_opens_a_run_and_the_way_back_leads_here(
    looked: Page, serving: Serving
) -> None:
    runs = opened(looked, serving, "runs?sort=name")
    runs.expect_names("base", "hostile", "sweep/lr-2", "sweep/lr-10")
    looked.keyboard.press("ArrowDown")
    looked.keyboard.press("ArrowDown")
    expect(runs.row("hostile")).to_be_focused()
    looked.keyboard.press("x")
    expect(runs.box("hostile")).not_to_be_checked()
    looked.keyboard.press("End")
    looked.keyboard.press("Enter")
    expect(looked.get_by_role("navigation", name="Views of the runs")).to_be_visible()
    expect(looked.get_by_role("checkbox", name="Show sweep/lr-10")).to_be_checked()
    expect(looked.get_by_role("checkbox", name="Show base")).not_to_be_checked()
    looked.go_back()
    runs.expect_names("base", "hostile", "sweep/lr-2", "sweep/lr-10")
    expect(runs.box("hostile")).not_to_be_checked()
    expect(runs.box("base")).to_be_checked()


def test_chosen_runs_are_drawn_together_and_go_to_training(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    runs.box("hostile").uncheck()
    chart = runs.compare.get_by_role("img", name=re.compile("^train.loss over steps"))
    expect(chart).to_be_visible()
    for name in ("base", "sweep/lr-2", "sweep/lr-10"):
        expect(chart).to_have_attribute("aria-label", re.compile(f"{name} at 0.0"))
    runs.compare.get_by_role("link", name="Open in Training").click()
    expect(looked.get_by_text("3 of 4 shown")).to_be_visible()


def test_a_run_has_the_same_colour_in_every_view(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    colour = "(element) => getComputedStyle(element).backgroundColor"
    in_table = str(runs.row("base").locator("i.sw").evaluate(colour))
    looked.keyboard.press("g")
    looked.keyboard.press("t")
    item = looked.get_by_role("list", name="Runs", exact=True).get_by_role("listitem").filter(has_text="base")
    expect(item.locator("i.sw")).to_have_css("background-color", in_table)


def test_the_list_of_runs_shows_one_alone_or_all(looked: Page, serving: Serving) -> None:
    opened(looked, serving, "training")
    shown = looked.get_by_role("complementary", name="Runs and options").get_by_role("checkbox", name="Show ")
    looked.get_by_role("list", name="Runs").get_by_text("sweep/lr-10", exact=True).click(modifiers=["Alt"])
    expect(looked.get_by_text("1 of 4 shown")).to_be_visible()
    looked.get_by_role("button", name="None").click()
    expect(looked.get_by_text("No run is chosen")).to_be_visible()
    looked.get_by_role("button", name="All", exact=True).click()
    expect(looked.get_by_text("4 of 4 shown")).to_be_visible()
    expect(shown).to_have_count(4)


@pytest.mark.parametrize(
    "hash_",
    some(
        [
            pytest.param(one, id=one)
            for one in ("nowhere", "training?runs=gone", "runs?sort=-what&state=odd&q=%", "%%%")
        ],
        always=["%%%"],
    ),
)
def test_no_address_breaks_the_page(looked: Page, serving: Serving, hash_: str) -> None:
    opened(looked, serving)
    looked.goto(looked.url.partition("#")[0] + "#" + hash_)
    looked.reload()
    expect(looked.get_by_role("main")).to_contain_text(re.compile("sweep/lr-2"))


def test_a_folder_without_runs_says_how_to_start_one(page: Page, tmp_path: Path) -> None:
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(running.url)
        expect(page.get_by_text("No runs yet")).to_be_visible()
        expect(page.get_by_role("main").locator("pre")).to_contain_text('torcheer.Run("runs/first")')
        # A run that starts meanwhile shows up by itself.
        with tl.Run(tmp_path / "first") as run:
            run.log(0, loss=1.0)
            run.flush()
            expect(page.get_by_role("grid", name="Runs")).to_contain_text("first")


def test_the_comparison_gives_way_on_a_narrow_page(looked: Page, serving: Serving) -> None:
    runs = opened(looked, serving)
    for width in (1000, 640):
        looked.set_viewport_size({"width": width, "height": 800})
        expect(runs.row("base")).to_be_visible()
        expect(runs.compare).to_have_count(0)
        looked.get_by_role("button", name=re.compile("^(Show compare|Compare)$")).click()
        expect(runs.compare).to_be_visible()
        looked.get_by_role("button", name="Hide compare").click()
        expect(runs.compare).to_have_count(0)
        looked.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
    looked.set_viewport_size(VIEWPORT)


def test_everything_on_the_page_that_can_be_used_has_a_name(looked: Page, serving: Serving) -> None:
    roles = (
        "button|checkbox|grid|img|link|navigation|progressbar|radio|region|separator|textbox|complementary"
    )
    nameless = re.compile(rf"^\s*- (?:{roles})(?::| \[|$)", re.MULTILINE)
    opened(looked, serving)
    looked.get_by_role("button", name="Columns").click()
    expect(looked.get_by_role("dialog", name="Columns")).to_be_visible()
    assert nameless.findall(looked.locator("body").aria_snapshot()) == []
    looked.keyboard.press("Escape")
    looked.keyboard.press("g")
    looked.keyboard.press("t")
    expect(looked.get_by_role("complementary", name="Runs and options")).to_be_visible()
    runs_and_tabs = looked.get_by_role("complementary", name="Runs and options").locator(".run-list")
    assert nameless.findall(runs_and_tabs.aria_snapshot()) == []


def test_the_arrow_leads_from_the_filter_to_the_first_run(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "runs", "training")
    row = looked.locator(".runs-table tr[aria-rowindex='2']")
    expect(row).to_be_visible()
    field = looked.locator(".runs-filter").get_by_role("textbox", name="Filter runs")

    field.press("ArrowDown")

    expect(row).to_be_focused()


def test_arrows_choose_among_the_states_which_are_one_stop(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "runs", "training")
    radios = looked.get_by_role("radiogroup", name="State").get_by_role("radio")
    radios.first.focus()

    looked.keyboard.press("ArrowRight")

    expect(radios.nth(1)).to_be_checked()
    expect(radios.nth(1)).to_be_focused()
    expect(looked.locator("[role=radiogroup][aria-label=State] [tabindex='0']")).to_have_count(1)

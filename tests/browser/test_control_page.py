"""The control page in a browser: a training in a process of its own is stepped, run, tested and killed.

What the page counts is held against the recorded run. All tests share one page and one training, and each
begins anew with Init.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import torcheer as tl
from tests.browser.controlled import Controlled, controlled
from tests.browser.pages import expect_equal, expect_true, one_page, scrolled_size
from tests.inspector.feeding import wait_until
from tests.training.small_loop import NUM_ITEMS, NUM_TRIALS

STARTING_MS = 60_000  # a process that imports torch, on a busy machine
CODE = {"Hidden": "6", "Learning rate": "0.5", "Momentum": "0.5", "Trial seconds": "0"}
_NAMED_ROLES = "button|combobox|group|link|region|separator|tab|textbox"
_NAMELESS = re.compile(rf"^\s*- (?:{_NAMED_ROLES})(?::| \[|$)", re.MULTILINE)


class ControlPage:
    """The page as a person uses it."""

    def __init__(self, page: Page, served: Controlled) -> None:
        self.page, self.served = page, served
        self.bar = page.get_by_role("toolbar", name="Training control")
        self.form = page.get_by_role("complementary", name="Parameters")
        self.fault = page.get_by_role("region", name="What went wrong")
        self.said = page.get_by_role("status", name="State of the training")

    def button(self, name: str) -> Locator:
        return self.bar.get_by_role("button", name=name, exact=True)

    def field(self, label: str) -> Locator:
        return self.form.get_by_label(label, exact=True)

    def expect_state(self, word: str) -> None:
        expect(self.bar.locator(".control-badge")).to_have_text(word, timeout=STARTING_MS)

    def expect_counters(self, *, run: int, epoch: int, trial: int) -> None:
        """What is done, as it stands there and as the training counts it."""
        shown = [f"{run} / 2", f"{epoch} / 5", f"{trial} / {NUM_TRIALS}"]
        expect(self.bar.locator(".counters dd")).to_have_text(shown)
        counters = self.served.control.status.counters  # the page has them from there
        assert [counters.run, counters.epoch, counters.trial] == [run, epoch, trial]

    def begin(self, fault: str = "none") -> None:
        """Init with the parameters of the code, and a fault where that is wanted."""
        for label, text in CODE.items():
            self.field(label).fill(text)
        self.field("Fault").select_option(fault)
        with self.awaiting("starting"):
            self.button("Init").click()
        self.expect_state("ready")
        self.expect_counters(run=0, epoch=0, trial=0)

    def step(self, level: str, count: int) -> None:
        self.bar.get_by_role("radio", name=level, exact=True).click()
        self.bar.get_by_role("textbox", name="Number of steps").fill(str(count))
        self.button("Step").click()

    @contextmanager
    def awaiting(self, state: str) -> Iterator[None]:
        """What happens here brings the training into a state, however short, and it comes out of it again."""
        control, was_there = self.served.control, threading.Event()

        def look() -> None:
            if control.status.state == state:
                was_there.set()

        with control.listening(look):
            yield
            assert was_there.wait(30)
            control.wait(lambda status: status.state != state)

    def expect_recorded(self, wanted: list[Any], read: Callable[[tl.SavedRun], list[Any]]) -> None:
        """The run that is written now has it, or has it soon: it is written beside the training."""
        recorded: list[Any] = []

        def is_so() -> bool:
            nonlocal recorded
            recorded = read(tl.open_run(self.served.runs[-1]))
            return recorded == wanted

        wait_until(is_so, f"{wanted} is in the run, which has {recorded}")


def trials(run: tl.SavedRun) -> list[int]:
    """Of which there is a loss."""
    return [] if "train/loss" not in run.names("scalar") else run.scalars("train/loss").steps.tolist()


def column(run: tl.SavedRun, table: str, name: str) -> list[Any]:
    return [row[name] for row in run.table(table).rows()] if table in run.names("table") else []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controlled]:
    with controlled(tmp_path_factory.mktemp("runs")) as found:
        yield found


@pytest.fixture(scope="module")
def screen(browser: Browser, served: Controlled) -> Iterator[ControlPage]:
    with one_page(browser) as page:
        page.goto(served.serving.url)
        # From the start page it is one click.
        page.get_by_role("region", name="Trainings to control").get_by_role("link", name="small").click()
        found = ControlPage(page, served)
        found.expect_state("not initialised")
        expect(found.button("Init")).to_have_class(re.compile("primary"))
        for name in ("Run", "Stop", "Step", "Test item", "Test all"):
            expect(found.button(name)).to_be_disabled()
        yield found


def test_what_is_stepped_run_and_tested_is_what_the_run_has(screen: ControlPage) -> None:
    screen.begin()
    expect(screen.said).to_have_text("Ready.")

    screen.step("trial", 3)
    screen.expect_counters(run=0, epoch=0, trial=3)
    screen.expect_recorded([1, 2, 3], trials)

    # A live parameter is in force from the next trial on.
    screen.field("Learning rate").fill("1e-1")
    expect(screen.form.get_by_text("1 changed")).to_be_visible()
    screen.field("Learning rate").press("Enter")
    expect(screen.form.get_by_text("1 changed")).to_be_hidden()
    screen.step("epoch", 1)
    screen.expect_counters(run=0, epoch=1, trial=4)
    screen.expect_recorded([0.5, 0.5, 0.5, 0.1], lambda run: run.scalars("train/lr").values.round(6).tolist())
    screen.expect_recorded([1], lambda run: column(run, "train epochs", "epoch"))
    all_items = list(range(NUM_ITEMS))
    screen.expect_recorded(all_items, lambda run: column(run, "test trials", "trial"))

    with screen.awaiting("busy"):
        screen.button("Test all").click()
    screen.expect_recorded(all_items * 2, lambda run: column(run, "test trials", "trial"))

    # Slow enough to be stopped on its way, by keys.
    screen.field("Trial seconds").fill("0.2")
    expect(screen.form.get_by_text("1 changed")).to_be_visible()
    screen.field("Trial seconds").press("Enter")
    expect(screen.form.get_by_text("1 changed")).to_be_hidden()
    screen.field("Trial seconds").blur()
    screen.expect_state("ready")  # else the key does nothing
    screen.page.keyboard.press("r")
    screen.expect_state("running")
    expect(screen.button("Step")).to_be_disabled()
    expect(screen.button("Step")).to_have_attribute("title", "Run is under way: Stop first.")
    screen.page.keyboard.press("s")
    screen.expect_state("ready")
    counters = screen.served.control.status.counters
    screen.expect_counters(run=counters.run, epoch=counters.epoch, trial=counters.trial)
    screen.expect_recorded(list(range(1, counters.step + 1)), trials)
    assert 4 < counters.step < 40


def test_the_page_fits_and_everything_has_a_name(screen: ControlPage) -> None:
    screen.expect_state("ready")
    page = screen.page
    assert _NAMELESS.findall(page.locator("body").aria_snapshot()) == []
    for width, height in ((1280, 800), (720, 450), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        expect_equal(lambda: scrolled_size(page), [width, height])
        expect_true(lambda: screen.bar.evaluate("(bar) => bar.scrollWidth <= bar.clientWidth"))
        expect(screen.button("Init")).to_be_in_viewport()
        expect(screen.bar.locator(".counters")).to_be_in_viewport()


def test_a_training_that_is_killed_is_begun_anew_by_init(screen: ControlPage) -> None:
    screen.begin()
    screen.step("trial", 2)
    screen.expect_counters(run=0, epoch=0, trial=2)
    screen.field("Hidden").fill("9")
    expect(screen.form.get_by_text("at the next Init", exact=True)).to_be_visible()
    killed = screen.served.control.pid
    assert killed is not None

    os.kill(killed, signal.SIGKILL)
    screen.expect_state("died")
    expect(screen.fault).to_contain_text("SIGKILL")
    screen.expect_counters(run=0, epoch=0, trial=2)
    for name in ("Run", "Stop", "Step", "Test all"):
        expect(screen.button(name)).to_be_disabled()
    expect(screen.field("Hidden")).to_have_value("9")

    screen.button("Init").click()
    screen.expect_state("ready")
    expect(screen.fault).to_be_hidden()
    assert screen.served.control.pid != killed
    screen.step("trial", 1)
    screen.expect_counters(run=0, epoch=0, trial=1)
    assert screen.served.control.status.values["hidden"] == 9


def test_a_fault_of_the_training_is_shown_with_its_traceback(screen: ControlPage) -> None:
    screen.begin(fault="raise")
    screen.step("epoch", 2)
    screen.expect_state("failed")

    expect(screen.fault).to_contain_text("Training stopped: ZeroDivisionError")
    expect(screen.fault).to_contain_text("a fault that was asked for")
    expect(screen.fault.get_by_text(re.compile(r"small_loop\.py, line \d+"))).to_be_visible()
    expect(screen.page.get_by_role("region", name="Traceback")).to_contain_text("in forward")
    expect(screen.said).to_contain_text("ZeroDivisionError")
    # What was seen before stays, and so does the run.
    screen.expect_counters(run=0, epoch=0, trial=3)
    expect(screen.page.get_by_role("region", name="Network")).to_be_visible()
    screen.expect_recorded([1, 2, 3], trials)

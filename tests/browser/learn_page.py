"""The page Learn as a person uses it, and a server for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.app.serving import SECRET
from torcheer.app.lessons import Learning
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.server import Server, Serving

# Of a table its numbers, all digits of them.
_EXACT = "cells => cells.map(cell => cell.dataset.exact)"


@contextmanager
def learning_served(state: Path, port: int = 0) -> Iterator[Serving]:
    """A server for lessons alone. `state`: where it keeps what was solved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with Serving(Server(SavedPasses(()), listen(port=port), SECRET, learning=Learning())) as serving:
            yield serving


class LearnPage:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.left = page.get_by_role("complementary", name="Expression")
        self.steps = page.get_by_role("listbox", name=re.compile("steps$"))
        self.step = page.get_by_role("complementary", name="Current step")
        self.graph = page.get_by_role("group", name="Expression graph")
        self.bar = page.get_by_role("toolbar", name="Steps")
        self.track = page.get_by_role("slider", name="Step")
        self.contribution = self.step.get_by_role("grid", name=re.compile("^contribution to"))
        self.element = self.step.get_by_test_id("element")
        self.checks = self.step.get_by_role("table", name="Check of the gradient")

    def open(self, example: str, way: str = "backward", step: int = 1) -> None:
        """By its address, within the page that is there."""
        self.page.mouse.move(0, 0)
        self.page.evaluate(f"location.hash = 'learn?example={example}&way={way}&step={step}'")
        expect(self.left.get_by_label("Example", exact=True)).to_have_value(example)
        self.expect_step(step)

    def expect_step(self, number: int) -> None:
        expect(self.step.get_by_role("heading", name=f"Step {number}", exact=True)).to_be_visible()
        expect(self.track).to_have_attribute("aria-valuenow", str(number))

    @property
    def num_steps(self) -> int:
        return int(self.track.get_attribute("aria-valuemax") or 0)

    def card(self, name: str) -> Locator:
        return self.graph.get_by_role("button", name=re.compile(f"^{re.escape(name)},"))

    def target(self) -> str:
        """The name of what the step leads to."""
        return self.graph.locator(".learn-card.now b").inner_text()

    def numbers(self, table: Locator) -> Tensor:
        texts = table.locator("td").evaluate_all(_EXACT)
        return torch.tensor([_number(text) for text in texts], dtype=torch.float64)

    def node(self, name: str) -> tuple[Tensor, Tensor | None]:
        """Value and gradient of a node as they are shown when it is pressed."""
        self.card(name).click()
        part = self.step.get_by_role("region", name=f"Numbers of {name}", exact=True)
        value = self.numbers(part.get_by_role("table", name="value", exact=True))
        tables = part.get_by_role("table", name=re.compile("^gradient"))
        gradient = self.numbers(tables) if tables.count() else None
        part.get_by_role("button", name=f"Hide the numbers of {name}").click()
        expect(part).to_be_hidden()
        return value, gradient


def _number(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-").replace("\N{INFINITY}", "inf"))


def assert_shown(shown: Tensor | None, wanted: Tensor | None) -> None:
    """The same numbers, to the last digit of a float but one."""
    assert shown is not None
    assert wanted is not None
    torch.testing.assert_close(shown, wanted.detach().reshape(-1).to(torch.float64), rtol=1e-5, atol=1e-7)

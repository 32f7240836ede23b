"""A pass that raised: the page shows how far it came, and says what happened."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.passes import raised
from tests.browser.screen import Screen


def test_a_pass_that_raised_shows_where_it_ended(page: Page, tmp_path: Path) -> None:
    history = raised()
    history.to_html(tmp_path / "raised.html")
    screen = Screen.opened(page, tmp_path / "raised.html")
    last = history.num_tensors_total
    assert last == 3  # input, linear, relu

    notice = screen.inspector.get_by_label("How the pass ended")
    expect(notice).to_contain_text(f"The model raised after op {last}")
    expect(page.get_by_role("alert").first).to_contain_text(f"The model raised after op {last}")
    expect(notice).to_contain_text("mat1 and mat2 shapes cannot be multiplied")
    notice.get_by_role("button", name=f"Go to op {last}").click()

    expect(screen.subtitle).to_contain_text(f"op {last} of {last}")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("button", name="Dismiss")).to_have_count(0)

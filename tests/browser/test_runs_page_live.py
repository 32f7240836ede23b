"""Runs that are written by other processes while the page shows them, and a server that goes."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.live_run import live_run
from torcheer.app import serve_runs_in_background


def row(page: Page, name: str) -> Locator:
    table = page.get_by_role("grid", name="Runs")
    return table.get_by_role("row").filter(has=page.locator("b", has_text=re.compile(f"^{name}$")))


def test_a_run_of_another_process_is_watched_from_its_start_to_its_end(page: Page, tmp_path: Path) -> None:
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(running.url)
        expect(page.get_by_text("No runs yet")).to_be_visible()
        with live_run(tmp_path / "live") as live:
            live.take(2)
            expect(row(page, "live")).to_contain_text("running")
            expect(row(page, "live").get_by_role("progressbar", name="Steps done")).to_have_attribute(
                "aria-valuenow", "2"
            )
            live.take(9)
            # The tenth point is on the page without anybody asking for it.
            expect(row(page, "live").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "11")
            expect(row(page, "live")).to_contain_text("990")
            chart = page.get_by_role("img", name=re.compile("^train.loss over steps"))
            expect(chart).to_have_attribute("aria-label", re.compile("live at 99"))
            expect(page.get_by_role("banner").get_by_role("status")).to_have_text("live")
            live.finish()
            expect(row(page, "live")).to_contain_text("finished")
            expect(page.get_by_role("banner").get_by_role("status")).to_have_text("connected")


def test_a_run_that_is_killed_is_said_to_have_died(page: Page, tmp_path: Path) -> None:
    with serve_runs_in_background(tmp_path, secret=SECRET) as running, live_run(tmp_path / "killed") as live:
        page.goto(running.url)
        live.take(3)
        expect(row(page, "killed")).to_contain_text("running")
        live.kill()
        expect(row(page, "killed").locator(".badge")).to_have_text("died", timeout=60_000)
        page.get_by_role("radio", name=re.compile("^Died")).click()
        expect(row(page, "killed")).to_be_visible()
        expect(page).to_have_url(re.compile("state=died"))


def test_what_was_known_stays_when_the_server_goes_and_goes_on_when_it_is_back(
    loose: Page, tmp_path: Path
) -> None:
    with tl.Run(tmp_path / "done") as run:
        run.log(0, loss=1.0)
    with live_run(tmp_path / "going") as live:
        with serve_runs_in_background(tmp_path, secret=SECRET) as running:
            loose.goto(running.url)
            live.take(2)
            expect(row(loose, "going")).to_contain_text("running")
            port = running.port
        expect(loose.get_by_role("banner").get_by_role("status")).to_have_text("connection lost")
        expect(row(loose, "going")).to_contain_text(re.compile(r"last seen \d\d:\d\d"))
        expect(row(loose, "done")).to_contain_text("finished")
        live.take(2)
        with serve_runs_in_background(tmp_path, secret=SECRET, port=port):
            loose.get_by_role("button", name="Try now").click()
            expect(row(loose, "going")).to_contain_text("running")
            expect(row(loose, "going").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "4")
            live.take(1)
            expect(row(loose, "going").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "5")


def test_a_run_whose_folder_is_deleted_leaves_the_list(page: Page, tmp_path: Path) -> None:
    for name in ("stays", "goes"):
        with tl.Run(tmp_path / name) as run:
            run.log(0, loss=1.0)
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(running.url)
        expect(row(page, "goes")).to_be_visible()
        for file in (tmp_path / "goes").iterdir():
            file.unlink()
        (tmp_path / "goes").rmdir()
        expect(row(page, "goes")).to_have_count(0)
        expect(row(page, "stays")).to_be_visible()

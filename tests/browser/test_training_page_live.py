"""Charts of a training that goes on in another process: points arrive, the run dies, the server goes."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.live_run import live_run
from tests.browser.pages import expect_true
from torcheer.app import serve_runs_in_background


def plot(page: Page, name: str) -> Locator:
    return page.get_by_role("figure", name=name, exact=True).get_by_role("img")


def says(page: Page, name: str, pattern: str) -> None:
    expect(plot(page, name)).to_have_attribute("aria-label", re.compile(pattern))


def test_points_of_another_process_arrive_while_one_looks(page: Page, tmp_path: Path) -> None:
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(f"{running.url}#training?sm=0")
        expect(page.get_by_text("No runs yet")).to_be_visible()
        with live_run(tmp_path / "live") as live:
            live.take(4)
            says(page, "train/loss", "1 line over step 0 to step 3; last values: live 997")
            live.take(10)
            says(page, "train/loss", "over step 0 to step 13; last values: live 987")
            says(page, "train/acc", "last values: live 1.63")
            page.goto(f"{running.url}#training?sm=0&lo=2&hi=5")
            says(page, "train/loss", "over step 2 to step 5")
            live.take(1)
            # New points are there, and what is looked at stays in view.
            says(page, "train/loss", "over step 2 to step 5; last values: live 986")
            live.kill()
            says(page, "train/loss", "live died")


def test_every_point_is_counted_when_points_become_buckets(page: Page, tmp_path: Path) -> None:
    with serve_runs_in_background(tmp_path, secret=SECRET) as running, live_run(tmp_path / "live") as live:
        live.take(500)
        page.goto(f"{running.url}#training?sm=0")
        says(page, "train/loss", "over step 0 to step 499")
        for num_steps in (300, 300, 5000):
            live.take(num_steps)
        says(page, "train/loss", "last values: live −5099")
        page.get_by_role("button", name="Actions of train/loss").click()
        with page.expect_download() as info:
            page.get_by_role("menuitem", name="Download CSV").click()
        rows = list(csv.DictReader(Path(info.value.path()).read_text(encoding="utf-8").splitlines()))
        assert sum(float(row["points"]) for row in rows) == 6100
        weighed = sum(float(row["points"]) * float(row["value"]) for row in rows)
        assert abs(weighed - sum(1000 - step for step in range(6100))) < 1e-3
        assert min(float(row["min"]) for row in rows) == -5099


def test_lines_stay_when_the_server_goes_and_go_on_when_it_is_back(loose: Page, tmp_path: Path) -> None:
    with live_run(tmp_path / "going") as live:
        live.take(3)
        with serve_runs_in_background(tmp_path, secret=SECRET) as running:
            loose.goto(f"{running.url}#training?sm=0")
            says(loose, "train/loss", "last values: going 998")
            port = running.port
        says(loose, "train/loss", "going may have gone on: the connection is lost")
        live.take(3)
        with serve_runs_in_background(tmp_path, secret=SECRET, port=port):
            loose.get_by_role("button", name="Try now").click()
            says(loose, "train/loss", "over step 0 to step 5; last values: going 995\\.$")


def test_only_charts_near_the_screen_are_drawn(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "many") as run:
        for step in range(3):
            run.log(step, {f"group{at // 20}/value{at}": float(at) for at in range(300)})
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(f"{running.url}#training?sm=0")
        says(page, "group0/value0", "last values: many 0")
        expect(page.locator(".scalar")).to_have_count(300)
        expect_true(lambda: 0 < page.locator(".plot").count() < 100)
        last = page.get_by_role("figure", name="group14/value299")
        expect(last.get_by_role("img")).to_have_count(0)
        last.scroll_into_view_if_needed()
        says(page, "group14/value299", "last values: many 299")
        expect(plot(page, "group0/value0")).to_have_count(0)


def test_of_very_many_charts_only_those_near_the_screen_are_in_the_page(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "many") as run:
        for step in range(3):
            run.log(step, {f"group{at // 90:02}/value{at}": float(at) for at in range(990)})
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(f"{running.url}#training?sm=0")
        says(page, "group00/value0", "last values: many 0")
        expect_true(lambda: 0 < page.locator(".scalar").count() < 200)
        expect(page.locator(".chart-group")).to_have_count(11)
        room = page.locator(".frame-view > .panel-body")
        last = page.get_by_role("figure", name="group10/value989", exact=True)

        def is_at_end() -> bool:  # what comes into view may be higher or lower than it was taken for
            room.evaluate("room => { room.scrollTop = room.scrollHeight; }")
            return last.count() == 1

        expect_true(is_at_end)
        says(page, "group10/value989", "last values: many 989")
        expect(page.get_by_role("figure", name="group00/value0", exact=True)).to_have_count(0)
        # A chart that a link shows large is there wherever it stands.
        page.goto(f"{running.url}#training?sm=0&big=group05/value500")
        says(page, "group05/value500", "last values: many 500")


def test_a_chart_of_many_lines_has_all_of_them(page: Page, tmp_path: Path) -> None:
    for number in range(24):
        with tl.Run(tmp_path / f"run{number:02}") as run:
            for step in range(600):
                run.log(step, loss=float(number))
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(f"{running.url}#training?sm=0")
        page.get_by_role("button", name="All", exact=True).click()
        says(page, "loss", "24 lines over step 0 to step 599")
        canvas = plot(page, "loss").locator("canvas").first
        # From left to right each line is there, whatever its dashes: so many rows have their colour.
        count_rows = """canvas => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const isLine = (at) => data[at + 3] > 150 && Math.max(data[at], data[at + 1], data[at + 2]) -
            Math.min(data[at], data[at + 1], data[at + 2]) > 40;
          const hasLine = (row) => Array.from({ length: width }, (_, x) => isLine(4 * (row * width + x)))
            .filter(Boolean).length > width / 4;
          return Array.from({ length: height }, (_, row) => hasLine(row)).filter(Boolean).length;
        }"""
        expect_true(lambda: canvas.evaluate(count_rows) >= 24)


def test_a_run_without_scalars_shows_the_line_that_logs_one(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "empty"):
        pass
    with serve_runs_in_background(tmp_path, secret=SECRET) as running:
        page.goto(f"{running.url}#training")
        expect(page.get_by_text("run.log(step, loss=loss)")).to_be_visible()

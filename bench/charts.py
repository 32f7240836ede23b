"""Charts in a browser: many runs at once, until all that is seen is drawn, and a run of very many scalars."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.effort import Effort
from bench.report import ROOT, Section, Table, Verdict
from bench.runopening import server_on, write_scalars

NUM_RUNS: Final = 60
NUM_SCALARS: Final = 30
NUM_POINTS: Final = 5000
NUM_NAMES: Final = 3000
NUM_NAME_POINTS: Final = 200
SCROLLED_SECONDS: Final = 2.0
FOLDER: Final = f"{NUM_RUNS} runs × {NUM_SCALARS} scalars × {NUM_POINTS:,} steps"
NAMES: Final = f"{NUM_NAMES:,} scalars of a run"
_WIDTH, _HEIGHT = 1440, 900

TEXT: Final = f"""\
In Chromium without a graphics card, a page of {_WIDTH} × {_HEIGHT}; by the clock. *Many runs*: a folder of
{NUM_RUNS} runs with {NUM_SCALARS} scalars of {NUM_POINTS:,} steps; from the press on "All" in the list of
runs, of which six are shown before, until each chart on the screen has {NUM_RUNS} lines. *Scrolling*: frames
a second in the {SCROLLED_SECONDS:.0f} seconds after that press, in another page, while the charts go up and
down. *Many names*: a run of {NUM_NAMES:,} scalars; from the start of the page until its first chart has its
line, and how many elements the page then has. Each page has a server that has read nothing before."""

# The charts that are seen, each with as many lines as its label says.
_SEEN: Final = """const seen = () => {
  const room = document.querySelector(".frame-view > .panel-body").getBoundingClientRect();
  return [...document.querySelectorAll(".scalar")].filter((chart) => {
    const { top, bottom } = chart.getBoundingClientRect();
    return bottom > room.top && top < room.bottom;
  });
};
const labelOf = (chart) => chart?.querySelector(".plot")?.getAttribute("aria-label") ?? "";
const hasLines = (chart, count) => new RegExp(`, ${count} lines? (over|at) `).test(labelOf(chart));
const frame = () => new Promise(requestAnimationFrame);
const buttons = () => [...document.querySelectorAll(".run-list-foot button")];
const pressAll = () => buttons().find((one) => one.textContent === "All").click();
"""

# Milliseconds from the press until all charts on the screen are drawn.
_DRAW: Final = f"""async (count) => {{
  {_SEEN}
  const start = performance.now();
  pressAll();
  do await frame();
  while (!seen().every((chart) => hasLines(chart, count)));
  await frame();
  return performance.now() - start;
}}"""

# Milliseconds from frame to frame while charts load and go up and down.
_SCROLL: Final = f"""async (seconds) => {{
  {_SEEN}
  const room = document.querySelector(".frame-view > .panel-body");
  pressAll();
  const times = [await frame()];
  while (times.at(-1) - times[0] < 1000 * seconds) {{
    room.scrollTop += times.length % 120 < 60 ? 16 : -16;
    times.push(await frame());
  }}
  return times.slice(1).map((time, at) => time - times[at]);
}}"""

# Milliseconds from the start of the page until its first chart is drawn.
_FIRST: Final = f"""async () => {{
  {_SEEN}
  while (!hasLines(document.querySelector(".scalar"), 1)) await frame();
  await frame();
  return performance.now();
}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyRuns:
    """How a folder of many runs comes to the screen."""

    drawn_ms: list[float]
    frame_ms: list[float]  # while they load

    @property
    def seconds(self) -> float:
        return statistics.median(self.drawn_ms) / 1e3

    @property
    def frames_per_second(self) -> float:
        return 1e3 / statistics.mean(self.frame_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManyNames:
    """How a run of many scalars comes to the screen."""

    first_ms: list[float]
    num_elements: int

    @property
    def seconds(self) -> float:
        return statistics.median(self.first_ms) / 1e3


def bench_charts(effort: Effort) -> Section:
    try:
        import playwright.sync_api  # noqa: F401

        from tests.browser.chromium import find_chromium
    except ImportError:
        return _without("Playwright is not installed (it comes with the extra `dev`)")
    if find_chromium() is None:
        return _without("there is no Chromium here (`make browser` installs one where it may)")
    num_rounds = 1 if effort.is_quick else effort.min_rounds
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, _browser() as browser:
        many_runs = _many_runs(Path(folder) / "runs", browser, num_rounds)
        many_names = _many_names(Path(folder) / "names", browser, num_rounds)
    return Section(
        title="Charts",
        parts=[TEXT, _table(many_runs, many_names)],
        verdicts=_verdicts(many_runs, many_names),
        data={"many runs": asdict(many_runs), "many names": asdict(many_names)},
    )


def _without(why: str) -> Section:
    return Section(title="Charts", parts=[f"Not measured: {why}."], verdicts=[], data=None)


def _verdicts(many_runs: ManyRuns, many_names: ManyNames) -> list[Verdict]:
    fps = many_runs.frames_per_second
    return [
        Verdict(what=f"{FOLDER}: seconds until all seen is drawn", figure=many_runs.seconds, at_most=2),
        Verdict(what=f"{FOLDER}: frames a second, scrolled as it loads", figure=fps, at_least=50),
        Verdict(what=f"{NAMES}: seconds to the first chart", figure=many_names.seconds, at_most=0.6),
        Verdict(what=f"{NAMES}: elements in the page", figure=many_names.num_elements, at_most=2000),
    ]


def _table(many_runs: ManyRuns, many_names: ManyNames) -> Table:
    return Table(
        columns=("", "seconds, median", "most", "frames a second", "longest frame, ms", "elements"),
        rows=[
            (
                FOLDER,
                f"{many_runs.seconds:.2f}",
                f"{max(many_runs.drawn_ms) / 1e3:.2f}",
                f"{many_runs.frames_per_second:.0f}",
                f"{max(many_runs.frame_ms):.0f}",
                "",
            ),
            (
                NAMES,
                f"{many_names.seconds:.2f}",
                f"{max(many_names.first_ms) / 1e3:.2f}",
                "",
                "",
                f"{many_names.num_elements:,}",
            ),
        ],
    )


# --- in a browser -------------------------------------------------------------------------------------


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import ARGUMENTS, find_chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), headless=True, chromium_sandbox=False, args=ARGUMENTS
        )
        yield browser
        browser.close()


@contextmanager
def _page(browser: Any, folder: Path) -> Iterator[Any]:
    """A page of charts on a server of its own, which has not read anything yet."""
    with server_on(folder) as url:
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, reduced_motion="reduce")
        page.goto(f"{url}#training")
        yield page
        page.close()


def _many_runs(folder: Path, browser: Any, num_rounds: int) -> ManyRuns:
    print(f"  {FOLDER} …", flush=True)
    names = [f"group{number % 3}/scalar{number}" for number in range(NUM_SCALARS)]
    for number in range(NUM_RUNS):
        write_scalars(folder / f"run{number}", names, NUM_POINTS, seed=number)
    drawn_ms, frame_ms = [], []
    for work, argument in [(_DRAW, NUM_RUNS)] * num_rounds + [(_SCROLL, SCROLLED_SECONDS)]:
        with _page(browser, folder) as page:
            page.get_by_text(f"6 of {NUM_RUNS} shown").wait_for()
            page.wait_for_selector(".plot[aria-label*=' 6 lines ']")
            page.wait_for_timeout(1000)
            found = page.evaluate(work, argument)
            if work == _DRAW:
                drawn_ms.append(found)
            else:
                frame_ms += found
    return ManyRuns(drawn_ms=drawn_ms, frame_ms=frame_ms)


def _many_names(folder: Path, browser: Any, num_rounds: int) -> ManyNames:
    print(f"  {NAMES} …", flush=True)
    names = [f"layer{number // 12}/figure{number % 12}" for number in range(NUM_NAMES)]
    write_scalars(folder / "run", names, NUM_NAME_POINTS)
    first_ms, num_elements = [], 0
    for _ in range(num_rounds):
        with _page(browser, folder) as page:
            first_ms.append(page.evaluate(_FIRST))
            page.wait_for_timeout(300)
            num_elements = page.evaluate("() => document.querySelectorAll('*').length")
    return ManyNames(first_ms=first_ms, num_elements=num_elements)

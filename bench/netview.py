"""NetView: from update() to pixels, frames while it turns, and a long recording of AlexNet, scrubbed."""

from __future__ import annotations

import random
import resource
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch
from torch import nn

import torcheer as tl
from bench.effort import Effort
from bench.netviewpage import SCRUB, TURN, ms_to_pixels, net_page
from bench.report import ROOT, Section, Table, Verdict
from examples.alexnet import AlexNet

SIZES: Final = (10_000, 100_000)  # units; and AlexNet
RECORDS: Final = (600, 1 << 30)  # how many, and the budget in bytes
QUICK_RECORDS: Final = (40, 64 << 20)
NUM_FIRST: Final = 5
NUM_SCRUBS: Final = 40

TEXT: Final = """\
In Chromium without a graphics card (SwiftShader), a page of 1440 × 900; by the clock. *To pixels*: from the
call of `update()`, without a flush, until a frame of the page shows the layers otherwise: recorded, written,
found by the server, sent, uploaded and drawn. *Turning*: frames a second while a hand turns the network, when
less is drawn; *sharp*: a frame as it is when the hand rests. *Upload*: all layers of a moment to the card."""
LONG_TEXT: Final = """\
A recording of AlexNet, every layer with Act and Net, one item, with a budget of bytes for the run, then gone
through at random: from the slider's event until the layers of that moment are on the screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What a network of this size takes."""

    num_units: int
    to_pixels_ms: float
    turning_fps: float
    sharp_ms: float
    upload_ms: float
    upload_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A long recording, and how it is scrubbed."""

    num_records: int
    num_kept: int
    budget_bytes: int
    kept_bytes: int  # of all records together
    disk_bytes: int
    record_bytes: float  # of one moment, before any is thinned
    update_ms: float
    grown_bytes: int  # of the memory of the process that records
    scrub_ms: list[float]


def bench_netview(effort: Effort) -> Section:
    try:
        import playwright.sync_api  # noqa: F401

        from tests.browser.chromium import find_chromium
    except ImportError:
        return _without("Playwright is not installed (it comes with the extra `dev`)")
    if find_chromium() is None:
        return _without("there is no Chromium here (`make browser` installs one where it may)")
    sizes = (None,) if effort.is_quick else (*SIZES, None)
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        drawn = [_drawn(Path(folder), num_units, effort) for num_units in sizes]
        recorded = _recorded(Path(folder), effort)
    return Section(
        title="NetView",
        parts=[TEXT, _drawn_table(drawn), LONG_TEXT, _recorded_table(recorded)],
        verdicts=_verdicts(drawn, recorded),
        data={"drawn": [asdict(one) for one in drawn], "recorded": asdict(recorded)},
    )


def _without(why: str) -> Section:
    return Section(title="NetView", parts=[f"Not measured: {why}."], verdicts=[], data=None)


def _verdicts(drawn: list[Drawn], recorded: Recorded) -> list[Verdict]:
    largest = drawn[-1]
    what = f"NetView, {largest.num_units:,} units"
    return [
        Verdict(what=f"{what}: update() to pixels, ms", figure=largest.to_pixels_ms, at_most=3000),
        Verdict(what=f"{what}: frames a second, turning", figure=largest.turning_fps, at_least=10),
        Verdict(
            what="NetView, AlexNet recorded: bytes kept, of its budget",
            figure=recorded.kept_bytes / recorded.budget_bytes,
            at_most=1.0,
        ),
        Verdict(
            what="NetView, AlexNet scrubbed: ms to a moment, median",
            figure=statistics.median(recorded.scrub_ms),
            at_most=500,
        ),
    ]


# --- sizes ------------------------------------------------------------------------------------------


def _network(num_units: int | None) -> tuple[nn.Module, tuple[int, ...]]:
    torch.manual_seed(0)
    if num_units is None:
        return AlexNet().eval(), (1, 3, 224, 224)
    side = int((num_units / 12) ** 0.5)
    layers = [nn.Conv2d(1, 5, 3, padding=1), nn.Tanh(), nn.Conv2d(5, 6, 3, padding=1), nn.Tanh()]
    return nn.Sequential(*layers), (1, 1, side, side)


def _drawn(folder: Path, num_units: int | None, effort: Effort) -> Drawn:
    model, shape = _network(num_units)
    place = folder / f"of {num_units}"
    with tl.NetView(model, torch.rand(shape), run=place / "net", weights=None, items=1) as view:
        count = sum(layer.grid.num_units for layer in view.scene.layers)
        print(f"  {count:,} units …", flush=True)
        view.run.flush()  # type: ignore[union-attr]
        num_updates = 2 if effort.is_quick else 7
        with net_page(place) as page:
            turning = page.locator("canvas.above").evaluate(TURN, 60)
            page.wait_for_timeout(1500)
            sharp = page.evaluate("() => netCount.sharp")
            page.evaluate("() => Object.assign(netCount, { bytes: 0, uploadMs: 0 })")
            # Last: to take every frame away from the browser makes it slow.
            waits = [ms_to_pixels(page, view, torch.rand(shape)) for _ in range(num_updates)]
            page.wait_for_timeout(1500)
            counted = page.evaluate("() => netCount")
    return Drawn(
        num_units=count,
        to_pixels_ms=statistics.median(waits),
        turning_fps=1000 / statistics.mean(turning[10:]),
        sharp_ms=statistics.median(sharp),
        upload_ms=counted["uploadMs"] / num_updates,
        upload_bytes=counted["bytes"] / num_updates,
    )


def _drawn_table(drawn: list[Drawn]) -> Table:
    rows = [
        (
            f"{one.num_units:,} units",
            f"{one.to_pixels_ms:,.0f}",
            f"{one.turning_fps:.0f}",
            f"{one.sharp_ms:,.0f}",
            f"{one.upload_ms:.1f}",
            f"{one.upload_bytes / 1e6:.2f}",
        )
        for one in drawn
    ]
    columns = ("", "to pixels, ms", "frames a second, turning", "sharp, ms", "upload, ms", "upload, MB")
    return Table(columns=columns, rows=rows)


# --- a long recording -------------------------------------------------------------------------------


def _recorded(folder: Path, effort: Effort) -> Recorded:
    num_records, budget = QUICK_RECORDS if effort.is_quick else RECORDS
    print(f"  {num_records:,} records of AlexNet …", flush=True)
    model, shape = _network(None)
    seconds: list[float] = []
    with tl.Run(folder / "long" / "net", max_bytes=budget) as run:
        view = tl.NetView(model, torch.rand(shape), run=run, weights=None, items=1)
        memory, record_bytes = 0, 0.0
        for number in range(1, num_records):
            started = time.perf_counter()
            view.update(torch.rand(shape), trial=number)
            seconds.append(time.perf_counter() - started)
            if number == NUM_FIRST:
                run.flush()
                record_bytes = _bytes_of(folder / "long") / (NUM_FIRST + 1)
            if number == num_records // 10:
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run.flush()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    disk_bytes = _bytes_of(folder / "long")
    dice = random.Random(0)
    with tl.open_run(folder / "long" / "net") as saved, net_page(folder / "long") as page:
        num_kept = len(saved.tensors("features.0.Act"))
        slider = page.get_by_role("slider", name="Step", exact=True)
        last = int(slider.get_attribute("max"))
        scrubs = [slider.evaluate(SCRUB, dice.randrange(last + 1)) for _ in range(NUM_SCRUBS)]
    return Recorded(
        num_records=num_records,
        num_kept=num_kept,
        budget_bytes=budget,
        kept_bytes=_kept_bytes(folder / "long"),
        disk_bytes=disk_bytes,
        record_bytes=record_bytes,
        update_ms=statistics.median(seconds) * 1e3,
        grown_bytes=grown * 1024,
        scrub_ms=scrubs,
    )


def _kept_bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*.sqlite"):
        with closing(sqlite3.connect(file)) as connection:
            total += connection.execute("SELECT sum(num_bytes) FROM records").fetchone()[0] or 0
    return total


def _bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _recorded_table(one: Recorded) -> Table:
    columns = (
        "",
        "budget, MB",
        "kept, MB",
        "on disk, MB",
        "MB a record",
        "records of the largest layer",
        "ms an update",
        "memory grew, MB",
        "to a moment, ms",
        "the worst",
    )
    row = (
        f"{one.num_records:,} records",
        f"{one.budget_bytes / 1e6:,.0f}",
        f"{one.kept_bytes / 1e6:,.0f}",
        f"{one.disk_bytes / 1e6:,.0f}",
        f"{one.record_bytes / 1e6:.2f}",
        f"{one.num_kept:,}",
        f"{one.update_ms:.0f}",
        f"{one.grown_bytes / 1e6:,.0f}",
        f"{statistics.median(one.scrub_ms):.0f}",
        f"{max(one.scrub_ms):.0f}",
    )
    return Table(columns=columns, rows=[row])

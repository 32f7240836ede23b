"""How long it takes until the charts of a very large run are there."""

from __future__ import annotations

import asyncio
import http.client
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

import numpy
from websockets.asyncio.client import connect
from websockets.typing import Origin

from bench.effort import Effort
from bench.report import ROOT, Table
from torcheer.run import APPLICATION_ID, FORMAT, PAGE_BYTES, TABLES

NUM_SERIES: Final = 10
NUM_POINTS: Final = 1_000_000
NUM_QUICK_POINTS: Final = 100_000
NUM_BUCKETS: Final = 1000
BLOCK: Final = 1 << 16
OPEN_TEXT: Final = f"""\
A run of {NUM_SERIES} long series on disk. Seconds on the clock from the moment a page connects to
a server that has never seen the run until all {NUM_SERIES} series are there to be drawn, in {NUM_BUCKETS:,}
buckets each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    num_points: int  # of each series
    seconds: list[float]
    megabytes: float

    @property
    def median_seconds(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 2]


def open_big_run(folder: Path, effort: Effort) -> Opened:
    num_points = NUM_QUICK_POINTS if effort.is_quick else NUM_POINTS
    print(f"  {NUM_SERIES} × {num_points:,} points opened …", flush=True)
    names = [f"train/{number}" for number in range(1, NUM_SERIES + 1)]
    path = write_scalars(folder / "big" / "run", names, num_points)
    seconds = []
    for _ in range(effort.min_rounds):
        with server_on(folder / "big") as url:
            seconds.append(asyncio.run(_first_chart(url)))
    return Opened(num_points=num_points, seconds=seconds, megabytes=path.stat().st_size / 1e6)


def write_scalars(folder: Path, names: Sequence[str], num_points: int, seed: int = 0) -> Path:
    """As the writer would leave them: scalars of `num_points` each; returns the file."""
    folder.mkdir(parents=True)
    path = folder / "rank-0.sqlite"
    started = time.time() - num_points * 0.01
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(TABLES)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("format", str(FORMAT)), ("generation", "0")])
    connection.execute(
        "INSERT INTO sessions (started, ended, outcome, host, pid) VALUES (?, ?, 'finished', 'bench', 1)",
        (started, time.time()),
    )
    generator = numpy.random.default_rng(seed)
    steps = numpy.arange(num_points, dtype="<i8")
    times = started + steps * 0.01
    for number, name in enumerate(names, start=1):
        connection.execute("INSERT INTO names (id, kind, name) VALUES (?, 'scalar', ?)", (number, name))
        values = numpy.exp(-steps / num_points * 4) + generator.normal(0, 0.05, num_points)
        for first in range(0, num_points, BLOCK):
            chosen = slice(first, first + BLOCK)
            columns = [numbers[chosen].tobytes() for numbers in (steps, times, values)]
            connection.execute(
                "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
                "VALUES (?, ?, ?, 3, 0, ?, ?, ?)",
                (number, first, len(columns[0]) // 8, *columns),
            )
    connection.execute("COMMIT")
    connection.close()
    return path


@contextmanager
def server_on(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "torcheer", "view", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


async def _first_chart(url: str) -> float:
    """As the page does: hear which runs there are, which series they have, and ask for the points."""
    base = url.partition("/?")[0]
    cookie = await asyncio.to_thread(_cookie, url)
    started = perf_counter()
    address = base.replace("http", "ws", 1) + "/socket"
    headers = {"Cookie": cookie}
    async with connect(address, origin=Origin(base), additional_headers=headers, max_size=None) as socket:
        await socket.recv()
        await socket.send(json.dumps({"type": "runs", "id": 1}))
        runs = await _answer(socket, "runs")
        run_id = runs["runs"][0]["id"]
        await socket.send(json.dumps({"type": "index", "id": 2, "run_ids": [run_id]}))
        index = await _answer(socket, "index")
        names = [series["name"] for series in index["runs"][0]["series"]]
        wanted = [{"run_id": run_id, "name": name} for name in names]
        question = {
            "type": "series",
            "id": 3,
            "wanted": wanted,
            "axis": "step",
            "low": None,
            "high": None,
            "num_buckets": 1000,
        }
        await socket.send(json.dumps(question))
        num_blocks = 0
        while num_blocks < NUM_SERIES:
            answer = await _answer(socket, "series")
            num_blocks += sum(block["num_items"] > 0 for block in answer["blocks"])
    return perf_counter() - started


def _cookie(url: str) -> str:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    connection.request("GET", f"{parts.path}?{parts.query}")
    return (connection.getresponse().getheader("Set-Cookie") or "").split(";")[0]


async def _answer(socket: Any, kind: str) -> dict[str, Any]:
    while True:
        frame = await socket.recv()
        if isinstance(frame, bytes):
            length = int.from_bytes(frame[:4], "little")
            frame = frame[4 : 4 + length]
        answer: dict[str, Any] = json.loads(frame)
        if answer["type"] == "refusal":
            raise RuntimeError(answer["message"])
        if answer["type"] == kind and (kind != "index" or answer["runs"]):
            return answer


def opened_table(opened: Opened) -> Table:
    return Table(
        columns=("", "MB", "seconds, median", "least"),
        rows=[
            (
                f"{NUM_SERIES} series of {opened.num_points:,} points",
                f"{opened.megabytes:,.0f}",
                f"{opened.median_seconds:.2f}",
                f"{min(opened.seconds):.2f}",
            )
        ],
    )

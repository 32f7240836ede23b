"""How long it takes until the charts of a very large run are there."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.typing import Origin

from bench.bigrun import write_big_run
from bench.effort import Effort
from bench.report import ROOT, Table

NUM_SERIES: Final = 10
NUM_POINTS: Final = 1_000_000
NUM_BUCKETS: Final = 1000
OPEN_TEXT: Final = f"""\
A run of {NUM_SERIES} × {NUM_POINTS:,} points on disk. Seconds on the clock from the moment a page connects to
a server that has never seen the run until all {NUM_SERIES} series are there to be drawn, in {NUM_BUCKETS:,}
buckets each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    seconds: list[float]
    megabytes: float

    @property
    def median_seconds(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 2]


def open_big_run(folder: Path, effort: Effort) -> Opened:
    print("  ten million points opened …", flush=True)
    path = write_big_run(folder / "big" / "run", NUM_SERIES, NUM_POINTS)
    seconds = []
    for _ in range(3 if effort.num_imports > 2 else 1):
        with _server(folder / "big") as url:
            seconds.append(asyncio.run(_first_chart(url)))
    return Opened(seconds=seconds, megabytes=path.stat().st_size / 1e6)


@contextmanager
def _server(folder: Path) -> Iterator[str]:
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
                f"{NUM_SERIES} series of {NUM_POINTS:,} points",
                f"{opened.megabytes:,.0f}",
                f"{opened.median_seconds:.2f}",
                f"{min(opened.seconds):.2f}",
            )
        ],
    )

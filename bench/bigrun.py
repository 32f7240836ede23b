"""A run of millions of points, written straight into the file as the writer would leave it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Final

import numpy

from torcheer.run.schema import APPLICATION_ID, FORMAT, PAGE_BYTES, TABLES

BLOCK: Final = 1 << 16


def write_big_run(folder: Path, num_series: int, num_points: int) -> Path:
    """`num_series` scalars of `num_points` each; returns the file."""
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
    generator = numpy.random.default_rng(0)
    steps = numpy.arange(num_points, dtype="<i8")
    times = started + steps * 0.01
    for name in range(1, num_series + 1):
        connection.execute(
            "INSERT INTO names (id, kind, name) VALUES (?, 'scalar', ?)", (name, f"train/{name}")
        )
        values = numpy.exp(-steps / num_points * 4) + generator.normal(0, 0.05, num_points)
        for first in range(0, num_points, BLOCK):
            chosen = slice(first, first + BLOCK)
            columns = [numbers[chosen].tobytes() for numbers in (steps, times, values)]
            connection.execute(
                "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
                "VALUES (?, ?, ?, 3, 0, ?, ?, ?)",
                (name, first, len(columns[0]) // 8, *columns),
            )
    connection.execute("COMMIT")
    connection.close()
    return path

"""Parts of runs, written row by row: what the reader must cope with, whoever wrote it."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

from torcheer.run.part_storage import APPLICATION_ID, PAGE_BYTES, TABLES
from torcheer.run.records import AnyHead, TextHead, encode_head

Point = tuple[int, float, float]  # step, time, value


class HandmadePart:
    """A part that a test writes. Each call is one transaction."""

    def __init__(self, folder: Path, name: str = "rank-0", journal: str = "wal") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}.sqlite"
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        self.connection.execute(f"PRAGMA journal_mode = {journal}")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self.connection.executescript(TABLES)
        self.connection.execute("BEGIN")
        self.connection.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("format", "1"), ("generation", "0"), ("comment", "by hand")]
        )
        self.connection.execute("INSERT INTO sessions (started, host, pid) VALUES (1000.0, 'here', 1)")
        self.connection.execute("COMMIT")

    def name_id(self, kind: str, name: str) -> int:
        self.connection.execute("INSERT OR IGNORE INTO names (kind, name) VALUES (?, ?)", (kind, name))
        found = self.connection.execute("SELECT id FROM names WHERE kind = ? AND name = ?", (kind, name))
        return int(found.fetchone()[0])

    def add_block(self, name: str, points: Sequence[Point], first: int | None = None) -> int:
        number = self.name_id("scalar", name)
        if first is None:
            found = self.connection.execute(
                "SELECT coalesce(max(first + count), 0) FROM points WHERE name = ?", (number,)
            )
            first = found.fetchone()[0]
        bad = sum(value != value or abs(value) == float("inf") for _, _, value in points)
        count = len(points)
        columns = [
            struct.pack(f"<{count}{code}", *column)
            for code, column in zip("qdd", zip(*points, strict=True), strict=True)
        ]
        cursor = self.connection.execute(
            "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
            "VALUES (?,?,?,0,?,?,?,?)",
            (number, first, count, bad, *columns),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def merge(self, name: str, low: int, num_blocks: int) -> None:
        """Make one block of some neighbours."""
        number = self.name_id("scalar", name)
        self.connection.execute("BEGIN")
        rows = self.connection.execute(
            "SELECT id, first, count, num_bad, steps, times, vals FROM points WHERE name = ? ORDER BY first",
            (number,),
        ).fetchall()[low : low + num_blocks]
        if len(rows) > 1:
            self.connection.executemany("DELETE FROM points WHERE id = ?", [(row[0],) for row in rows])
            self.connection.execute(
                "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
                "VALUES (?,?,?,1,?,?,?,?)",
                (
                    number,
                    rows[0][1],
                    sum(row[2] for row in rows),
                    sum(row[3] for row in rows),
                    *(b"".join(row[column] for row in rows) for column in (4, 5, 6)),
                ),
            )
        self.connection.execute("COMMIT")

    def purge(self, name: str, keep: int) -> None:
        """Take back all but the first points of a series."""
        number = self.name_id("scalar", name)
        self.connection.execute("BEGIN")
        rows = self.connection.execute(
            "SELECT first, count, steps, times, vals FROM points WHERE name = ? ORDER BY first", (number,)
        ).fetchall()
        columns = [b"".join(row[column] for row in rows)[: 8 * keep] for column in (2, 3, 4)]
        self.connection.execute("DELETE FROM points WHERE name = ?", (number,))
        if keep:
            bad = sum(v != v or abs(v) == float("inf") for (v,) in struct.iter_unpack("<d", columns[2]))
            self.connection.execute(
                "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
                "VALUES (?, 0, ?, 1, ?, ?, ?, ?)",
                (number, len(columns[0]) // 8, bad, *columns),
            )
        self.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        self.connection.execute("COMMIT")

    def add_record(
        self, kind: str, name: str, head: AnyHead | bytes, data: bytes, step: int = 0, time: float = 1000.0
    ) -> int:
        number = self.name_id(kind, name)
        packed = head if isinstance(head, bytes) else encode_head(head)
        self.connection.execute("BEGIN")
        cursor = self.connection.execute(
            "INSERT INTO records (name, step, time, head, num_bytes) VALUES (?, ?, ?, ?, ?)",
            (number, step, time, packed, len(data)),
        )
        self.connection.execute("INSERT INTO data VALUES (?, ?)", (cursor.lastrowid, data))
        self.connection.execute("COMMIT")
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def add_text(self, name: str, text: str, step: int = 0, time: float = 1000.0) -> int:
        head = TextHead(num_characters=len(text))
        return self.add_record("text", name, head, text.encode(), step, time)

    def thin(self, record: int) -> None:
        self.connection.execute("BEGIN")
        self.connection.execute("DELETE FROM data WHERE record = ?", (record,))
        self.connection.execute("DELETE FROM records WHERE id = ?", (record,))
        self.connection.execute("UPDATE sessions SET num_thinned = num_thinned + 1")
        self.connection.execute("COMMIT")

    def run(self, sql: str, *values: object) -> None:
        self.connection.execute(sql, values)  # type: ignore[arg-type]

    def finish(self, outcome: str = "finished", reason: str = "") -> None:
        self.run("UPDATE sessions SET ended = 2000.0, outcome = ?, reason = ?", outcome, reason)
        self.connection.close()

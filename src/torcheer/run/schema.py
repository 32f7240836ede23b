"""The tables of one part of a run: the SQLite file that one process writes.

Points of scalars stand in blocks of columns, so that a million of them are read as three arrays. A new batch
is a small block; the writer merges small ones into larger ones. A block knows which points of its series it
holds (`first`, `count`), so a reader that follows takes only what it does not have yet, whichever way they
were merged. Ids are never used twice. When points or records are taken back (`purge_step`), the generation
rises and readers begin again.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = 1
APPLICATION_ID: Final = 0x746F7263  # "torc", in the header of the file
PART_ENDING: Final = ".sqlite"
LOCK_ENDING: Final = ".lock"
PAGE_BYTES: Final = 8192

THINNED_STEPS: Final = "num_thinned_steps"

# The keys of `meta`: format, generation (whole numbers), comment, tags (JSON list), total_steps,
# num_thinned_steps (of statistics, over all sessions; records that were thinned are counted by session).
TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- one for each time that a process opened the part; ended is NULL until it closed it in good order
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started REAL NOT NULL,
    ended REAL,
    outcome TEXT NOT NULL DEFAULT '',   -- finished, or died
    reason TEXT NOT NULL DEFAULT '',    -- what it died of
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    num_dropped INTEGER NOT NULL DEFAULT 0,
    num_thinned INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT ''       -- what the reader should know: no WAL on this file system
);
CREATE TABLE IF NOT EXISTS names (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    UNIQUE (kind, name)
);
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name INTEGER NOT NULL REFERENCES names (id),
    first INTEGER NOT NULL,             -- how many points of the series stand before this block
    count INTEGER NOT NULL,
    level INTEGER NOT NULL,             -- how often it was merged
    num_bad INTEGER NOT NULL,           -- values that are NaN or infinite
    steps BLOB NOT NULL,                -- int64 each, little-endian
    times BLOB NOT NULL,                -- float64 each, seconds since 1970
    vals BLOB NOT NULL                  -- float64 each
);
CREATE INDEX IF NOT EXISTS points_by_name ON points (name, first);
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name INTEGER NOT NULL REFERENCES names (id),
    step INTEGER NOT NULL,
    time REAL NOT NULL,
    head BLOB NOT NULL,                 -- JSON, see records.py
    num_bytes INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_name ON records (name, id);
CREATE TABLE IF NOT EXISTS data (record INTEGER PRIMARY KEY REFERENCES records (id), bytes BLOB NOT NULL);
-- passes without their tensors, by the hash of their JSON, which is kept compressed (zlib)
CREATE TABLE IF NOT EXISTS documents (hash TEXT PRIMARY KEY, num_bytes INTEGER NOT NULL, json BLOB NOT NULL);
"""

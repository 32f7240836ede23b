"""The layers of a network at one moment belong together: they stay together, or go together.

Thinned one by one, the large layers would lose more moments than the small ones, and what a NetView draws
would never have been one pass. Weights are recorded when they change, and are no part of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from torcheer.run.netscene import NetScene
from torcheer.run.thinning import Candidate, Chosen, choose

_MOMENTS = -1  # the series that moments make, beside those that have a number in the table of names
_SCENES = msgspec.json.Decoder(NetScene)


def choose_with_moments(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, float, int, int]], num_bytes: int
) -> Chosen:
    """As `choose`; rows are id, step, time, bytes and series."""
    series = _series_of_layers(connection)
    single = [Candidate(*row) for row in rows if row[4] not in series]
    moments: dict[int, list[Candidate]] = {}
    for row in rows:
        if row[4] in series:
            moments.setdefault(row[1], []).append(Candidate(*row))
    whole = [_together(members) for members in moments.values()]
    chosen = choose([*single, *whole], num_bytes)
    by_first = {members[0].id: [one.id for one in members] for members in moments.values()}
    return Chosen([id for first in chosen.ids for id in by_first.get(first, [first])], chosen.num_bytes)


def _together(members: Sequence[Candidate]) -> Candidate:
    first = members[0]
    return first._replace(num_bytes=sum(one.num_bytes for one in members), series=_MOMENTS)


def _series_of_layers(connection: sqlite3.Connection) -> frozenset[int]:
    """The numbers of the series that the last scene names; none where there is no network."""
    found = connection.execute(
        "SELECT d.bytes FROM records r JOIN data d ON d.record = r.id WHERE r.name IN "
        "(SELECT id FROM names WHERE kind = 'netview') ORDER BY r.id DESC LIMIT 1"
    ).fetchone()
    if found is None:
        return frozenset()
    try:
        scene = _SCENES.decode(found[0])
    except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    wanted = {f"{layer.name}.{variable}" for layer in scene.layers for variable in layer.variables}
    names = connection.execute("SELECT id, name FROM names WHERE kind = 'tensor'")
    return frozenset(id for id, name in names if name in wanted)

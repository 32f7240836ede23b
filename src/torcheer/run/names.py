"""The names of a part's series, and the ids that stand for them."""

from __future__ import annotations

import sqlite3

from torcheer.run.observing.plaintext import plain_text
from torcheer.run.records import Kind


class Names:
    """Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        found = connection.execute("SELECT kind, name, id, description FROM names").fetchall()
        self._ids: dict[tuple[str, str], int] = {(kind, name): id for kind, name, id, _ in found}
        self._descriptions: dict[int, str] = {id: text for _, _, id, text in found if text}

    def id_of(self, kind: Kind, name: str) -> int:
        name = plain_text(name)
        id = self._ids.get((kind, name))
        if id is None:
            cursor = self._connection.execute("INSERT INTO names (kind, name) VALUES (?, ?)", (kind, name))
            assert cursor.lastrowid is not None
            id = self._ids[kind, name] = cursor.lastrowid
        return id

    def describe(self, id: int, description: str) -> None:
        """The last description holds."""
        if description and self._descriptions.get(id) != description:
            self._connection.execute(
                "UPDATE names SET description = ? WHERE id = ?", (plain_text(description), id)
            )
            self._descriptions[id] = description

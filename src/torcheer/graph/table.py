"""Plain text tables, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    widths = [
        max(len(title), *(len(row[i]) for row in rows)) if rows else len(title)
        for i, title in enumerate(titles)
    ]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "  ".join(parts).rstrip()

    rule = "─" * len("  ".join("x" * width for width in widths))
    return "\n".join([line(titles), rule, *(line(row) for row in rows), rule])

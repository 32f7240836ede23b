"""What a bench found, as tables: printed, written as JSON, and as docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from bench import peer

ROOT = Path(__file__).parent.parent
JSON_PATH = ROOT / "bench-output" / "latest.json"
DOCS_PATH = ROOT / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Written by `make bench`; every figure comes from one run of it. Times are ratios of CPU time, with one thread:
on a machine that others use too, all contenders run once a round, in rotated order, and what counts is the
median of the ratios within a round. In brackets: the fastest run against the other's fastest. A batch of one,
random weights.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A figure beside its budget."""

    what: str
    figure: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def is_met(self) -> bool:
        return (self.at_most is None or self.figure <= self.at_most) and (
            self.at_least is None or self.figure >= self.at_least
        )

    @property
    def word(self) -> str:
        return "met" if self.is_met else "**missed**"

    @property
    def budget(self) -> str:
        return f"≤ {self.at_most:,}" if self.at_most is not None else f"≥ {self.at_least:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        """Markdown that is also readable as it is: figures to the right."""
        widths = [max(len(row[i]) for row in (self.columns, *self.rows)) for i in range(len(self.columns))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines = [self.columns, rule, *self.rows]
        return "\n".join(_line(cells, widths) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join([first, *others])} |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What one bench found."""

    title: str
    parts: Sequence[str | Table]
    verdicts: Sequence[Verdict]
    data: Any  # the figures behind it, for the JSON

    def __str__(self) -> str:
        return "\n\n".join([f"## {self.title}", *map(str, self.parts)])


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torchlens": peer.version(),
        "load_at_start": round(os.getloadavg()[0], 1),
    }


def budget_table(sections: Sequence[Section]) -> Table:
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    return Table(
        columns=("budget", "limit", "measured", "state"),
        rows=[
            (verdict.what, verdict.budget, format_figure(verdict.figure), verdict.word)
            for verdict in sorted(verdicts, key=lambda v: v.is_met)
        ],
    )


def format_figure(figure: float) -> str:
    return f"{figure:,.2f}" if figure < 20 else f"{figure:,.0f}"


def document(sections: Sequence[Section], about: dict[str, Any]) -> str:
    line = (
        f"Machine: {about['cores']} cores ({about['architecture']}, {about['system']}), "
        f"Python {about['python']}, torch {about['torch']}, TorchLens {about['torchlens'] or 'absent'}; "
        f"load average {about['load_at_start']} when it started."
    )
    budgets = f"## Budgets\n\n{budget_table(sections)}"
    return "\n\n".join([INTRODUCTION.strip(), line, budgets, *map(str, sections)]) + "\n"


def write_json(sections: Sequence[Section], about: dict[str, Any]) -> Path:
    JSON_PATH.parent.mkdir(exist_ok=True)
    content = {
        "machine": about,
        "sections": [
            {
                "title": section.title,
                "verdicts": [{**asdict(v), "met": v.is_met} for v in section.verdicts],
                "data": section.data,
            }
            for section in sections
        ],
    }
    JSON_PATH.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return JSON_PATH


def write_docs(text: str) -> Path:
    DOCS_PATH.write_text(text, encoding="utf-8")
    return DOCS_PATH

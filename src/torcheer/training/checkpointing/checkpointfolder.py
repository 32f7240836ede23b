"""A folder of checkpoints: which are there, which is the best, and a list of them that a person can read.

The files decide. `checkpoints.json` is written for people, and never read.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from torcheer.errors import FileFormatError
from torcheer.tensorfile import write_whole
from torcheer.training.checkpointing.checkpointfile import read_document
from torcheer.training.checkpointing.statetree import decoded

INDEX = "checkpoints.json"
_FILE = re.compile(r"step-(\d{8,18})\.safetensors")
_UNFINISHED = re.compile(r"(step-\d{8,18}\.safetensors|checkpoints\.json)\.[0-9a-f]+\.partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One file, as far as its header tells."""

    path: Path
    step: int
    epoch: int | None = None
    saved_at: str = ""
    metrics: dict[str, Any]
    measure: str = ""  # by which metric the best one is kept; empty where none is
    mode: str = "min"
    value: float | None = None  # of that metric, where it was measured with just this state
    problem: str = ""  # what keeps it from being opened

    @property
    def rank(self) -> float:
        """The smaller, the better. A value that is no number is worse than all."""
        if self.value is None or self.value != self.value:
            return float("inf")
        return self.value if self.mode == "min" else -self.value


def file_name(step: int) -> str:
    return f"step-{step:08d}.safetensors"


def stored_in(folder: str | os.PathLike[str]) -> list[Stored]:
    """Those that are there, the newest first."""
    names = [match for name in os.listdir(folder) if (match := _FILE.fullmatch(name))]
    found = [_look(Path(folder) / match[0], int(match[1])) for match in names]
    return sorted(found, key=lambda one: -one.step)


def _look(path: Path, step: int) -> Stored:
    try:
        document = read_document(str(path))
        state = {name: document["state"].get(name) for name in ("position", "metrics", "keeping")}
        tree = decoded(state, {})
        keeping = tree["keeping"] or {}
        return Stored(
            path=path,
            step=step,
            epoch=tree["position"].get("epoch"),
            saved_at=str(document.get("saved_at", "")),
            metrics=dict(tree["metrics"] or {}),
            measure=str(keeping.get("measure", "")),
            mode=str(keeping.get("mode", "min")),
            value=keeping.get("value"),
        )
    except FileFormatError as error:
        return Stored(path=path, step=step, metrics={}, problem=str(error))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return Stored(path=path, step=step, metrics={}, problem=f"{path} cannot be read: {error}")


def best_first(stored: Sequence[Stored]) -> list[Stored]:
    """Those that were measured, the best first; of equals the oldest, which needed least."""
    measured = [one for one in stored if one.value is not None and not one.problem]
    return sorted(measured, key=lambda one: (one.rank, one.step))


def write_index(folder: Path, stored: Sequence[Stored]) -> None:
    """List what is there, for whoever looks into the folder."""
    best = next(iter(best_first(stored)), None)
    rows = [
        {
            "file": one.path.name,
            "step": one.step,
            "epoch": one.epoch,
            "saved_at": one.saved_at,
            "metrics": one.metrics,
            "is_best": one is best,
        }
        for one in stored
    ]
    head = {} if best is None else {"best": best.path.name, "best_by": f"{best.mode} of {best.measure}"}
    text = msgspec.json.format(msgspec.json.encode({**head, "checkpoints": rows}), indent=2)

    def write(file: BinaryIO) -> None:
        file.write(text + b"\n")

    write_whole(folder / INDEX, "a list of checkpoints", write, example=INDEX)


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed while it wrote has left."""
    for name in os.listdir(folder):
        if _UNFINISHED.fullmatch(name):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def set_aside(stored: Sequence[Stored], folder: Path, reason: str) -> Path:
    """Move files out of the way, into a new folder beside them: nothing that somebody made is deleted."""
    number = 1
    while (place := folder / f"{reason}-{number}").exists():
        number += 1
    place.mkdir()
    for one in stored:
        os.replace(one.path, place / one.path.name)
    return place

"""Read all that a run holds, by the methods that users have. Errors of ours are answers, too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torcheer as tl
from torcheer.errors import TorcheerError

_RECORDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "tensor": ("tensors", ("array",)),
    "histogram": ("histograms", ("edges", "counts")),
    "image": ("images", ("raw", "width")),
    "video": ("videos", ("frames",)),
    "audio": ("audios", ("raw",)),
    "text": ("texts", ("text",)),
    "embedding": ("embeddings", ("matrix", "labels")),
    "pr_curve": ("pr_curves", ("precision", "thresholds")),
    "confusion": ("confusions", ("matrix", "labels")),
    "pass": ("passes", ("figures", "document")),
}


def read_all(run: tl.SavedRun) -> None:
    """Everything, once. What is no error of ours comes through."""
    repr(run)
    run.names()
    attempt(run.scalars)
    attempt(run.hparams)
    for kind, (method, parts) in _RECORDS.items():
        for name in run.names(kind):  # type: ignore[arg-type]
            for record in attempt(getattr(run, method), name) or ():
                repr(record)
                for part in parts:
                    attempt(getattr, record, part)
    for name in run.names("table"):
        table = attempt(run.table, name)
        if table is not None:
            attempt(lambda table=table: [len(table), table.columns, list(table.rows())])
    attempt(lambda: (run.alarms, run.gaps))
    attempt(lambda: [run.watched[row] for row in run.watched])
    run.status()


def attempt(work: Callable[..., Any], *arguments: Any) -> Any:
    with suppress(TorcheerError):
        return work(*arguments)
    return None


def read_folder(folder: Path) -> None:
    with suppress(TorcheerError), tl.open_run(folder) as run:
        read_all(run)

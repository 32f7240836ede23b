"""Keep what happens in one run of a training: its scalars and its tables, in a folder of its own."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from torcheer.errors import InputError
from torcheer.run import Run
from torcheer.training.looping.tallies import Seen
from torcheer.training.looping.testing import Tested

EPOCHS: Final = "train epochs"
TRIALS: Final = "test trials"
ITEMS: Final = "test items"
TESTS: Final = "test epochs"
RUNS: Final = "runs"

Row = dict[str, Any]


class Recording:
    """One run on disk. Steps count its trials; what is known before the first has step 0."""

    def __init__(self, folder: Path, hparams: Mapping[str, Any], total_steps: int | None) -> None:
        self.path = folder
        self.run = Run(folder, total_steps=total_steps)
        self.run.log_hparams(hparams)

    def trial(self, step: int, batch: Seen, grad_norm: float | None, lr: float | None) -> None:
        values: dict[str, float | None] = {
            "loss": batch.loss,
            "errors": batch.num_wrong,
            "accuracy": batch.accuracy,
            **batch.statistics,
            "grad_norm": grad_norm,
            "lr": lr,
        }
        self.run.log(step, {f"train/{name}": value for name, value in values.items() if value is not None})

    def epoch(self, step: int, row: Row, figures: Mapping[str, float]) -> None:
        self.run.log(step, {f"epoch/{name}": value for name, value in figures.items()})
        self.run.log_row(step, EPOCHS, row)

    def test(self, step: int, tested: Tested, counters: Row) -> Row:
        """All items of a test, and what they come to. Returns that as a row."""
        self.run.log(step, {f"test/{name}": value for name, value in tested.figures.items()})
        self.run.log_table(step, TRIALS, tested.columns)
        row = {**counters, "items": tested.num_items, **tested.figures, "seconds": tested.seconds}
        self.run.log_row(step, TESTS, row)
        return row

    def item(self, step: int, row: Row) -> None:
        self.run.log_row(step, ITEMS, row)

    def end(self, step: int, row: Row) -> None:
        self.run.log_row(step, RUNS, row)
        self.run.close()

    def open_again(self) -> Run:
        """After its end, for a test that somebody wants to see."""
        self.run = Run(self.path)
        return self.run

    def close(self, error: BaseException | None = None) -> None:
        self.run.__exit__(None if error is None else type(error), error, None)


def new_session(folder: str | os.PathLike[str], name: str) -> Path:
    """A folder for the runs of one beginning: `runs/etra25-3`. Nobody else has it."""
    base = Path(os.path.abspath(os.path.expanduser(os.fspath(folder))))
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "loop"
    for number in itertools.count(1):
        session = base / f"{plain}-{number}"
        try:
            session.mkdir(parents=True)
        except FileExistsError:
            if not session.exists():  # something else than a folder is in the way
                raise
            continue
        except OSError as error:
            raise InputError(
                f"{session} cannot be made ({error.strerror}): give a folder= where runs can be written."
            ) from error
        return session
    raise AssertionError

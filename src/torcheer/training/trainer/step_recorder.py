"""Write what happens to a training into its history and its run: every step, and every epoch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import closing
from time import perf_counter, time
from typing import Any, Self

from torch import Tensor

from torcheer.run import Run, RunAccess, RunReader
from torcheer.training import distributed
from torcheer.training.loss_functions import is_sum
from torcheer.training.metrics import numbers_of, weighted_mean
from torcheer.training.trainer.callbacks import Training
from torcheer.training.trainer.stepper import Stepped
from torcheer.training.training_warning import warn

_WORDS = re.compile(r"[\w/ ]+")
_INTERVAL_SECONDS = 0.2  # after which a run has a step, at the latest
_MOST_STEPS = 256  # whose notes are kept, where nobody waits for them
LOSS, LR, NORM, ITEMS = "train/loss", "train/lr", "train/grad_norm", "train/items"


class Recorder:
    """Writes down what happens to a training, until it is closed.

    Of a step, only what must be taken at once is taken at once: the rest is done for many together, a few
    times a second. Whoever reads the history meanwhile finds all of it there.
    """

    def __init__(self, training: Training, settings: Mapping[str, Any]) -> None:
        self._training = training
        self._run = training.run
        self._prefix = next(iter(distributed.names_of_rank({"": None})))
        self._is_read_at_once = training.device.type == "cpu"  # where nobody has to wait for a number
        self._is_broken = False  # the loss was no number once, and that was said
        self._began = perf_counter()
        self._due = 0.0
        self._begin_notes()
        training.history.steps.before_reading = self.flush
        if self._run is not None and distributed.is_main():
            self._run.log_hparams(settings)
            _lay_out(self._run, training.figures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        history = self._training.history
        history.steps.before_reading = None
        if self._run is not None and distributed.is_main() and len(history):
            came = {name: float(history[name][-1]) for name in history.names}
            self._run.log_hparams({}, came, step=self._training.step)

    # --- steps ---------------------------------------------------------------------------------------------

    def _begin_notes(self) -> None:
        """Of steps that are not written down yet."""
        self._steps: list[tuple[float | Tensor, float | Tensor, int]] = []  # loss, learning rate, items
        self._times: list[float] = []
        self._more: dict[str, dict[int, float | Tensor]] = {}  # what not every step has, by its place above

    def after_step(self, stepped: Stepped) -> None:
        training = self._training
        training.stepped = stepped
        training.batches_done += 1
        training.steps_done += 1
        loss = stepped.own_loss.item() if self._is_read_at_once else stepped.loss
        rate = training.optimizer.param_groups[0].get("lr", math.nan)
        self._steps.append((loss, rate, stepped.num_items))
        if stepped.grad_norm is not None or training.metrics:
            self._note_more(stepped)
        if self._run is not None:
            now = time()
            self._times.append(now)
            if now >= self._due:
                self.flush()
                self._due = now + _INTERVAL_SECONDS
        elif len(self._steps) >= _MOST_STEPS:
            self.flush()

    def _note_more(self, stepped: Stepped) -> None:
        place = len(self._steps) - 1
        if stepped.grad_norm is not None:
            self._more.setdefault(NORM, {})[place] = stepped.grad_norm
        for name, metric in self._training.metrics.items():
            value = metric.update(stepped.outputs, stepped.targets, stepped.num_items)
            if value is not None:
                self._more.setdefault(f"train/{name}", {})[place] = value

    def flush(self) -> None:
        """Write down all steps that were made."""
        steps, times, num_steps = self._steps, self._times, len(self._steps)
        if not num_steps:
            return
        losses, rates, items = (numbers_of(column) for column in zip(*steps, strict=True))
        more = {
            name: dict(zip(noted, numbers_of(list(noted.values())), strict=True))
            for name, noted in self._more.items()
        }
        self._begin_notes()
        columns = {name: [noted.get(n, math.nan) for n in range(num_steps)] for name, noted in more.items()}
        self._training.history.steps.extend({LOSS: losses, LR: rates, **columns, ITEMS: items}, num_steps)
        first = self._training.steps_done - num_steps
        if self._run is not None:
            prefix = self._prefix
            for n, when in enumerate(times):
                values = {prefix + LOSS: losses[n], prefix + LR: rates[n]}
                values |= {prefix + name: noted[n] for name, noted in more.items() if n in noted}
                RunAccess(self._run).put_scalars(first + n, when, values)
        broken = next((n for n, loss in enumerate(losses) if not math.isfinite(loss)), None)
        if broken is not None:
            self._say_broken(losses[broken], first + broken)

    # --- epochs --------------------------------------------------------------------------------------------

    def begin_epoch(self) -> None:
        self._began = perf_counter()

    def train_figures(self) -> dict[str, float]:
        """The means over the epoch that ends, of all ranks together."""
        training = self._training
        first = training.steps_done - training.batches_done
        steps = training.history.steps
        losses, items = steps.tail(LOSS, first), steps.tail(ITEMS, first)
        means = {"loss": weighted_mean(losses / items if is_sum(training.stepper.loss) else losses, items)}
        means |= {name: metric.compute() for name, metric in training.metrics.items()}
        return distributed.mean_over_ranks(
            {f"train/{name}": value for name, value in means.items()}, weight=float(items.sum())
        )

    def end_epoch(self, figures: Mapping[str, float]) -> None:
        """What an epoch came to: `train/…` of its batches, `test/…` after it."""
        training = self._training
        training.history.add_epoch(figures, step=training.step, seconds=perf_counter() - self._began)
        if self._run is not None and distributed.is_main():
            # In a run, what is named train/… has a point for each step.
            named = {
                "epoch/" + name.removeprefix("train/") if name.startswith("train/") else name: value
                for name, value in figures.items()
            }
            self._run.log(training.step, named)

    def _say_broken(self, loss: float, step: int) -> None:
        if not self._is_broken:
            self._is_broken = True
            warn(
                f"the loss is {loss} at step {step}: from here on the weights are most likely broken, too. "
                "The training goes on; tl.StopOnNonFinite() among the callbacks ends it, clip_norm=1.0 or "
                "a smaller learning rate may prevent it."
            )


def _lay_out(run: Run, figures: tuple[str, ...]) -> None:
    """Have each figure of the test in one chart with that of the training. A layout that is there stays."""
    names = [name.removeprefix("test/") for name in figures if name.startswith("test/")]
    pairs = {name: ["Multiline", [_pattern(f"epoch/{name}"), _pattern(f"test/{name}")]] for name in names}
    if pairs and not _has_layout(run):
        run.log_layout({"epochs": pairs})


def _pattern(name: str) -> str:
    """The names of a layout are patterns of how a name begins: top1 is no top10. Others are names as well."""
    return f"{name}$" if _WORDS.fullmatch(name) else name


def _has_layout(run: Run) -> bool:
    run.flush()
    try:
        with closing(RunReader(run.path)) as reader:
            return any(key.kind == "layout" for key in reader.series())
    except Exception:  # a folder that cannot be read is no reason to end a training
        return True

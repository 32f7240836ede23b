"""`TorcheerCallback`: watch the layers of a LightningModule, and record what is inside of it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from torcheer.inspector import Watcher
from torcheer.run import Run, folder_of
from torcheer.training.distributed import names_of_rank
from torcheer.training.lightning.bases import CALLBACKS
from torcheer.training.lightning.logger import TorcheerLogger
from torcheer.training.observing.recording import Recording
from torcheer.training.observing.snapshots import Often, Snapshots
from torcheer.training.observing.watchoptions import Watch, begin_watching, watch_options


class TorcheerCallback(*CALLBACKS):  # type: ignore[misc]
    """A callback of Lightning's: `Trainer(callbacks=[TorcheerCallback(watch="20/s")])`.

    It records into the run of the Trainer's `TorcheerLogger`. Where there is none, into one of its own, to
    which it also writes the loss and the epoch of each step. Where several processes train together, each
    records a part of its own. A fit that goes on from a checkpoint takes back what the run has from that step
    on.

    - `run`: the folder of its own run, where there is no `TorcheerLogger`; a new one in `runs/` if left out.
    - `watch`: how often the layers are watched, `'20/s'` or every so many steps; a dict with options of
      `tl.watch`; or False.
    - `histograms`, `passes`, `netview`: histograms of weights and their gradients, a pass with the figures of
      each op, a moment for NetView: `'epoch'` for the first step of each epoch, or every so many steps.

    Steps are those that Lightning gives to its loggers. With `fast_dev_run` nothing is recorded.
    """

    def __init__(
        self,
        run: str | os.PathLike[str] | None = None,
        *,
        watch: Watch = "20/s",
        histograms: Often = None,
        passes: Often = None,
        netview: Often = None,
    ) -> None:
        super().__init__()
        watch_options(watch)  # what makes no sense is told now, not when the training begins
        self._snapshots = Snapshots(histograms=histograms, passes=passes, netview=netview)
        self._watch = watch
        self._folder = None if run is None else str(folder_of(run))
        self._is_given = run is not None
        self._recording: Recording | None = None
        self._own_run: Run | None = None  # the one that is recorded into, where nobody else writes it
        self._is_at_beginning = True  # of a step, which may take several batches
        self._loss: Any = None  # of the batches of this step

    @property
    def run(self) -> Run | None:
        """Where it records, while it does."""
        return None if self._recording is None else self._recording.run

    @property
    def watcher(self) -> Watcher | None:
        return None if self._recording is None else self._recording.watcher

    # --- the beginning --------------------------------------------------------------------------------------

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.fast_dev_run:
            return
        self._end(None)
        first_step = _step_of(trainer)
        recording = self._recording = self._opened(trainer, first_step if trainer.ckpt_path else None)
        rank, optimizers = trainer.global_rank, trainer.optimizers
        begin_watching(recording, self._watch, pl_module, optimizers, first_step=first_step, rank=rank)
        if rank == 0 and self._snapshots.are_wanted:
            self._snapshots.begin(pl_module, recording.run, recording.watcher)
        self._is_at_beginning = True

    def _opened(self, trainer: Any, purge_step: int | None) -> Recording:
        logger = next((one for one in trainer.loggers if isinstance(one, TorcheerLogger)), None)
        if logger is not None:
            folder = logger.log_dir
        elif self._folder is not None and (self._is_given or trainer.ckpt_path):
            folder = self._folder
        else:
            folder = str(folder_of(None)) if trainer.global_rank == 0 else ""
        # The others have not the same clock, nor may they count the same folders.
        folder = trainer.strategy.broadcast(folder)
        if logger is not None and trainer.global_rank == 0:
            if purge_step is not None:
                logger.take_back(purge_step)
            return Recording(logger.run, is_own=False)
        self._folder = folder
        self._own_run = Run(
            folder, rank=trainer.global_rank, purge_step=purge_step, total_steps=_total_steps(trainer)
        )
        return Recording(self._own_run)

    # --- step by step ---------------------------------------------------------------------------------------

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._own_run is not None:
            self._own_run.log(_step_of(trainer), names_of_rank({"epoch": trainer.current_epoch}))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._recording is not None and self._is_at_beginning:
            self._is_at_beginning = False
            self._snapshots.before_step(_step_of(trainer), is_first_of_epoch=batch_idx == 0)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self._recording is not None:
            self._snapshots.on_gradients(_step_of(trainer))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._recording is None:
            return
        loss = _loss_of(outputs)
        if loss is not None:
            self._loss = loss if self._loss is None else self._loss + loss
        if trainer.fit_loop._should_accumulate():
            return
        step, loss = _step_of(trainer), self._loss
        self._is_at_beginning, self._loss = True, None
        if self._own_run is not None and loss is not None:
            self._own_run.log(step, names_of_rank({"train/loss": loss}))
        self._snapshots.after_step(step, epoch=trainer.current_epoch, trial=batch_idx)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        # The layers run many times there, and none of that belongs to a step of the training.
        if self.watcher is not None:
            self.watcher.enabled = False

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self.watcher is not None:
            self.watcher.enabled = True

    # --- the end --------------------------------------------------------------------------------------------

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end(None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        recording, self._recording = self._recording, None
        self._own_run = self._loss = None
        self._snapshots.end()
        if recording is not None:
            recording.end(error)

    # --- in checkpoints -------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        return {} if self._folder is None else {"run": self._folder}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._is_given:
            self._folder = state_dict.get("run")


def _step_of(trainer: Any) -> int:
    """As Lightning counts for its loggers: batches after which the optimizers stepped."""
    return int(trainer.fit_loop.epoch_loop._batches_that_stepped)


def _total_steps(trainer: Any) -> int | None:
    try:
        total = trainer.estimated_stepping_batches
    except Exception:  # it may not be known for these data
        return None
    return int(total) if total is not None and math.isfinite(total) and total >= 0 else None


def _loss_of(outputs: Any) -> Tensor | None:
    """Lightning gives it as it goes into the gradients: the share of this batch in the step."""
    loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
    return loss.detach() if isinstance(loss, Tensor) and loss.numel() == 1 else None

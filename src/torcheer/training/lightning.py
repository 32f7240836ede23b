"""Lightning's Trainer with torcheer: a logger for what the module logs, a callback for what is inside of it.

    from torcheer.training.lightning import TorcheerCallback, TorcheerLogger

    trainer = Trainer(logger=TorcheerLogger("runs"), callbacks=[TorcheerCallback(watch="20/s")])

Needs Lightning, as `lightning` or `pytorch_lightning`; nothing else of torcheer does.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from torcheer.run import Run, RunAccess, ending_of, folder_of
from torcheer.training.distributed import names_of_rank
from torcheer.training.recorded_training import Often, Recording, RecordingCallback, Watch

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _packages() -> list[Any]:
    """Those that the program has imported; where it has none yet, the one that is installed.

    Both hold the same code and know nothing of each other, so that where both are in use, both are taken.
    """
    imported = [sys.modules[name] for name in _PACKAGES if name in sys.modules]
    if imported:
        return imported
    for name in _PACKAGES:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return [importlib.import_module(name)]
    raise ImportError(
        "torcheer.training.lightning needs Lightning, which is not installed: pip install lightning"
    )


PACKAGES = _packages()
LOGGERS: tuple[type, ...] = tuple(package.loggers.logger.Logger for package in PACKAGES)
CALLBACKS: tuple[type, ...] = tuple(package.callbacks.Callback for package in PACKAGES)
DummyExperiment: Any = PACKAGES[0].loggers.logger.DummyExperiment
rank_zero_only: Any = PACKAGES[0].utilities.rank_zero.rank_zero_only


_VERSION = re.compile(r"version_([0-9]{1,9})")


class TorcheerLogger(*LOGGERS):  # type: ignore[misc]
    """A logger of Lightning's: `Trainer(logger=TorcheerLogger("runs"))`.

    The run is the folder `save_dir/name/version`, and `torcheer view runs` shows it while it is written. It
    ends with `fit`, as finished or with what it died of, and goes on where `test` or `validate` log more. As
    all loggers of Lightning it writes on rank 0 alone.

    - `name`: a folder for versions of the same thing; empty for none.
    - `version`: a number, or the folder's name; the next free number where it is left out. One that is there
      already goes on.
    - `prefix`: is put before each name, with a slash.
    - `comment`, `tags`, `total_steps`, `purge_step`, `max_bytes`: of the `tl.Run`.
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str] = "runs",
        name: str | None = "lightning",
        version: int | str | None = None,
        prefix: str = "",
        **run_options: Any,
    ) -> None:
        super().__init__()
        self._save_dir = os.fspath(save_dir)
        self._name = name or ""
        self._version = version
        self._prefix = f"{prefix}{self.group_separator}" if prefix else ""
        self._run_options = run_options
        self._run: Run | None = None
        self._num_logged = 0  # calls that named no step

    @property
    def save_dir(self) -> str:
        return self._save_dir

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> int | str:
        if self._version is None:
            self._version = _next_version(Path(self.root_dir))
        return self._version

    @property
    def root_dir(self) -> str:
        """Where all versions are."""
        return os.path.join(self._save_dir, self._name)

    @property
    def log_dir(self) -> str:
        """The folder of the run."""
        version = self.version if isinstance(self.version, str) else f"version_{self.version}"
        return os.path.join(self.root_dir, version)

    @property
    def experiment(self) -> Any:
        """The `tl.Run`: `self.logger.experiment.log_image(step, "sample", image)` in a LightningModule."""
        return DummyExperiment() if rank_zero_only.rank > 0 else self.run

    @property
    def run(self) -> Run:
        """Opened where it is not; what ended goes on."""
        if self._run is None or self._run.state != "running":
            self._run = Run(self.log_dir, rank=0, **self._run_options)
            self._run_options.pop("purge_step", None)  # what comes after it must not be taken back
        return self._run

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        if rank_zero_only.rank == 0:
            if step is None:
                step, self._num_logged = self._num_logged, self._num_logged + 1
            self.run.log(step, {self._prefix + name: value for name, value in metrics.items()})

    def log_hyperparams(
        self, params: Any = None, metrics: Mapping[str, Any] | None = None, step: int | None = None
    ) -> None:
        if rank_zero_only.rank == 0 and (params or metrics):
            is_data = is_dataclass(params) and not isinstance(params, type)
            self.run.log_hparams(asdict(params) if is_data else params or {}, metrics, step=step or 0)

    def take_back(self, first_step: int) -> None:
        """What earlier sessions logged from this step on: a training that goes on logs it anew."""
        if rank_zero_only.rank == 0:
            if self._run is not None:
                self._run.close()
            self._run_options["purge_step"] = first_step
            _ = self.run  # is opened

    def finalize(self, status: str) -> None:
        """The end, as Lightning says it: success, failed or aborted."""
        if self._run is None or rank_zero_only.rank > 0:
            return
        error = None
        if status != "success":
            # Lightning does not say what failed, but says so while it handles it.
            error = sys.exc_info()[1] or RuntimeError(f"the Trainer said: {status}")
        RunAccess(self._run).close(ending_of(error))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_run": None}  # another process opens its own


def _next_version(folder: Path) -> int:
    try:
        found = [_VERSION.fullmatch(name) for name in os.listdir(folder)]
    except OSError:
        return 0
    return max((int(match[1]) + 1 for match in found if match), default=0)


class TorcheerCallback(RecordingCallback, *CALLBACKS):  # type: ignore[misc]
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
        super().__init__(watch, histograms=histograms, passes=passes, netview=netview)
        self._folder = None if run is None else str(folder_of(run))
        self._is_given = run is not None
        self._own_run: Run | None = None  # the one that is recorded into, where nobody else writes it
        self._is_at_beginning = True  # of a step, which may take several batches
        self._loss: Any = None  # of the batches of this step

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if trainer.fast_dev_run:
            return
        self._end(None)
        first_step = _step_of(trainer)
        recording = self._opened(trainer, first_step if trainer.ckpt_path else None)
        rank = trainer.global_rank
        self._begin(recording, pl_module, trainer.optimizers, first_step=first_step, rank=rank)
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

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._own_run is not None:
            self._own_run.log(_step_of(trainer), names_of_rank({"epoch": trainer.current_epoch}))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        if self._recording is not None and self._is_at_beginning:
            self._is_at_beginning = False
            self._before_step(_step_of(trainer), is_first_of_epoch=batch_idx == 0)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        if self._recording is not None:
            self._on_gradients(_step_of(trainer))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._recording is None:
            return
        # Lightning gives it as it goes into the gradients: the share of this batch in the step.
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if isinstance(loss, Tensor) and loss.numel() == 1:
            self._loss = loss.detach() if self._loss is None else self._loss + loss.detach()
        if trainer.fit_loop._should_accumulate():
            return
        step, loss = _step_of(trainer), self._loss
        self._is_at_beginning, self._loss = True, None
        if self._own_run is not None and loss is not None:
            self._own_run.log(step, names_of_rank({"train/loss": loss}))
        self._after_step(step, epoch=trainer.current_epoch, trial=batch_idx)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        # The layers run many times there, and none of that belongs to a step of the training.
        if self.watcher is not None:
            self.watcher.enabled = False

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if self.watcher is not None:
            self.watcher.enabled = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end(None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        self._own_run = self._loss = None
        super()._end(error)

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

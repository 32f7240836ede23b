"""`TorcheerLogger`: what a LightningModule logs goes into a run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from torcheer.capture import moved
from torcheer.run import GRAPH, Run, pass_of
from torcheer.training.lightning.bases import LOGGERS, DummyExperiment, rank_zero_only
from torcheer.training.telling import warn

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
    - `log_graph`: keep a pass of the model, where it has an `example_input_array`.
    - `comment`, `tags`, `total_steps`, `purge_step`, `max_bytes`: of the `tl.Run`.
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str] = "runs",
        name: str | None = "lightning",
        version: int | str | None = None,
        prefix: str = "",
        *,
        log_graph: bool = False,
        **run_options: Any,
    ) -> None:
        super().__init__()
        self._save_dir = os.fspath(save_dir)
        self._name = name or ""
        self._version = version
        self._prefix = f"{prefix}{self.group_separator}" if prefix else ""
        self._log_graph = log_graph
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
            self._run = self._opened()
        return self._run

    def _opened(self) -> Run:
        run = Run(self.log_dir, rank=0, **self._run_options)
        self._run_options.pop("purge_step", None)  # what comes after it must not be taken back
        return run

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        if rank_zero_only.rank == 0:
            if step is None:
                step, self._num_logged = self._num_logged, self._num_logged + 1
            self.run.log(step, {self._prefix + name: value for name, value in metrics.items()})

    def log_hyperparams(
        self, params: Any = None, metrics: Mapping[str, Any] | None = None, step: int | None = None
    ) -> None:
        if rank_zero_only.rank == 0 and (params or metrics):
            self.run.log_hparams(_named(params), metrics, step=0 if step is None else step)

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        if not self._log_graph or rank_zero_only.rank > 0:
            return
        inputs = getattr(model, "example_input_array", None) if input_array is None else input_array
        if inputs is None:
            warn("log_graph: the model has no example_input_array: set it to what forward takes.")
            return
        try:
            device = getattr(model, "device", None)
            self.run.log_pass(0, GRAPH, pass_of(model, _on(inputs, device)))
        except Exception as error:  # a look at the model must not end its training
            warn(f"log_graph: {type(error).__name__}: {error}")

    def take_back(self, first_step: int) -> None:
        """What earlier sessions logged from this step on: a training that goes on logs it anew."""
        if rank_zero_only.rank == 0:
            if self._run is not None:
                self._run.close()
            self._run_options["purge_step"] = first_step
            self._run = self._opened()

    def finalize(self, status: str) -> None:
        """The end, as Lightning says it: success, failed or aborted."""
        if self._run is None or rank_zero_only.rank > 0:
            return
        error = None
        if status != "success":
            # Lightning does not say what failed, but says so while it handles it.
            error = sys.exc_info()[1] or RuntimeError(f"the Trainer said: {status}")
        self._run.__exit__(None if error is None else type(error), error, None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_run": None}  # another process opens its own


def _next_version(folder: Path) -> int:
    try:
        found = [_VERSION.fullmatch(name) for name in os.listdir(folder)]
    except OSError:
        return 0
    return max((int(match[1]) + 1 for match in found if match), default=0)


def _named(params: Any) -> Any:
    if params is None:
        return {}
    return asdict(params) if is_dataclass(params) and not isinstance(params, type) else params


def _on(inputs: Any, device: Any) -> Any:
    return inputs if device is None else moved(inputs, device)

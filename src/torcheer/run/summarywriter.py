"""A stand-in for `torch.utils.tensorboard.SummaryWriter`: the same methods, and a run behind them.

What that class would raise is told once here, and the training goes on.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from datetime import datetime
from types import TracebackType
from typing import Any

from torcheer.errors import InputError
from torcheer.run.observing.adding import Adding, step_or_first
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.parameters import encode_layout
from torcheer.run.observing.singlenumber import single_number
from torcheer.run.observing.steps import checked_name, step_of, time_of
from torcheer.run.run import Run
from torcheer.run.seam import pass_of
from torcheer.run.summaries import FileWriter

GRAPH = "graph"  # the name under which add_graph keeps a pass


class SummaryWriter(Adding):
    """Changing the import is all that a script needs.

    - `log_dir`: the run's folder; `runs/` with the date, the host and `comment` where it is left out.
    - `purge_step`: takes back what an earlier process logged in this folder from this step on.
    - `max_queue`, `flush_secs`, `filename_suffix`: accepted, and of no use: what was logged is on disk within
      half a second.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._comment = comment
        self._layout: dict[str, dict[str, Any]] = {}
        self._opening = threading.RLock()  # the handler of a signal may log, too
        self._run: Run | None = None
        self._open_run()
        self.file_writer = FileWriter(log_dir, self._open_run)
        self.all_writers = {log_dir: self.file_writer}

    def _get_file_writer(self) -> FileWriter:
        return self.file_writer

    def _open_run(self) -> Run:
        """The run; opened again after `close`."""
        run = self._run
        if run is not None:
            return run
        with self._opening:
            if self._run is None:
                self._run = Run(self.log_dir, comment=self._comment, purge_step=self.purge_step)
                self.purge_step = None  # what comes after it must not be taken back
            return self._run

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        self._open_run()._tell(message, cause, series)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The run's folder."""
        return self.log_dir

    # --- numbers -----------------------------------------------------------------------------------

    @never_raising
    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log a number. `new_style` and `double_precision` change nothing: numbers are kept as float64."""
        run = self._open_run()
        value = scalar_value if type(scalar_value) is float else single_number(scalar_value)
        step = 0 if global_step is None else global_step
        if walltime is None:
            run.log(step, {tag: value})
        else:
            run._put_scalars(step_of(step), time_of(walltime), {checked_name(tag): float(value)})

    @never_raising
    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log numbers that are shown in one chart, under the names `main_tag/tag`."""
        run = self._open_run()
        now = time_of(walltime)
        values = {f"{main_tag}/{tag}": float(single_number(value)) for tag, value in tag_scalar_dict.items()}
        for name in values:
            run._describe("scalar", name, f"of {main_tag}")
        run._put_scalars(step_of(step_or_first(global_step)), now, values)

    # --- the model and its settings ----------------------------------------------------------------

    @never_raising
    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Run the model once on `input_to_model` and log the pass. The model is left as it was."""
        run = self._open_run()
        # A dict is one argument here, where capture would take it for named ones.
        inputs = (input_to_model,) if isinstance(input_to_model, dict) else input_to_model
        history = pass_of(model, inputs)
        if verbose:
            sys.stdout.write(f"{history}\n")
        run.log_pass(0, GRAPH, history)

    @never_raising
    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not kept: told once."""
        self._tell("add_onnx_graph: ONNX files are not read. Log the model itself, add_graph(model, input).")

    @never_raising
    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log settings and results as a run of its own, in the folder `run_name` within this one's."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise InputError("hyperparameters and metrics are each a dict of names and values.")
        step = step_or_first(global_step)
        with Run(os.path.join(self.log_dir, run_name or str(time.time()))) as run:
            run.log_hparams(hparam_dict, metric_dict, step=step)
            run.log(step, {name: single_number(value) for name, value in metric_dict.items()})

    @never_raising
    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which charts belong together: `{"group": {"chart": ["Multiline", ["a", "b"]]}}`."""
        run = self._open_run()
        encode_layout(layout)  # raises, before a chart that cannot be is put to the others
        for category, charts in layout.items():
            self._layout[category] = {**self._layout.get(category, {}), **charts}
        run.log_layout(self._layout)

    @never_raising
    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show these scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    @never_raising
    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show three scalars as a value between its lower and its upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    @never_raising
    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Not kept: told once."""
        self._tell(
            f"add_mesh {tag!r}: there is no view of meshes, so it is not kept. add_tensor keeps the vertices "
            "as numbers, and add_embedding(vertices) shows them as points in 3D.",
            "add_mesh",
        )

    # --- the end -----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Wait until all that was logged is on disk."""
        run = self._run
        if run is not None:
            run.flush()

    def close(self) -> None:
        """End the run. What is added later goes on with it."""
        self._end(None, None, None)

    def _end(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opening:
            run, self._run = self._run, None
        if run is not None:
            run.__exit__(kind, error, trace)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        # With the error, so that the run shows what it died of.
        self._end(exc_type, exc_val, exc_tb)

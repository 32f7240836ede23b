"""A stand-in for `torch.utils.tensorboard.SummaryWriter`: the same methods, and a run behind them.

What that class would raise is told once here, and the training goes on.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any

from torcheer.errors import InputError
from torcheer.run.encode.classification import WRITER_THRESHOLDS
from torcheer.run.encode.media import rescaled
from torcheer.run.encode.passes import pass_of
from torcheer.run.encode.steps_names_hparams import (
    checked_name,
    layout_record,
    single_number,
    step_of,
    time_of,
)
from torcheer.run.log_methods import never_raising
from torcheer.run.records import Encoded, Pending
from torcheer.run.run import Run
from torcheer.run.tensorboard import event_file
from torcheer.run.tensorboard.event_values import FoundPoint, Plugins, read_value


@never_raising
class FileWriter:
    """As much of TensorBoard's as scripts use: summaries and events go into the run."""

    def __init__(self, log_dir: str | os.PathLike[str], open_run: Callable[[], Run]) -> None:
        self._log_dir = log_dir
        self._open_run = open_run
        self._plugins: Plugins = {}

    def get_logdir(self) -> str | os.PathLike[str]:
        return self._log_dir

    def add_summary(
        self, summary: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Keep what a summary holds: the message itself, or its bytes."""
        event = event_file.Event(time=time_of(walltime), step=step_of(global_step or 0))
        self._keep(event, event_file.values_of_summary(_bytes_of(summary)))

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Keep what an event holds: the message itself, or its bytes."""
        data = _bytes_of(event)
        read = event_file.read_event(data)
        read.time = time_of(walltime if walltime is not None or not read.time else read.time)
        read.step = read.step if step is None else step_of(step)
        self._keep(read, event_file.values_of_event(data))

    def flush(self) -> None:
        self._open_run().flush()

    def close(self) -> None:
        """The run is closed by its writer."""

    def reopen(self) -> None:
        """It opens by itself."""

    def _keep(self, event: event_file.Event, values: Iterable[event_file.PlacedValue]) -> None:
        run = self._open_run()
        for message, _ in values:
            for found in read_value(message, self._plugins, event_file.room_for_one(len(message))):
                if isinstance(found, FoundPoint):
                    run._put_scalars(event.step, event.time, {found.name: found.value})
                    continue
                record = Pending(found.num_bytes, partial(Encoded, found.head, found.data()))
                run._keep(found.kind, found.name, event.step, event.time, record)

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        self._open_run()._tell(message, cause, series)


def _bytes_of(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    serialize = getattr(message, "SerializeToString", None)
    if serialize is None:
        raise InputError(f"a {type(message).__name__} is no summary: give the message, or its bytes.")
    return bytes(serialize())


GRAPH = "graph"  # the name under which add_graph keeps a pass


@never_raising
class SummaryWriter:
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
        if walltime is None:
            run.log(global_step or 0, {tag: value})
        else:
            run._put_scalars(step_of(global_step or 0), time_of(walltime), {checked_name(tag): float(value)})

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
        run._put_scalars(step_of(global_step or 0), now, values)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a tensor of any type, exactly."""
        self._open_run().log_tensor(global_step or 0, tag, tensor, time=walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how values are distributed."""
        self._open_run().log_histogram(
            global_step or 0, tag, values, bins=bins, max_bins=max_bins, time=walltime
        )

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that you counted yourself; `bucket_limits` are the upper ends of the bins."""
        known = {"min": min, "max": max, "num": num, "sum": sum, "sum_squares": sum_squares}
        self._open_run().log_histogram_raw(
            global_step or 0,
            tag,
            limits=bucket_limits,
            counts=bucket_counts,
            known=known,
            time=walltime,
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Log points for the projector, a row each, with labels and pictures."""
        self._open_run().log_embedding(
            *(global_step or 0, tag, mat),
            metadata=metadata,
            metadata_header=metadata_header,
            label_img=label_img,
        )

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall over at most 127 thresholds; `Run.log_pr_curve` takes more."""
        self._open_run().log_pr_curve(
            *(global_step or 0, tag, labels, predictions),
            num_thresholds=min(num_thresholds, WRITER_THRESHOLDS),
            weights=weights,
            time=walltime,
        )

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log a curve that you counted yourself; it has as many thresholds as there are numbers."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        rows = (*counts, precision, recall)
        self._open_run().log_pr_curve_raw(global_step or 0, tag, rows, time=walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture: bytes from 0 to 255, or any other numbers from 0 to 1."""
        self._open_run().log_image(global_step or 0, tag, img_tensor, dataformats=dataformats, time=walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of pictures as one, eight in a row."""
        self._open_run().log_images(global_step or 0, tag, img_tensor, dataformats=dataformats, time=walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Log a picture with boxes, (left, top, right, bottom) each. They are drawn over it, not into it."""
        run = self._open_run()
        if rescale != 1:
            img_tensor, dataformats, box_tensor = rescaled(img_tensor, dataformats, box_tensor, rescale)
        run.log_image(
            *(global_step or 0, tag, img_tensor),
            dataformats=dataformats,
            boxes=box_tensor,
            box_labels=labels,
            time=walltime,
        )

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of matplotlib, or a list of equally large ones."""
        self._open_run().log_figure(global_step or 0, tag, figure, close=close, time=walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos of shape (number, frames, channels, height, width), as one."""
        self._open_run().log_video(global_step or 0, tag, vid_tensor, frames_per_second=fps, time=walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log sound: floats between -1 and 1."""
        self._open_run().log_audio(global_step or 0, tag, snd_tensor, sample_rate=sample_rate, time=walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a text."""
        self._open_run().log_text(global_step or 0, tag, text_string, time=walltime)

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

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Not kept: told once."""
        self._tell("add_onnx_graph: ONNX files are not read. Log the model itself, add_graph(model, input).")

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
        step = global_step or 0
        with Run(os.path.join(self.log_dir, run_name or str(time.time()))) as run:
            run.log_hparams(hparam_dict, metric_dict, step=step)
            run.log(step, {name: single_number(value) for name, value in metric_dict.items()})

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which charts belong together: `{"group": {"chart": ["Multiline", ["a", "b"]]}}`."""
        run = self._open_run()
        layout_record(layout)  # raises, before a chart that cannot be is put to the others
        for category, charts in layout.items():
            self._layout[category] = {**self._layout.get(category, {}), **charts}
        run.log_layout(self._layout)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show these scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show three scalars as a value between its lower and its upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

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

    def flush(self) -> None:
        """Wait until all that was logged is on disk."""
        run = self._run
        if run is not None:
            run.flush()

    def close(self) -> None:
        """End the run. What is added later goes on with it."""
        self.__exit__(None, None, None)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        with self._opening:
            run, self._run = self._run, None
        if run is not None:
            run.__exit__(exc_type, exc_val, exc_tb)  # with the error, so that it shows what it died of

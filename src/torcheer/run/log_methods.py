"""`run.log_tensor` and all its kin: what is observed is checked and copied here, and encoded later.

Not one of these methods raises. What cannot be logged is told once, with what to do, and counted.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from torcheer.errors import InputError, TorcheerError
from torcheer.run import records
from torcheer.run.encode import media
from torcheer.run.encode.arrays import tensor_record
from torcheer.run.encode.classification import confusion_record, pr_curve_record, raw_pr_curve_record
from torcheer.run.encode.histograms import histogram_record, raw_histogram_record
from torcheer.run.encode.passes import is_history, pass_record
from torcheer.run.encode.steps_names_hparams import (
    checked_name,
    finite_or_none,
    hparams_record,
    layout_record,
    step_of,
    text_record,
    time_of,
)
from torcheer.run.statistics import checked_table
from torcheer.run.tables import as_row, encoded_table

C = TypeVar("C")

HPARAMS, LAYOUT = "hparams", "layout"  # the names of the two series of which there is one
WATCH = "watch"  # the name of the series of plans, of statistics and of gaps
NETVIEW = "netview"  # the name of the series of scenes, and of that of moments
_LEFT_ALONE: dict[Callable[..., Any], Callable[..., Any]] = {}


def never_raising(cls: type[C]) -> type[C]:
    """Have no method `log_*` or `add_*` of a class raise: `_tell` tells what went wrong, and counts it."""
    for name, method in list(vars(cls).items()):
        if name.startswith(("log_", "add_", "_observe")):
            setattr(cls, name, _guarded(method))
    return cls


def _guarded(method: Callable[..., None]) -> Callable[..., None]:
    # What no user calls by name is behind `run.log`.
    called = "log" if method.__name__.startswith("_") else method.__name__
    place = 0 if called.startswith("add_") else 1  # of the series' name: after the step, or first

    @functools.wraps(method)
    def guarded(self: Any, /, *args: Any, **kwargs: Any) -> None:
        try:
            as_it_is(method)(self, *args, **kwargs)
        except Exception as error:
            given = [*args[place : place + 1], *(kwargs.get(key) for key in ("name", "tag", "main_tag"))]
            series = next((value for value in given if isinstance(value, str)), None)
            name = "" if series is None else f" {series[:80]!r}"
            # Once for each series, though the figures in the sentence may differ from step to step.
            self._tell(f"{called}{name}: {reason_of(error)}", called, series)

    return guarded


def as_it_is(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as torch.compile must leave it: a log call in a compiled model runs, and is not traced."""
    if "torch._dynamo" not in sys.modules:  # then nothing can be compiled
        return method
    left_alone = _LEFT_ALONE.get(method)
    if left_alone is None:
        left_alone = _LEFT_ALONE[method] = sys.modules["torch"].compiler.disable(method)
    return left_alone


def reason_of(error: Exception) -> str:
    """Our own sentences as they are; of anything else what it is, too."""
    text = str(error).partition("\n")[0][:300]
    return text if isinstance(error, TorcheerError) and text else f"{type(error).__name__}: {text}"


@never_raising
class LogMethods:
    """All that can be logged besides plain numbers. Each value is copied at once: go on and change it.

    `step` counts the training; `time` is seconds since 1970, and now where it is left out. What belongs to
    the writer's side (the methods that are not implemented here) is in `Run`.
    """

    def _put(self, observation: records.Observation) -> None:
        raise NotImplementedError

    def keep_encoded(self, records: Sequence[records.EncodedRecord]) -> None:
        raise NotImplementedError

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        raise NotImplementedError

    def _keep(self, kind: records.Kind, name: Any, step: Any, time: Any, record: records.Pending) -> None:
        self._put(
            records.Observation(
                kind=kind,
                name=checked_name(name),
                step=step_of(step),
                time=time_of(time),
                num_bytes=record.num_bytes,
                encode=record.encode,
                description=record.note,
            )
        )

    def _keep_now(self, kind: records.Kind, name: str, step: Any, time: Any, head: Any, data: bytes) -> None:
        self.keep_encoded([records.EncodedRecord(kind, name, step_of(step), time_of(time), head, data)])

    def _observe_value(self, step: int, name: str, value: Any) -> None:
        """What `run.log` does with a value that is no number."""
        if isinstance(value, str | bytes | bytearray):
            self.log_text(step, name, value)
        elif is_history(value):
            self.log_pass(step, name, value)
        elif media.is_pillow(value):
            self.log_image(step, name, value)
        elif media.is_figure(value):
            self.log_figure(step, name, value, close=False)
        elif value is None or isinstance(value, Mapping):
            what = "None" if value is None else "a mapping"
            raise InputError(f"the value is {what}: give a number, text, or a tensor.")
        else:
            self.log_tensor(step, name, value)

    def log_tensor(self, step: int, name: str, tensor: Any, *, time: float | None = None) -> None:
        """Keep a tensor or an array of any shape and type, exactly."""
        self._keep("tensor", name, step, time, tensor_record(tensor))

    def log_histogram(
        self,
        step: int,
        name: str,
        values: Any,
        *,
        bins: Any = "tensorflow",
        max_bins: int | None = None,
        time: float | None = None,
    ) -> None:
        """Keep how values are distributed; NaN and infinities are counted apart.

        - `bins`: `'tensorflow'` for TensorBoard's, which widen by a tenth each; or what `numpy.histogram`
          takes: a rule such as `'auto'`, a number, or edges.
        - `max_bins`: put neighbours together where there are more.

        More than 128 MB of values are not copied but counted before it returns.
        """
        self._keep("histogram", name, step, time, histogram_record(values, bins, max_bins))

    def log_histogram_raw(
        self,
        step: int,
        name: str,
        *,
        limits: Any,
        counts: Any,
        known: Mapping[str, float],
        time: float | None = None,
    ) -> None:
        """Keep a histogram that you counted yourself.

        - `limits`, `counts`: the upper end of each bin, and how many values are in it.
        - `known`: `min`, `max`, `num`, `sum` and `sum_squares` of the values.
        """
        self._keep("histogram", name, step, time, raw_histogram_record(limits, counts, known))

    def log_embedding(
        self,
        step: int,
        name: str,
        points: Any,
        *,
        metadata: Any = None,
        metadata_header: Any = None,
        label_img: Any = None,
        time: float | None = None,
    ) -> None:
        """Keep points of many dimensions, a row each, for the projector.

        - `metadata`: a label for each point; or several, with `metadata_header` to name them.
        - `label_img`: a picture of each point, (number, channels, height, width).
        """
        record = media.embedding_record(points, metadata, metadata_header, label_img)
        self._keep("embedding", name, step, time, record)

    def log_image(
        self,
        step: int,
        name: str,
        image: Any,
        *,
        dataformats: str | None = None,
        boxes: Any = None,
        box_labels: Any = None,
        time: float | None = None,
    ) -> None:
        """Keep a picture: a tensor, an array, or an image of Pillow.

        - `image`: bytes from 0 to 255 (uint8), or any other numbers from 0 to 1; one, three or four channels.
        - `dataformats`: the order of its dimensions, `'CHW'`, `'HWC'` or `'HW'`. Left out, channels come
          first unless only the last dimension can be channels.
        - `boxes`, `box_labels`: left, top, right and bottom of each box that is drawn over it, and a label
          for each.
        """
        record = media.image_record(image, dataformats, boxes=boxes, labels=box_labels)
        self._keep("image", name, step, time, record)

    def log_images(
        self,
        step: int,
        name: str,
        images: Any,
        *,
        dataformats: str | None = None,
        time: float | None = None,
    ) -> None:
        """Keep a batch of pictures as one, eight in a row. `dataformats` is `'NCHW'`, `'NHWC'` or `'NHW'`."""
        self._keep("image", name, step, time, media.image_record(images, dataformats, is_batch=True))

    def log_figure(
        self, step: int, name: str, figure: Any, *, close: bool = True, time: float | None = None
    ) -> None:
        """Keep a figure of matplotlib as a picture, or a list of equally large ones as a grid.

        It is drawn at once. `close` takes it away from pyplot afterwards.
        """
        self._keep("image", name, step, time, media.figure_record(figure, close=close))

    def log_video(
        self,
        step: int,
        name: str,
        video: Any,
        *,
        frames_per_second: float = 4,
        time: float | None = None,
    ) -> None:
        """Keep a video of shape (frames, channels, height, width), or several of them as one.

        Several have their number first. Values as in `log_image`.
        """
        self._keep("video", name, step, time, media.video_record(video, frames_per_second))

    def log_audio(
        self, step: int, name: str, samples: Any, *, sample_rate: float = 44100, time: float | None = None
    ) -> None:
        """Keep sound of shape (length,) or (channels, length): floats from -1 to 1, or int16 as they are."""
        self._keep("audio", name, step, time, media.sound_record(samples, sample_rate))

    def log_text(self, step: int, name: str, text: Any, *, time: float | None = None) -> None:
        """Keep a text. It is shown as Markdown; what is no text is kept as it would be printed."""
        self._keep("text", name, step, time, text_record(text))

    def log_pr_curve(
        self,
        step: int,
        name: str,
        labels: Any,
        predictions: Any,
        *,
        num_thresholds: int = 127,
        weights: Any = None,
        time: float | None = None,
    ) -> None:
        """Keep precision and recall at each threshold.

        - `labels`: 0 or 1 for each element; `predictions`: how sure the model is of 1, between 0 and 1.
        - `weights`: how much each element counts.
        """
        record = pr_curve_record(labels, predictions, weights, num_thresholds)
        self._keep("pr_curve", name, step, time, record)

    def log_pr_curve_raw(self, step: int, name: str, rows: Any, *, time: float | None = None) -> None:
        """Keep a curve that you counted yourself, a number for each threshold in each of six rows.

        The rows: true and false positives, true and false negatives, precision, recall.
        """
        self._keep("pr_curve", name, step, time, raw_pr_curve_record(list(rows)))

    def log_confusion(
        self,
        step: int,
        name: str,
        matrix: Any = None,
        *,
        truth: Any = None,
        predictions: Any = None,
        labels: Any = None,
        time: float | None = None,
    ) -> None:
        """Keep which classes are taken for which.

        - `matrix`: a row for each true class, a column for each that was said; or, in its place,
        - `truth`, `predictions`: the class of each element, as a number or a name. Predictions may be scores,
          one for each class in the last dimension: the highest holds.
        - `labels`: the names of the classes.
        """
        self._keep("confusion", name, step, time, confusion_record(matrix, truth, predictions, labels))

    def log_pass(self, step: int, name: str, history: Any, *, time: float | None = None) -> None:
        """Keep a pass: its graph, once for all that are alike, and figures of each op's output and gradient.

        Reads all saved tensors of the pass before it returns.
        """
        self._keep("pass", name, step, time, pass_record(history))

    def log_hparams(
        self,
        hparams: Mapping[str, Any],
        metrics: Mapping[str, Any] | None = None,
        *,
        step: int = 0,
        time: float | None = None,
    ) -> None:
        """Keep the settings of a run, and what came of them. Later ones add to those before.

        Numbers, truth and text are kept as they are, all else as it is written.
        """
        self._keep("hparams", HPARAMS, step, time, hparams_record(hparams, metrics))

    def log_layout(
        self, layout: Mapping[str, Mapping[str, Any]], *, step: int = 0, time: float | None = None
    ) -> None:
        """Say which charts belong together. The last layout holds.

        `{"errors": {"loss": ["Multiline", ["train/loss", "test/loss"]]}}`; a `"Margin"` has three names, of
        the value, its lower and its upper bound.
        """
        self._keep("layout", LAYOUT, step, time, layout_record(layout))

    def log_row(self, step: int, name: str, row: Mapping[str, Any], *, time: float | None = None) -> None:
        """Add a row to a table: `run.log_row(step, "epochs", {"epoch": 3, "loss": 0.1, "output": tensor})`.

        Cells are numbers, texts or tensors; what is None is left out. Rows may have other columns than
        those before them.
        """
        self._log_columns(step, name, as_row(_mapping(row)), time)

    def log_table(
        self, step: int, name: str, columns: Mapping[str, Any], *, time: float | None = None
    ) -> None:
        """Add many rows to a table at once.

        - `columns`: for each a list, an array or a tensor, with an element for each row. Elements of more
          than one number are tensors in the cells: all of one shape.
        """
        self._log_columns(step, name, dict(_mapping(columns)), time)

    def _log_columns(self, step: int, name: str, columns: dict[str, Any], time: float | None) -> None:
        head, data = encoded_table(columns)
        self._keep_now("table", name, step, time, head, data)

    def log_watch(
        self,
        step: int,
        rows: Sequence[records.WatchedRow],
        columns: Sequence[str],
        *,
        digest: str,
        every: str = "",
        watch: str | None = None,
        time: float | None = None,
    ) -> None:
        """Say what is watched from here on, and which figures there are. The last one with a digest holds.

        - `digest`: by which statistics name these rows.
        - `every`: how often, as somebody asked for it.
        - `watch`: the name of whoever watches, empty for one without.
        """
        head = records.WatchHead(
            digest=digest, num_rows=len(rows), columns=list(columns), every=every, watch=watch
        )
        self._keep_now("watch", WATCH, step, time, head, records.encode_json(list(rows)))

    def log_statistics(self, digest: str, steps: Any, times: Any, values: Any) -> None:
        """Keep figures of all rows of a plan over some steps.

        - `steps`, `times`: one for each, times in seconds since 1970.
        - `values`: [column][row][step]; NaN where something was not seen, or has no meaning.
        """
        table = checked_table(digest, steps, times, values)
        when = int(table.steps[0]), float(table.times[0])
        self._keep_now("statistics", WATCH, *when, table.head(), table.data())

    def log_alarm(
        self,
        step: int,
        alarm: str,
        *,
        layer: str = "",
        variable: str = "",
        value: float | None = None,
        threshold: float | None = None,
        message: str = "",
        time: float | None = None,
    ) -> None:
        """Keep that something should be looked at. `alarm` is its kind, and the name of its series."""
        head = records.AlarmHead(
            layer=layer,
            variable=variable,
            value=finite_or_none(value),
            threshold=finite_or_none(threshold),
            message=message,
        )
        self._keep_now("alarm", checked_name(alarm), step, time, head, b"")

    def log_gap(
        self,
        first_step: int,
        last_step: int,
        *,
        reason: records.GapReason,
        counts: Mapping[str, int],
        message: str = "",
        time: float | None = None,
    ) -> None:
        """Keep that something was missed. `counts`: how many records, by name."""
        reasons = get_args(records.GapReason)
        if reason not in reasons:
            raise InputError(f"the reason is {reason!r}: give one of {', '.join(reasons)}.")
        head = records.GapHead(
            reason=reason,
            counts={name: int(count) for name, count in counts.items()},
            last_step=step_of(last_step),
            message=message,
        )
        self._keep_now("gap", WATCH, first_step, time, head, b"")

    def log_netview(self, step: int, scene: records.NetScene, *, time: float | None = None) -> None:
        """Say which layers there are, how they lie and what connects them. The last one holds."""
        if not isinstance(scene, records.NetScene):
            raise InputError(f"a {type(scene).__name__} is no scene: give a torcheer.run.records.NetScene.")
        num_units = sum(layer.grid.num_units for layer in scene.layers)
        head = records.NetViewHead(num_layers=len(scene.layers), num_units=num_units)
        self._keep_now("netview", NETVIEW, step, time, head, records.encode_json(scene))

    def log_moment(self, step: int, counters: Mapping[str, Any], *, time: float | None = None) -> None:
        """Say that the layers were recorded at this step. Counters are shown as texts: epoch, trial, name."""
        texts = {str(name): str(value) for name, value in counters.items()}
        self._keep_now("moment", NETVIEW, step, time, records.MomentHead(counters=texts), b"")


def _mapping(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"a {type(given).__name__} has no columns: give a mapping of their names.")
    return given

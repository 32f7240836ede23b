"""`run.log_tensor` and all its kin: what is observed is checked and copied here, and encoded later.

Not one of these methods raises. What cannot be logged is told once, with what to do, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import copy_of
from torcheer.run.observing.confusions import confusion_of, encode_confusion
from torcheer.run.observing.curves import encode_curve, encode_judged, judged, num_thresholds_of, raw_curve
from torcheer.run.observing.embeddings import embedding_of, encode_embedding
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.histograms import (
    bins_of,
    encode_counted,
    encode_histogram,
    raw_histogram,
    values_of,
)
from torcheer.run.observing.images import is_figure, is_pillow
from torcheer.run.observing.media import ObservingMedia
from torcheer.run.observing.parameters import encode_hparams, encode_layout
from torcheer.run.observing.passes import encode_pass, seen_pass
from torcheer.run.observing.tables import ObservingTables
from torcheer.run.observing.tensors import encode_tensor
from torcheer.run.seam import is_history

HPARAMS, LAYOUT = "hparams", "layout"  # the names of the two series of which there is one


class Observing(ObservingMedia, ObservingTables):
    """All that can be logged besides plain numbers. Each value is copied at once: go on and change it.

    `step` counts the training; `time` is seconds since 1970, and now where it is left out.
    """

    @never_raising
    def _observe_value(self, step: int, name: str, value: Any) -> None:
        """What `run.log` does with a value that is no number."""
        if isinstance(value, str | bytes | bytearray):
            self.log_text(step, name, value)
        elif is_history(value):
            self.log_pass(step, name, value)
        elif is_pillow(value):
            self.log_image(step, name, value)
        elif is_figure(value):
            self.log_figure(step, name, value, close=False)
        elif value is None or isinstance(value, Mapping):
            what = "None" if value is None else "a mapping"
            raise InputError(f"the value is {what}: give a number, text, or a tensor.")
        else:
            self.log_tensor(step, name, value)

    # --- numbers -----------------------------------------------------------------------------------

    @never_raising
    def log_tensor(self, step: int, name: str, tensor: Any, *, time: float | None = None) -> None:
        """Keep a tensor or an array of any shape and type, exactly."""
        copied = copy_of(tensor)
        self._keep("tensor", name, (step, time), len(copied.raw), partial(encode_tensor, copied), copied.note)

    @never_raising
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
        copied = values_of(values)
        encode = partial(encode_histogram, copied, bins_of(bins), None if max_bins is None else int(max_bins))
        if not copied.raw:  # too much to be copied
            encode = partial(Encoded, *encode())
        self._keep("histogram", name, (step, time), len(copied.raw), encode, copied.note)

    @never_raising
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
        found = raw_histogram(limits, counts, known)
        self._keep("histogram", name, (step, time), 16 * len(found.edges), partial(encode_counted, found))

    @never_raising
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
        given = embedding_of(points, metadata, metadata_header, label_img)
        self._keep("embedding", name, (step, time), given.num_bytes, partial(encode_embedding, given))

    # --- how well a model does -----------------------------------------------------------------------

    @never_raising
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
        given, number = judged(labels, predictions, weights), num_thresholds_of(num_thresholds)
        num_bytes = len(given.labels.raw) + given.predictions.nbytes
        self._keep("pr_curve", name, (step, time), num_bytes, partial(encode_judged, given, number))

    @never_raising
    def log_pr_curve_raw(self, step: int, name: str, rows: Any, *, time: float | None = None) -> None:
        """Keep a curve that you counted yourself, a number for each threshold in each of six rows.

        The rows: true and false positives, true and false negatives, precision, recall.
        """
        found = raw_curve(list(rows))
        self._keep("pr_curve", name, (step, time), found.nbytes, partial(encode_curve, found))

    @never_raising
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
        given = confusion_of(matrix, truth, predictions, labels)
        self._keep("confusion", name, (step, time), given.num_bytes, partial(encode_confusion, given))

    # --- the model and its settings --------------------------------------------------------------------

    @never_raising
    def log_pass(self, step: int, name: str, history: Any, *, time: float | None = None) -> None:
        """Keep a pass: its graph, once for all that are alike, and figures of each op's output and gradient.

        Reads all saved tensors of the pass before it returns.
        """
        if not is_history(history):
            raise InputError(
                f"a {type(history).__name__} is no pass: give what log_forward_pass returned, a ModelHistory."
            )
        seen = seen_pass(history)
        num_bytes = seen.figures.nbytes + 1000 * len(seen.document.ops)
        self._keep("pass", name, (step, time), num_bytes, partial(encode_pass, seen))

    @never_raising
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
        encoded = encode_hparams(hparams, metrics)
        self._keep("hparams", HPARAMS, (step, time), 0, lambda: encoded)

    @never_raising
    def log_layout(
        self, layout: Mapping[str, Mapping[str, Any]], *, step: int = 0, time: float | None = None
    ) -> None:
        """Say which charts belong together. The last layout holds.

        `{"errors": {"loss": ["Multiline", ["train/loss", "test/loss"]]}}`; a `"Margin"` has three names, of
        the value, its lower and its upper bound.
        """
        encoded = encode_layout(layout)
        self._keep("layout", LAYOUT, (step, time), 0, lambda: encoded)

"""The methods of `SummaryWriter` that are a method of `Run` by another name."""

from __future__ import annotations

from typing import Any

from torcheer.run.observing.curves import WRITER_THRESHOLDS
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.images import rescaled
from torcheer.run.observing.methods import Observing


def step_or_first(global_step: Any) -> Any:
    """Where no step is given it is 0, as in torch.utils.tensorboard."""
    return 0 if global_step is None else global_step


class Adding:
    """Named and ordered as in torch.utils.tensorboard, so that scripts need no change."""

    def _open_run(self) -> Observing:
        raise NotImplementedError

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        raise NotImplementedError

    @never_raising
    def add_tensor(
        self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a tensor of any type, exactly."""
        self._open_run().log_tensor(step_or_first(global_step), tag, tensor, time=walltime)

    @never_raising
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
        run = self._open_run()
        run.log_histogram(
            step_or_first(global_step), tag, values, bins=bins, max_bins=max_bins, time=walltime
        )

    @never_raising
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
            step_or_first(global_step),
            tag,
            limits=bucket_limits,
            counts=bucket_counts,
            known=known,
            time=walltime,
        )

    @never_raising
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
            *(step_or_first(global_step), tag, mat),
            metadata=metadata,
            metadata_header=metadata_header,
            label_img=label_img,
        )

    @never_raising
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
            *(step_or_first(global_step), tag, labels, predictions),
            num_thresholds=min(num_thresholds, WRITER_THRESHOLDS),
            weights=weights,
            time=walltime,
        )

    @never_raising
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
        self._open_run().log_pr_curve_raw(step_or_first(global_step), tag, rows, time=walltime)

    # --- pictures, sound, text ---------------------------------------------------------------------

    @never_raising
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture: bytes from 0 to 255, or any other numbers from 0 to 1."""
        run = self._open_run()
        run.log_image(step_or_first(global_step), tag, img_tensor, dataformats=dataformats, time=walltime)

    @never_raising
    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log a batch of pictures as one, eight in a row."""
        run = self._open_run()
        run.log_images(step_or_first(global_step), tag, img_tensor, dataformats=dataformats, time=walltime)

    @never_raising
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
            *(step_or_first(global_step), tag, img_tensor),
            dataformats=dataformats,
            boxes=box_tensor,
            box_labels=labels,
            time=walltime,
        )

    @never_raising
    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of matplotlib, or a list of equally large ones."""
        self._open_run().log_figure(step_or_first(global_step), tag, figure, close=close, time=walltime)

    @never_raising
    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos of shape (number, frames, channels, height, width), as one."""
        run = self._open_run()
        run.log_video(step_or_first(global_step), tag, vid_tensor, frames_per_second=fps, time=walltime)

    @never_raising
    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log sound: floats between -1 and 1."""
        run = self._open_run()
        run.log_audio(step_or_first(global_step), tag, snd_tensor, sample_rate=sample_rate, time=walltime)

    @never_raising
    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Log a text."""
        self._open_run().log_text(step_or_first(global_step), tag, text_string, time=walltime)

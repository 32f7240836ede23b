"""`run.log_image` and its kin: what people look at, listen to and read."""

from __future__ import annotations

from functools import partial
from typing import Any

from torcheer.run.observing.audio import encode_sound, sample_rate_of, sound_of
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.handing import Handing
from torcheer.run.observing.images import (
    ImageToBe,
    encode_image,
    image_of,
    marks_of,
    pixels_of_figure,
)
from torcheer.run.observing.plaintext import encode_text, text_of
from torcheer.run.observing.videos import encode_video, rate_of, video_of


class ObservingMedia(Handing):
    """Pictures, videos, sound and text of a run."""

    @never_raising
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
        to_be = image_of(image, dataformats)._replace(marks=marks_of(boxes, box_labels))
        self._keep_image(name, (step, time), to_be)

    @never_raising
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
        self._keep_image(name, (step, time), image_of(images, dataformats, is_batch=True))

    @never_raising
    def log_figure(
        self, step: int, name: str, figure: Any, *, close: bool = True, time: float | None = None
    ) -> None:
        """Keep a figure of matplotlib as a picture, or a list of equally large ones as a grid.

        It is drawn at once. `close` takes it away from pyplot afterwards.
        """
        if isinstance(figure, list | tuple):
            pixels = [pixels_of_figure(one, close=close) for one in figure]
            self._keep_image(name, (step, time), image_of(pixels, "NHWC", is_batch=True))
        else:
            self._keep_image(name, (step, time), image_of(pixels_of_figure(figure, close=close), "HWC"))

    def _keep_image(self, name: str, when: tuple[Any, Any], image: ImageToBe) -> None:
        num_bytes = len(image.copied.raw)
        self._keep("image", name, when, num_bytes, partial(encode_image, image), image.copied.note)

    @never_raising
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
        copied, rate = video_of(video), rate_of(frames_per_second)
        self._keep("video", name, (step, time), len(copied.raw), partial(encode_video, copied, rate))

    @never_raising
    def log_audio(
        self, step: int, name: str, samples: Any, *, sample_rate: float = 44100, time: float | None = None
    ) -> None:
        """Keep sound of shape (length,) or (channels, length): floats from -1 to 1, or int16 as they are."""
        copied, rate = sound_of(samples), sample_rate_of(sample_rate)
        encode = partial(encode_sound, copied, rate)
        self._keep("audio", name, (step, time), len(copied.raw), encode, copied.note)

    @never_raising
    def log_text(self, step: int, name: str, text: Any, *, time: float | None = None) -> None:
        """Keep a text. It is shown as Markdown; what is no text is kept as it would be printed."""
        kept = text_of(text)
        self._keep("text", name, (step, time), len(kept), partial(encode_text, kept))

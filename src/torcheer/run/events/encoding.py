"""Records of a run as values of a summary, as TensorBoard's own plugins write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.run.events import protobuf as pb
from torcheer.run.events.animation import animated
from torcheer.run.events.tensors import strings_message, tensor_message
from torcheer.run.records import (
    AudioHead,
    ConfusionHead,
    HistogramHead,
    HparamsHead,
    ImageHead,
    LayoutChart,
    LayoutHead,
    Plain,
    PrCurveHead,
    TensorHead,
    TextHead,
    VideoHead,
)

_SCALAR_CLASS: Final = 1
_LARGEST_SINGLE: Final = float(numpy.finfo(numpy.float32).max)
_SUCCESS: Final = 1
_MAX_TENSOR_BYTES: Final = 1 << 30


def is_wide(values: NDArray[numpy.float64]) -> bool:
    """Whether some number is beyond the range of those of four bytes."""
    with numpy.errstate(invalid="ignore"):
        return bool((numpy.isfinite(values) & (numpy.abs(values) > _LARGEST_SINGLE)).any())


def scalar_value(name: str, value: float, wide: bool) -> bytes:
    """A simple value, which has four bytes, or a tensor of eight."""
    if not wide:
        return pb.text_field(1, name) + pb.single_field(2, value)
    tensor = tensor_message([], "float64", numpy.float64(value).tobytes())
    assert tensor is not None
    return pb.text_field(1, name) + _metadata("scalars", b"", _SCALAR_CLASS) + pb.bytes_field(8, tensor)


def values_of(name: str, head: Any, data: bytes) -> Sequence[bytes]:
    """The values that stand for a record; none where they have nothing like it."""
    make = _KINDS.get(type(head))
    return [] if make is None else make(name, head, data)


def _metadata(plugin: str, content: bytes = b"", data_class: int = 0) -> bytes:
    plugin_data = pb.text_field(1, plugin) + (pb.bytes_field(2, content) if content else b"")
    extra = pb.int_field(4, data_class) if data_class else b""
    return pb.bytes_field(9, pb.bytes_field(1, plugin_data) + extra)


def _tensor(name: str, head: TensorHead, data: bytes) -> Sequence[bytes]:
    message = tensor_message(head.shape, head.dtype, data) if len(data) < _MAX_TENSOR_BYTES else None
    if message is None:
        return []
    return [pb.text_field(1, name) + _metadata("tensor") + pb.bytes_field(8, message)]


def _histogram(name: str, head: HistogramHead, data: bytes) -> Sequence[bytes]:
    numbers = numpy.frombuffer(data, dtype="<f8")
    edges, counts = numbers[: head.num_bins + 1], numbers[head.num_bins + 1 :]
    sums = (head.min, head.max, head.num, head.sum, head.sum_squares)
    message = b"".join(pb.double_field(at, value or 0.0) for at, value in enumerate(sums, 1))
    # Each limit is the upper one of its count: the lowest edge is that of an empty first bar.
    message += pb.doubles_field(6, edges) + pb.doubles_field(7, numpy.append([0.0], counts))
    return [pb.text_field(1, name) + pb.bytes_field(5, message)]


def _image(name: str, head: ImageHead, data: bytes) -> Sequence[bytes]:
    return [_picture(name, head.width, head.height, head.channels, data)]


def _video(name: str, head: VideoHead, data: bytes) -> Sequence[bytes]:
    moving = animated(data, head.frame_bytes, head.frames_per_second)
    return [] if moving is None else [_picture(name, head.width, head.height, 3, moving)]


def _picture(name: str, width: int, height: int, channels: int, data: bytes) -> bytes:
    sizes = pb.int_field(1, height) + pb.int_field(2, width) + pb.int_field(3, channels)
    return pb.text_field(1, name) + pb.bytes_field(4, sizes + pb.bytes_field(4, data))


def _audio(name: str, head: AudioHead, data: bytes) -> Sequence[bytes]:
    message = pb.single_field(1, head.sample_rate) + pb.int_field(2, head.num_channels)
    message += pb.int_field(3, head.num_frames) + pb.bytes_field(4, data) + pb.text_field(5, "audio/wav")
    return [pb.text_field(1, name) + pb.bytes_field(6, message)]


def _text(name: str, head: TextHead, data: bytes) -> Sequence[bytes]:
    tensor = strings_message([data])
    return [pb.text_field(1, f"{name}/text_summary") + _metadata("text") + pb.bytes_field(8, tensor)]


def _pr_curve(name: str, head: PrCurveHead, data: bytes) -> Sequence[bytes]:
    rows = numpy.frombuffer(data, dtype="<f8").astype("<f4").tobytes()
    tensor = tensor_message([6, head.num_thresholds], "float32", rows)
    assert tensor is not None
    content = pb.int_field(2, head.num_thresholds)
    return [pb.text_field(1, name) + _metadata("pr_curves", content) + pb.bytes_field(8, tensor)]


def _confusion(name: str, head: ConfusionHead, data: bytes) -> Sequence[bytes]:
    # They have no such thing: the counts go as a tensor.
    tensor = tensor_message([len(head.labels)] * 2, "float64", data)
    assert tensor is not None
    return [pb.text_field(1, name) + _metadata("tensor") + pb.bytes_field(8, tensor)]


def _layout(_: str, head: LayoutHead, data: bytes) -> Sequence[bytes]:
    groups = b""
    for group in head.groups:
        charts = b"".join(pb.bytes_field(2, _chart(chart)) for chart in group.charts)
        groups += pb.bytes_field(2, pb.text_field(1, group.title) + charts)
    tensor = strings_message([groups])
    name = "custom_scalars__config__"
    return [pb.text_field(1, name) + _metadata("custom_scalars") + pb.bytes_field(8, tensor)]


def _chart(chart: LayoutChart) -> bytes:
    if chart.form == "lines":
        content = pb.bytes_field(2, b"".join(pb.text_field(1, name) for name in chart.names))
    else:
        series = b"".join(pb.text_field(at, name) for at, name in enumerate(chart.names[:3], 1))
        content = pb.bytes_field(3, pb.bytes_field(1, series))
    return pb.text_field(1, chart.title) + content


# --- hyperparameters ---------------------------------------------------------------------------------

_TYPE_NUMBERS: Final = {str: 1, bool: 2, float: 3}


def _hparams(_: str, head: HparamsHead, data: bytes) -> Sequence[bytes]:
    """Three values: what there is to choose, what was chosen, and that it is done."""
    infos = b"".join(
        pb.bytes_field(4, pb.text_field(1, name) + pb.int_field(4, _TYPE_NUMBERS.get(type(value), 3)))
        for name, value in head.hparams.items()
    )
    infos += b"".join(pb.bytes_field(5, pb.bytes_field(1, pb.text_field(2, name))) for name in head.metrics)
    start = b"".join(
        pb.bytes_field(1, pb.text_field(1, name) + pb.bytes_field(2, _plain(value)))
        for name, value in head.hparams.items()
    )
    contents = (
        ("experiment", pb.bytes_field(2, infos)),
        ("session_start_info", pb.bytes_field(3, start)),
        ("session_end_info", pb.bytes_field(4, pb.int_field(1, _SUCCESS))),
    )
    return [
        pb.text_field(1, f"_hparams_/{name}") + _metadata("hparams", content) for name, content in contents
    ]


def _plain(value: Plain) -> bytes:
    if isinstance(value, bool):
        return pb.int_field(4, value)
    if isinstance(value, str):
        return pb.text_field(3, value)
    return pb.double_field(2, math.nan if value is None else value)


_KINDS: Final[dict[type, Callable[[str, Any, bytes], Sequence[bytes]]]] = {
    TensorHead: _tensor,
    HistogramHead: _histogram,
    ImageHead: _image,
    VideoHead: _video,
    AudioHead: _audio,
    TextHead: _text,
    PrCurveHead: _pr_curve,
    ConfusionHead: _confusion,
    LayoutHead: _layout,
    HparamsHead: _hparams,
}

"""What one value of an event holds: a point of a scalar, or a record of another kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Final, NamedTuple

import numpy

from torcheer.graph.tensorfigures import figures_of
from torcheer.run.events import protobuf as pb
from torcheer.run.events.tensors import ReadTensor, read_tensor
from torcheer.run.observing.histograms import edges_of
from torcheer.run.records import (
    AnyHead,
    AudioHead,
    HistogramHead,
    HparamsHead,
    ImageHead,
    Kind,
    LayoutChart,
    LayoutGroup,
    LayoutHead,
    Plain,
    PrCurveHead,
    TensorHead,
    TextHead,
)

_TEXT_ENDING: Final = "/text_summary"
_ENCODINGS: Final = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
_RAW_KINDS: Final = {2: "<u2", 1: "<u1"}


class FoundPoint(NamedTuple):
    name: str
    value: float


class FoundRecord(NamedTuple):
    kind: Kind
    name: str
    head: AnyHead
    data: bytes


Plugins = MutableMapping[str, str]  # whose a name is: they say it with the first value only


def read_value(message: bytes, plugins: Plugins) -> Iterator[FoundPoint | FoundRecord]:
    """What one value of a summary holds."""
    parts: dict[int, Any] = {number: value for number, _, value in pb.fields(message)}
    name = pb.text(parts.get(1, b""))
    plugin, content = _plugin(parts.get(9))
    if plugin:
        plugins[name] = plugin
    plugin = plugins.get(name, "")
    if 2 in parts:
        yield FoundPoint(name, pb.single(parts[2]))
    elif 4 in parts:
        yield _image(name, pb.inner(parts[4]))
    elif 5 in parts:
        yield _histogram(name, pb.inner(parts[5]))
    elif 6 in parts:
        yield _audio(name, pb.inner(parts[6]))
    elif 8 in parts:
        reader = _OF_PLUGINS.get(plugin, _tensor)
        yield from reader(name, read_tensor(pb.inner(parts[8])))
    elif plugin == "hparams":
        yield from _hparams(content)


def _plugin(metadata: Any) -> tuple[str, bytes]:
    if metadata is None:
        return "", b""
    data = next((value for number, _, value in pb.fields(pb.inner(metadata)) if number == 1), b"")
    parts = {number: value for number, _, value in pb.fields(pb.inner(data))}
    return pb.text(parts.get(1, b"")), pb.inner(parts.get(2, b""))


# --- values with a form of their own -----------------------------------------------------------------


def _image(name: str, message: bytes) -> FoundRecord:
    parts = {number: value for number, _, value in pb.fields(message)}
    return _picture(
        name, int(parts.get(2, 0)), int(parts.get(1, 0)), int(parts.get(3, 0)), pb.inner(parts.get(4, b""))
    )


def _picture(name: str, width: int, height: int, channels: int, data: bytes) -> FoundRecord:
    encoding = next((word for start, word in _ENCODINGS if data.startswith(start)), "")
    head = ImageHead(
        width=width, height=height, channels=channels, encoding=encoding, boxes=[], box_labels=[]
    )
    return FoundRecord("image", name, head, data)


def _audio(name: str, message: bytes) -> FoundRecord:
    parts = {number: value for number, _, value in pb.fields(message)}
    head = AudioHead(
        sample_rate=pb.single(parts.get(1, bytes(4))),
        num_frames=int(parts.get(3, 0)),
        num_channels=int(parts.get(2, 0)),
        encoding="wav",
    )
    return FoundRecord("audio", name, head, pb.inner(parts.get(4, b"")))


def _histogram(name: str, message: bytes) -> FoundRecord:
    sums = dict.fromkeys(range(1, 6), 0.0)
    limits, counts = [numpy.zeros(0)], [numpy.zeros(0)]
    for number, form, value in pb.fields(message):
        if number in sums:
            sums[number] = pb.double(value)
        elif number in (6, 7):
            (limits if number == 6 else counts).append(pb.numbers(form, value, "<f8"))
    return _bars(name, numpy.concatenate(limits), numpy.concatenate(counts), sums)


def _bars(name: str, limits: Any, counts: Any, sums: dict[int, float]) -> FoundRecord:
    """Each count is of the values up to its limit; the first one has no lower limit of its own."""
    if len(limits) != len(counts):
        raise pb.DamagedMessageError("a histogram whose limits and counts differ in number")
    low, high = sums[1], sums[2]
    edges, counts = edges_of(limits, counts, low, high) if len(limits) else (numpy.zeros(1), counts)
    edges = numpy.maximum.accumulate(numpy.nan_to_num(edges))
    head = HistogramHead(
        num_bins=len(counts),
        num=sums[3],
        min=low,
        max=high,
        sum=sums[4],
        sum_squares=sums[5],
        num_nan=0,
        num_inf=0,
    )
    return FoundRecord(
        "histogram", name, head, edges.astype("<f8").tobytes() + counts.astype("<f8").tobytes()
    )


def _doubles(*rows: Any) -> bytes:
    return b"".join(row.astype("<f8").tobytes() for row in rows)


# --- values as tensors, by the plugin whose they are --------------------------------------------------


def array_of(tensor: ReadTensor) -> Any:
    """The tensor as NumPy has it; types that NumPy lacks as their bits."""
    try:
        kind = numpy.dtype(tensor.dtype).newbyteorder("<")
    except TypeError:
        kind = numpy.dtype(_RAW_KINDS[2 if tensor.dtype == "bfloat16" else 1])
    return numpy.frombuffer(tensor.data, dtype=kind).reshape(tensor.shape)


def _tensor(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    if tensor.strings:
        yield from _text(name, tensor)
        return
    if tensor.dtype == "string":
        return
    figures = figures_of(array_of(tensor), tensor.dtype)
    head = TensorHead(
        shape=tensor.shape,
        dtype=tensor.dtype,
        mean=figures.mean,
        std=figures.std,
        min=figures.min,
        max=figures.max,
        num_zeros=figures.num_zeros,
        num_nan=figures.num_nan,
        num_inf=figures.num_inf,
    )
    yield FoundRecord("tensor", name, head, tensor.data)


def _scalar(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    array = array_of(tensor)
    if array.size != 1:
        yield from _tensor(name, tensor)
        return
    yield FoundPoint(name, float(array.reshape(-1)[0].real))


def _text(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    data = b"\n\n".join(tensor.strings)
    shown = data.decode("utf-8", "replace")
    yield FoundRecord(
        "text", name.removesuffix(_TEXT_ENDING), TextHead(num_characters=len(shown)), shown.encode()
    )


def _images(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    # Width and height as digits, then the pictures.
    if len(tensor.strings) < 3 or not all(one.isdigit() and len(one) < 10 for one in tensor.strings[:2]):
        return
    width, height = (int(one) for one in tensor.strings[:2])
    for at, data in enumerate(tensor.strings[2:]):
        yield _picture(name if at == 0 else f"{name}/{at}", width, height, 0, data)


def _audios(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    # Pairs of a WAV file and a label.
    for at, data in enumerate(tensor.strings[::2] if len(tensor.shape) == 2 else tensor.strings):
        head = AudioHead(sample_rate=0.0, num_frames=0, num_channels=0, encoding="wav")
        yield FoundRecord("audio", name if at == 0 else f"{name}/{at}", head, data)


def _bins(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    if len(tensor.shape) != 2 or tensor.shape[1] != 3:
        yield from _tensor(name, tensor)
        return
    rows = array_of(tensor).astype(numpy.float64)
    counts = rows[:, 2]
    edges = numpy.append(rows[:, 0], rows[-1:, 1]) if len(rows) else numpy.zeros(1)
    middles = (rows[:, 0] + rows[:, 1]) / 2
    head = HistogramHead(
        num_bins=len(rows),
        num=float(counts.sum()),
        min=float(edges[0]),
        max=float(edges[-1]),
        sum=float((middles * counts).sum()),  # as far as the bins tell
        sum_squares=float((middles**2 * counts).sum()),
        num_nan=0,
        num_inf=0,
    )
    yield FoundRecord("histogram", name, head, _doubles(edges, counts))


def _pr_curve(name: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    if len(tensor.shape) != 2 or tensor.shape[0] != 6:
        yield from _tensor(name, tensor)
        return
    data = array_of(tensor).astype("<f8").tobytes()
    yield FoundRecord("pr_curve", name, PrCurveHead(num_thresholds=tensor.shape[1]), data)


def _layout(_: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    for message in tensor.strings[:1]:
        groups = [_layout_group(pb.inner(value)) for number, _, value in pb.fields(message) if number == 2]
        yield FoundRecord("layout", "layout", LayoutHead(groups=groups), b"")


def _layout_group(message: bytes) -> LayoutGroup:
    title, charts = "", []
    for number, _, value in pb.fields(message):
        if number == 1:
            title = pb.text(value)
        elif number == 2:
            charts.append(_layout_chart(pb.inner(value)))
    return LayoutGroup(title=title, charts=charts)


def _layout_chart(message: bytes) -> LayoutChart:
    parts = {number: value for number, _, value in pb.fields(message)}
    title = pb.text(parts.get(1, b""))
    if 3 in parts:
        series = next((value for number, _, value in pb.fields(pb.inner(parts[3])) if number == 1), b"")
        margin = {number: pb.text(value) for number, _, value in pb.fields(pb.inner(series))}
        return LayoutChart(title=title, form="margin", names=[margin.get(at, "") for at in (1, 2, 3)])
    names = [pb.text(value) for number, _, value in pb.fields(pb.inner(parts.get(2, b""))) if number == 1]
    return LayoutChart(title=title, form="lines", names=names)


def _nothing(_: str, tensor: ReadTensor) -> Iterator[FoundPoint | FoundRecord]:
    return iter(())


def _hparams(content: bytes) -> Iterator[FoundRecord]:
    start = next((value for number, _, value in pb.fields(content) if number == 3), None)
    if start is None:
        return
    found: dict[str, Plain] = {}
    for number, _, value in pb.fields(pb.inner(start)):
        if number == 1:
            entry = {key: one for key, _, one in pb.fields(pb.inner(value))}
            found[pb.text(entry.get(1, b""))] = _plain(pb.inner(entry.get(2, b"")))
    yield FoundRecord("hparams", "hparams", HparamsHead(hparams=found, metrics={}), b"")


def _plain(message: bytes) -> Plain:
    for number, _, value in pb.fields(message):
        if number == 2:
            return pb.double(value)
        if number == 3:
            return pb.text(value)
        if number == 4:
            return bool(value)
        if number == 6:
            return json.dumps(
                [_plain(pb.inner(one)) for key, _, one in pb.fields(pb.inner(value)) if key == 1]
            )
    return None


_OF_PLUGINS: Final[dict[str, Callable[[str, ReadTensor], Iterator[FoundPoint | FoundRecord]]]] = {
    "scalars": _scalar,
    "text": _text,
    "images": _images,
    "audio": _audios,
    "histograms": _bins,
    "pr_curves": _pr_curve,
    "custom_scalars": _layout,
    "mesh": _nothing,
}

"""What one value of an event holds: a point of a scalar, or a record of another kind."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy

from torcheer.run import records
from torcheer.run.encode.arrays import tensor_head
from torcheer.run.encode.histograms import edges_of
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import (
    ELEMENT_WORK,
    ENTRY_BYTES,
    FILL_BYTES,
    ITEM_BYTES,
    MOST_DIMS,
    MOST_SIZE,
    TEXT_BYTES,
    TEXT_WORK,
    Room,
    TooLargeError,
)
from torcheer.tensorfile import as_numbers, figures_of

_TEXT_ENDING: Final = "/text_summary"
_ENCODINGS: Final = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
_MOST_NESTING: Final = 16  # of lists in a hyperparameter
_PARTS: Final = (1, 2, 4, 5, 6, 8, 9)  # of a value: the fields that say something to us
# Shared, since there may be very many pictures without any.
_NO_BOXES: Final[list[list[float]]] = []
_NO_LABELS: Final[list[str]] = []
_UNKNOWN_SOUND: Final = records.AudioHead(sample_rate=0.0, num_frames=0, num_channels=0, encoding="wav")


class FoundPoint(NamedTuple):
    name: str
    value: float


class FoundRecord(NamedTuple):
    kind: records.Kind
    name: str
    head: records.AnyHead
    num_bytes: int
    data: Callable[[], bytes]  # made when they are asked for
    place: int | None = None  # where in the value they stand as they are; None where they have to be made


Found = FoundPoint | FoundRecord
Plugins = MutableMapping[str, str]  # whose a name is: they say it with the first value only


def read_value(message: pb.Buffer, plugins: Plugins, room: Room) -> Iterator[Found]:
    """What one value of a summary holds. Whatever is kept of it is paid for from the room."""
    parts: dict[int, Any] = {}
    tensor_at = 0
    for number, _, value, start in pb.placed_fields(memoryview(message)):
        if number in _PARTS:
            parts[number] = value
            tensor_at = start if number == 8 else tensor_at
    name = pb.text(parts.get(1, b""))
    plugin, content = _plugin(parts.get(9))
    if plugin and name not in plugins:
        room.take(ENTRY_BYTES + TEXT_BYTES * len(name))
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
        yield from reader(name, read_tensor(pb.inner(parts[8]), room, tensor_at), room)
    elif plugin == "hparams":
        yield from _hparams(content, room)


def _plugin(metadata: Any) -> tuple[str, pb.Buffer]:
    if metadata is None:
        return "", b""
    parts = pb.chosen_fields(pb.inner(pb.first_field(pb.inner(metadata), 1)), 1, 2)
    name = pb.inner(parts.get(1, b""))
    # Of names that mean nothing to us it is enough to know that they do not.
    known = _PLUGIN_NAMES.get(bytes(name[:_LONGEST_PLUGIN]), _OTHER_PLUGIN if len(name) else "")
    return known, pb.inner(parts.get(2, b""))


def _image(name: str, message: pb.Buffer) -> FoundRecord:
    parts = pb.chosen_fields(message, 1, 2, 3, 4)
    height, width, channels = (pb.size(parts.get(number, 0), MOST_SIZE) for number in (1, 2, 3))
    return _picture(name, width, height, channels, pb.inner(parts.get(4, b"")))


def _picture(
    name: str, width: int, height: int, channels: int, data: pb.Buffer, place: int | None = None
) -> FoundRecord:
    start = bytes(data[:4])
    encoding = next((word for mark, word in _ENCODINGS if start.startswith(mark)), "")
    size = {"width": width, "height": height, "channels": channels}
    head = records.ImageHead(**size, encoding=encoding, boxes=_NO_BOXES, box_labels=_NO_LABELS)
    return FoundRecord("image", name, head, len(data), lambda: bytes(data), place)


def _audio(name: str, message: pb.Buffer) -> FoundRecord:
    parts = pb.chosen_fields(message, 1, 2, 3, 4)
    rate = pb.single(parts.get(1, bytes(4)))
    head = records.AudioHead(
        sample_rate=rate if math.isfinite(rate) else 0.0,
        num_frames=pb.size(parts.get(3, 0), MOST_SIZE),
        num_channels=pb.size(parts.get(2, 0), MOST_SIZE),
        encoding="wav",
    )
    data = pb.inner(parts.get(4, b""))
    return FoundRecord("audio", name, head, len(data), lambda: bytes(data))


def _histogram(name: str, message: pb.Buffer) -> FoundRecord:
    sums = dict.fromkeys(range(1, 6), 0.0)
    limits, counts = bytearray(), bytearray()
    for number, _, value in pb.fields(message):
        if number in sums:
            sums[number] = pb.double(value)
        elif number in (6, 7):
            numbers = pb.inner(value)
            if len(numbers) % 8:
                raise pb.DamagedMessageError("a row of numbers that ends within one")
            (limits if number == 6 else counts).extend(numbers)
    if len(limits) != len(counts):
        raise pb.DamagedMessageError("a histogram whose limits and counts differ in number")
    # Each count is of the values up to its limit; the first one has no lower limit of its own.
    low, high = sums[1], sums[2]
    edges, bars = numpy.zeros(1), numpy.frombuffer(counts, "<f8")
    if len(limits):
        edges, bars = edges_of(numpy.frombuffer(limits, "<f8"), bars, low, high)
    edges = numpy.maximum.accumulate(numpy.nan_to_num(edges))
    return _bars_between(name, edges, bars, num=sums[3], min=low, max=high, sum=sums[4], sum_squares=sums[5])


def _bars_between(name: str, edges: Any, counts: Any, **known: Any) -> FoundRecord:
    head = records.HistogramHead(num_bins=len(counts), num_nan=0, num_inf=0, **known)
    num_bytes = 8 * (len(edges) + len(counts))
    return FoundRecord("histogram", name, head, num_bytes, lambda: _doubles(edges, counts))


def _doubles(*rows: Any) -> bytes:
    return b"".join(row.astype("<f8").tobytes() for row in rows)


def _tensor(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    if tensor.dtype == "string":
        if next(tensor.texts(), None) is not None:
            yield from _text(name, tensor, room)
        return
    head = tensor_head(tensor.shape, tensor.dtype, figures_of(tensor.array(), tensor.dtype))
    yield FoundRecord("tensor", name, head, len(tensor.data), lambda: bytes(tensor.data))


def _scalar(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    if tensor.dtype == "string" or math.prod(tensor.shape) != 1:
        yield from _tensor(name, tensor, room)
        return
    yield FoundPoint(name, float(as_numbers(tensor.array().reshape(-1), tensor.dtype)[0].real))


def _text(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    text = "\n\n".join(str(text, "utf-8", "replace") for text, _ in tensor.texts())
    data = text.encode()
    name = name.removesuffix(_TEXT_ENDING)
    yield FoundRecord("text", name, records.TextHead(num_characters=len(text)), len(data), lambda: data)


def _images(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    # Width and height as digits, then the pictures.
    sizes: list[int] = []
    for number, (text, start) in enumerate(tensor.texts()):
        if number >= 2:
            shown = name if number == 2 else f"{name}/{number - 2}"
            yield _picture(shown, sizes[0], sizes[1], 0, text, start)
            continue
        digits = bytes(text[:10])
        if not digits.isdigit() or len(text) >= 10:
            return
        sizes.append(int(digits))


def _audios(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    # Pairs of a WAV file and a label, or WAV files alone.
    step = 2 if len(tensor.shape) == 2 else 1
    for number, (text, start) in enumerate(tensor.texts()):
        if number % step == 0:
            shown = name if number == 0 else f"{name}/{number // step}"
            data = partial(bytes, text)
            yield FoundRecord("audio", shown, _UNKNOWN_SOUND, len(text), data, start)


def _bins(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    if len(tensor.shape) != 2 or tensor.shape[1] != 3 or not _is_wide(tensor):
        yield from _tensor(name, tensor, room)
        return
    rows = tensor.array().astype(numpy.float64)
    counts = rows[:, 2]
    edges = numpy.append(rows[:, 0], rows[-1:, 1]) if len(rows) else numpy.zeros(1)
    with numpy.errstate(all="ignore"):
        middles = (rows[:, 0] + rows[:, 1]) / 2
        # As far as the bins tell.
        sums = {"sum": float((middles * counts).sum()), "sum_squares": float((middles**2 * counts).sum())}
        ends = {"min": float(edges[0]), "max": float(edges[-1])}
    yield _bars_between(name, edges, counts, num=float(counts.sum()), **ends, **sums)


def _pr_curve(name: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    if len(tensor.shape) != 2 or tensor.shape[0] != 6 or not _is_wide(tensor):
        yield from _tensor(name, tensor, room)
        return
    head = records.PrCurveHead(num_thresholds=tensor.shape[1])
    yield FoundRecord("pr_curve", name, head, 48 * tensor.shape[1], lambda: _doubles(tensor.array()))


def _is_wide(tensor: ReadTensor) -> bool:
    """Curves are written in floats of four or eight bytes: those of one would become eight times as large."""
    return tensor.dtype in ("float32", "float64", "int32", "int64")


def _layout(_: str, tensor: ReadTensor, room: Room) -> Iterator[Found]:
    for message, _at in tensor.texts():
        groups = [
            _layout_group(pb.inner(value), room) for number, _, value in pb.fields(message) if number == 2
        ]
        yield FoundRecord("layout", "layout", records.LayoutHead(groups=groups), 0, bytes)
        return


def _layout_group(message: pb.Buffer, room: Room) -> records.LayoutGroup:
    room.take(ENTRY_BYTES)
    title, charts = "", []
    for number, _, value in pb.fields(message):
        if number == 1:
            title = _paid_text(value, room)
        elif number == 2:
            charts.append(_layout_chart(pb.inner(value), room))
    return records.LayoutGroup(title=title, charts=charts)


def _layout_chart(message: pb.Buffer, room: Room) -> records.LayoutChart:
    room.take(ENTRY_BYTES)
    parts = pb.chosen_fields(message, 1, 2, 3)
    title = _paid_text(parts.get(1, b""), room)
    if 3 in parts:
        margin = pb.chosen_fields(pb.inner(pb.first_field(pb.inner(parts[3]), 1)), 1, 2, 3)
        names = [_paid_text(margin.get(at, b""), room) for at in (1, 2, 3)]
        return records.LayoutChart(title=title, form="margin", names=names)
    lines = pb.fields(pb.inner(parts.get(2, b"")))
    return records.LayoutChart(
        title=title,
        form="lines",
        names=[_paid_text(value, room) for number, _, value in lines if number == 1],
    )


def _paid_text(value: Any, room: Room) -> str:
    room.take(ITEM_BYTES + TEXT_BYTES * len(pb.inner(value)))
    return pb.text(value)


def _hparams(content: pb.Buffer, room: Room) -> Iterator[FoundRecord]:
    start = next((value for number, _, value in pb.fields(content) if number == 3), None)
    if start is None:
        return
    found: dict[str, records.Plain] = {}
    for number, _, value in pb.fields(pb.inner(start)):
        if number == 1:
            entry = pb.chosen_fields(pb.inner(value), 1, 2)
            room.take(ENTRY_BYTES)
            plain = _plain(pb.inner(entry.get(2, b"")), room)
            is_list = isinstance(plain, list)
            found[_paid_text(entry.get(1, b""), room)] = (
                json.dumps(plain, ensure_ascii=False) if is_list else plain
            )
    yield FoundRecord("hparams", "hparams", records.HparamsHead(hparams=found, metrics={}), 0, bytes)


def _plain(message: pb.Buffer, room: Room, depth: int = 0) -> Any:
    """A number, a text, a truth, or a list of these."""
    if depth > _MOST_NESTING:
        raise TooLargeError(f"lists in lists, more than {_MOST_NESTING} deep")
    for number, _, value in pb.fields(message):
        if number == 2:
            return pb.double(value)
        if number == 3:
            return _paid_text(value, room)
        if number == 4:
            return bool(value)
        if number == 6:
            items = []
            for key, _, item in pb.fields(pb.inner(value)):
                if key == 1:
                    room.take(ITEM_BYTES)
                    items.append(_plain(pb.inner(item), room, depth + 1))
            return items
    return None


_OF_PLUGINS: Final[dict[str, Callable[[str, ReadTensor, Room], Iterator[Found]]]] = {
    "scalars": _scalar,
    "text": _text,
    "images": _images,
    "audio": _audios,
    "histograms": _bins,
    "pr_curves": _pr_curve,
    "custom_scalars": _layout,
    "mesh": lambda name, tensor, room: iter(()),
}
_OTHER_PLUGIN: Final = "other"
_PLUGIN_NAMES: Final = {name.encode(): name for name in (*_OF_PLUGINS, "hparams")}
_LONGEST_PLUGIN: Final = 32


_STRING: Final = 7
_WORD: Final = (1 << 64) - 1
# The number of a type, its name in torch, and how NumPy reads the bytes; where NumPy lacks it, its bits.
_TYPES: Final = {
    1: ("float32", "<f4"),
    2: ("float64", "<f8"),
    3: ("int32", "<i4"),
    4: ("uint8", "<u1"),
    5: ("int16", "<i2"),
    6: ("int8", "<i1"),
    8: ("complex64", "<c8"),
    9: ("int64", "<i8"),
    10: ("bool", "|b1"),
    14: ("bfloat16", "<u2"),
    17: ("uint16", "<u2"),
    18: ("complex128", "<c16"),
    19: ("float16", "<f2"),
    22: ("uint32", "<u4"),
    23: ("uint64", "<u8"),
    24: ("float8_e5m2", "<u1"),
    25: ("float8_e4m3fn", "<u1"),
    26: ("float8_e4m3fnuz", "<u1"),
    28: ("float8_e5m2fnuz", "<u1"),
}
_NUMBERS: Final = {name: number for number, (name, _) in _TYPES.items()}
_KINDS: Final = {name: numpy.dtype(kind) for name, kind in _TYPES.values()}
# Fields with one number for each element, where the elements do not come as bytes: floats, and whole numbers.
_FLOATS: Final = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_WHOLE: Final = (7, 10, 11, 13, 16, 17)
_TEXTS: Final = 8


class ReadTensor(NamedTuple):
    """A tensor of numbers, raw, or of texts."""

    shape: list[int]
    dtype: str  # torch's name; `string` for texts
    data: pb.Buffer
    message: pb.Buffer
    start: int  # where in its value the message begins

    def texts(self) -> Iterator[tuple[pb.Buffer, int]]:
        """One after the other, and where in the value each begins: there may be very many."""
        for field, _, value, start in pb.placed_fields(self.message):
            if field == _TEXTS:
                yield pb.inner(value), self.start + start

    def array(self) -> Any:
        """The tensor as NumPy has it; types that NumPy lacks as their bits."""
        return numpy.frombuffer(self.data, dtype=_KINDS[self.dtype]).reshape(self.shape)


def read_tensor(message: pb.Buffer, room: Room, start: int) -> ReadTensor:
    number, shape = 0, list[int]()
    content: pb.Buffer = b""
    floats, whole = dict[int, bytearray](), array("Q")
    for field, form, value, _ in pb.placed_fields(message):
        if field == _TEXTS:
            room.take(0, TEXT_WORK)
        elif field in _WHOLE:
            _take_whole(whole, form, value, room)
        elif field in _FLOATS:
            room.take(0, ELEMENT_WORK)
            floats.setdefault(field, bytearray()).extend(pb.inner(value))
        elif field == 1:
            number = pb.signed(value)
        elif field == 2:
            shape = _read_shape(pb.inner(value))
        elif field in (4, 18):
            content = pb.inner(value)
    if number == _STRING:
        return ReadTensor(shape, "string", b"", message, start)
    if number not in _TYPES:
        raise pb.DamagedMessageError(f"a tensor of the type {number}, which is not known")
    name = _TYPES[number][0]
    data = content if len(content) else _elements(name, floats, whole)
    return ReadTensor(shape, name, _filled(data, shape, _KINDS[name].itemsize, room), message, start)


def _take_whole(whole: array[int], form: int, value: Any, room: Room) -> None:
    if form == pb.VARINT:
        room.take(8, ELEMENT_WORK)
        whole.append(value & _WORD)
        return
    room.take(8 * len(value))
    for block in pb.varints(value):
        whole.frombytes(block.tobytes())


def _elements(name: str, floats: Mapping[int, bytearray], whole: array[int]) -> pb.Buffer:
    """Elements that stood one by one in fields of their own."""
    kind = _KINDS[name]
    for field, data in floats.items():
        if len(data) % numpy.dtype(_FLOATS[field]).itemsize:
            raise pb.DamagedMessageError("a row of numbers that ends within one")
        # A complex number is two of them.
        wanted = numpy.dtype(f"<f{kind.itemsize // 2}") if kind.kind == "c" else kind
        with numpy.errstate(all="ignore"):
            numbers = numpy.frombuffer(data, _FLOATS[field]).astype(wanted, copy=False)
        return numbers.data.cast("B") if len(numbers) else b""
    if kind.kind == "c":
        if whole:
            raise pb.DamagedMessageError("whole numbers in the place of complex ones")
        return b""
    bits = numpy.frombuffer(whole, "=u8")
    if name in ("float16", "bfloat16"):
        bits = _halves(name, bits.astype("<u4"))
    elements = bits.astype(f"<u{kind.itemsize}", copy=False)
    return elements.data.cast("B") if len(elements) else b""


def _halves(name: str, bits: Any) -> Any:
    """Floats of two bytes. torch writes the four bytes of the same number as a float32 in their place."""
    if bits.max(initial=0) <= 0xFFFF:
        return bits.astype("<u2")
    with numpy.errstate(all="ignore"):
        return (
            (bits >> 16).astype("<u2") if name == "bfloat16" else bits.view("<f4").astype("<f2").view("<u2")
        )


def _filled(data: pb.Buffer, shape: Sequence[int], size: int, room: Room) -> pb.Buffer:
    """These tensors may leave out elements that are like the last one."""
    # A size of zero must not hide that the others are out of all bounds.
    if math.prod(length for length in shape if length) * size >= 1 << 62:
        raise TooLargeError("a tensor larger than any memory")
    num_bytes = math.prod(shape) * size
    if len(data) > num_bytes or len(data) % size:
        raise pb.DamagedMessageError(f"a tensor of {num_bytes:,} bytes with {len(data):,}")
    missing = num_bytes - len(data)
    if not missing:
        return data
    room.take(FILL_BYTES * missing)
    return bytes(data) + (bytes(data[-size:]) or bytes(size)) * (missing // size)


def _read_shape(message: pb.Buffer) -> list[int]:
    shape: list[int] = []
    for field, _, value in pb.fields(message):
        if field == 2:
            if len(shape) == MOST_DIMS:
                raise TooLargeError(f"a tensor of more than {MOST_DIMS} dimensions")
            shape.append(pb.size(pb.first_field(pb.inner(value), 1) or 0, 1 << 62))
    return shape


def tensor_message(shape: list[int], dtype: str, data: bytes) -> bytes | None:
    """A tensor as a message; None for a type that they do not have."""
    number = _NUMBERS.get(dtype)
    if number is None:
        return None
    return pb.int_field(1, number) + _shape_field(shape) + pb.bytes_field(4, data)


def strings_message(strings: list[bytes]) -> bytes:
    rows = b"".join(pb.bytes_field(8, one) for one in strings)
    return pb.int_field(1, _STRING) + _shape_field([len(strings)]) + rows


def _shape_field(shape: list[int]) -> bytes:
    dims = b"".join(pb.bytes_field(2, pb.int_field(1, size)) for size in shape)
    return pb.bytes_field(2, dims)

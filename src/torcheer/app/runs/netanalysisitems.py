"""The items that layers responded to: of a batch, or moments; and their labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.app.netanalysismessages import NetItemChoice, NetItemsAnswer, NetLabelChoice
from torcheer.app.runs.listing import clipped, countable
from torcheer.app.runs.netfinding import Stretch, read_stretches
from torcheer.app.runs.netindex import Mark
from torcheer.app.runs.nets import RankNet
from torcheer.app.runs.recorded import evenly
from torcheer.errors import InputError
from torcheer.run import record_id

_MAX_LABEL: Final = 80
_MAX_CHOICES: Final = 64
_MAX_LABELS_BYTES: Final = 1 << 20
_LABELLED: Final = re.compile(r"(^|[._/ -])(labels?|targets?|class(es)?|y)$", re.IGNORECASE)
_ITEM: Final = "item:"  # every item of a batch is its own label
_NO_LABEL: Final = "(none)"
_WHOLE_TYPES: Final = ("int", "uint", "bool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A moment and a place in its batch for each item; labels where there are some."""

    steps: tuple[int, ...]
    items: tuple[int, ...]
    labels: tuple[str, ...]  # each once, in their order
    label_of: NDArray[numpy.int64] | None
    num_moments: int
    note: str

    def __len__(self) -> int:
        return len(self.steps)


def items_of(net: RankNet, choice: NetItemChoice) -> Items:
    """The lock of the run is held by whoever asks."""
    steps, items, num_moments = _chosen(net, choice)
    if not steps:
        raise InputError(
            f"nothing of {choice.variable[:80]} was recorded up to step {choice.step:,}: choose another "
            "variable, or a later moment."
        )
    texts = _labels(net, choice.labels, steps, items)
    names = sorted(set(texts), key=_in_order(texts))
    number = {name: at for at, name in enumerate(names)}
    return Items(
        steps=steps,
        items=items,
        labels=tuple(names),
        label_of=numpy.array([number[text] for text in texts], numpy.int64) if texts else None,
        num_moments=num_moments,
        note=_note(choice, steps, num_moments),
    )


def items_answer(number: int, net: RankNet, items: Items) -> NetItemsAnswer:
    return NetItemsAnswer(
        id=number,
        steps=[countable(step) or 0 for step in items.steps],
        items=items.items,
        labels=items.labels,
        label_of=[] if items.label_of is None else items.label_of.tolist(),
        label_choices=_choices(net, items),
        num_moments=items.num_moments,
        note=items.note,
    )


# --- which -----------------------------------------------------------------------------------------


def _chosen(net: RankNet, choice: NetItemChoice) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    if choice.scope == "batch":
        count = min(num_items(net, choice.variable, choice.step), choice.most)
        return (choice.step,) * count, tuple(range(count)), 1
    moments = _moments(net, choice.variable, choice.step)
    if choice.scope == "moments":
        some = evenly(moments, choice.most)
        return tuple(some), (choice.item,) * len(some), len(moments)
    largest = max((num_items(net, choice.variable, step) for step in evenly(moments, 64)), default=0)
    some = evenly(moments, max(1, choice.most // max(1, largest)))
    rows = [(step, item) for step in some for item in range(num_items(net, choice.variable, step))]
    rows = rows[: choice.most]
    return tuple(step for step, _ in rows), tuple(item for _, item in rows), len(moments)


def _note(choice: NetItemChoice, steps: Sequence[int], num_moments: int) -> str:
    num_taken = len(set(steps))
    if choice.scope == "batch" or num_taken == num_moments:
        return ""
    return f"{num_taken:,} of {num_moments:,} moments are taken, evenly chosen"


def mark_at(net: RankNet, layer: str, variable: str, step: int) -> Mark | None:
    """The record of just this moment: an earlier one would count twice."""
    series = net.index.series.get(net.net.series.get((layer, variable), ""))
    mark = None if series is None else series.last_up_to(step)
    return mark if mark is not None and mark.step == step else None


def num_items(net: RankNet, variable: str, step: int) -> int:
    """As many as the layer has of which most were recorded."""
    counts = [0]
    for layer in net.net.scene.layers:
        mark = mark_at(net, layer.name, variable, step)
        if mark is not None:
            has_items = layer.has_items and len(mark.outline.shape) > 0
            counts.append(mark.outline.shape[0] if has_items else 1)
    return max(counts)


def _moments(net: RankNet, variable: str, last: int) -> list[int]:
    """At which any layer has the variable, rising."""
    names = {name for (_, its), name in net.net.series.items() if its == variable}
    columns = [net.index.series[name].columns().steps for name in names if name in net.index.series]
    if not columns:
        return []
    steps = numpy.unique(numpy.concatenate(columns))
    found: list[int] = steps[steps <= last].tolist()
    return found


# --- labels ----------------------------------------------------------------------------------------


def _in_order(texts: Sequence[str]) -> Callable[[str], tuple[float, str]]:
    """Numbers by their size, where all are numbers."""
    try:
        sizes = {text: float(text) for text in texts}
    except ValueError:
        return lambda text: (0.0, text)
    return lambda text: (sizes[text], text) if math.isfinite(sizes[text]) else (math.inf, text)


def _labels(net: RankNet, key: str, steps: Sequence[int], items: Sequence[int]) -> list[str]:
    if key in ("", _ITEM):
        return [str(item) for item in items] if key else []
    kind, _, name = key.partition(":")
    find = _KINDS.get(kind)
    if find is None:
        raise InputError(f"there are no labels {key[:80]!r}: choose from those that are offered.")
    by_step = {step: find(net, name, step) for step in dict.fromkeys(steps)}
    return [clipped(_label(by_step[step], item), _MAX_LABEL) for step, item in zip(steps, items, strict=True)]


def _label(of_moment: Sequence[str], item: int) -> str:
    """One for each item of the batch, or one for all of them."""
    if len(of_moment) == 1:
        return of_moment[0] or _NO_LABEL
    return (of_moment[item] if item < len(of_moment) else "") or _NO_LABEL


def _of_moment(net: RankNet, name: str, step: int) -> Sequence[str]:
    return [str(step)]


def _of_counter(net: RankNet, name: str, step: int) -> Sequence[str]:
    return [net.index.counters.get(step, {}).get(name, "")]


def _of_tensor(net: RankNet, name: str, step: int) -> Sequence[str]:
    """The last up to the moment: labels that never change are written once."""
    series = net.index.series.get(name)
    mark = None if series is None else series.last_up_to(step)
    if mark is None or not _is_column(mark.outline.shape):
        return []
    (numbers,) = read_stretches(net.reader, [Stretch(mark, 0, math.prod(mark.outline.shape))])
    return [] if numbers is None else [f"{number:.6g}" for number in numbers.tolist()]


def _of_text(net: RankNet, name: str, step: int) -> Sequence[str]:
    entries = [entry for entry in net.reader.records("text", name) if entry.step <= step]
    if not entries:
        return []
    last = max(entries, key=lambda entry: (entry.step, entry.time, entry.id))
    if last.num_bytes > _MAX_LABELS_BYTES:
        return []
    return (net.reader.data(record_id(last)) or b"").decode("utf-8", "replace").splitlines()


_KINDS: Final[dict[str, Callable[[RankNet, str, int], Sequence[str]]]] = {
    "moment": _of_moment,
    "counter": _of_counter,
    "tensor": _of_tensor,
    "text": _of_text,
}


def _choices(net: RankNet, items: Items) -> list[NetLabelChoice]:
    found = [
        NetLabelChoice(key=key, name=clipped(name, _MAX_LABEL), about=about)
        for key, name, about in _offered(net, items)
    ]
    return found[:_MAX_CHOICES]


def _offered(net: RankNet, items: Items) -> Iterator[tuple[str, str, str]]:
    last = items.steps[-1]
    for name, series in net.index.series.items():
        mark = series.last_up_to(last)
        if mark is not None and _is_column(mark.outline.shape) and _are_labels(name, mark):
            yield f"tensor:{name}", name, "a number for each item of the batch"
    for key in net.reader.series():
        if key.kind == "text" and (_LABELLED.search(key.name) or _has_a_line_each(net, key.name, last)):
            yield f"text:{key.name}", key.name, "a line for each item of the batch"
    names = dict.fromkeys(name for step in items.steps for name in net.index.counters.get(step, ()))
    for name in names:
        yield f"counter:{name}", name, "a counter of the moments"
    if len(set(items.items)) > 1:
        yield _ITEM, "item of the batch", "its place in the batch"
    if len(set(items.steps)) > 1:
        yield "moment:", "moment", "its step"


def _has_a_line_each(net: RankNet, name: str, step: int) -> bool:
    """Whether a text has as many lines as a batch has items: then it will be about them."""
    return 1 < net.net.num_items == len(_of_text(net, name, step))


def _is_column(shape: Sequence[int]) -> bool:
    return 1 <= len(shape) <= 2 and 0 < math.prod(shape) == shape[0] <= 1 << 16


def _are_labels(name: str, mark: Mark) -> bool:
    stem = name.removesuffix(".Act")
    return mark.outline.dtype.startswith(_WHOLE_TYPES) or _LABELLED.search(stem) is not None

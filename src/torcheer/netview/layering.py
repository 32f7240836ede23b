"""Find the ops of a pass that a person would call layers, and what each of them reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from torcheer.capture import BUFFER, SOURCE, Scope
from torcheer.netview.attending import Site
from torcheer.netview.flow import Flow
from torcheer.netview.forms import input_of
from torcheer.netview.optypes import (
    COMBINING,
    CONVOLUTIONS,
    MINOR,
    REDUCING,
    REORDERING,
    TRANSPOSED_CONVOLUTIONS,
    WEIGHTY,
)

MOST_PASSES: Final = 8  # of a layer that runs again and again; of more, the last is shown

Feed = dict[int, bool]  # the layers, or parameters, that an op comes from: are these their very values?


@dataclass(slots=True)
class Marks:
    """What is decided about single ops before they are met. Filled between two sweeps."""

    hidden: set[int] = field(default_factory=set)
    shown: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)  # a layer that is read only after it was turned round


class Sweep:
    """One way through the ops, from the first to the last."""

    def __init__(self, flow: Flow, marks: Marks) -> None:
        self.flow = flow
        self.marks = marks
        self.feeds: list[Feed] = []  # what a reader of the op reads
        self.sources: dict[int, Feed] = {}  # what a layer itself reads
        self.moved_from = {there: here for here, there in marks.moved.items()}
        for op in range(len(flow.records)):
            feed = self._feed_of(op)
            if self._is_layer(op, feed):
                self.sources[op] = feed
                feed = {op: True}
            self.feeds.append(feed)

    def _feed_of(self, op: int) -> Feed:
        before = self.flow.handed_on(op)
        if before is not None:
            return self._read(before)
        feed: Feed = {}
        for parent in self.flow.records[op].parents:
            feed.update(dict.fromkeys(self._read(parent), False))
        return feed

    def _read(self, op: int) -> Feed:
        return self.feeds[op] if op >= 0 else {op: True}

    def _is_layer(self, op: int, feed: Feed) -> bool:
        flow, marks = self.flow, self.marks
        if flow.is_input(op):
            return flow.size(op) > 0 and len(flow.shape(op)) > 0
        if flow.records[op].trait in (BUFFER, SOURCE) or flow.is_output(op) or not flow.size(op):
            return False
        if op in marks.hidden or op in marks.moved or not feed:
            return False
        if op in marks.shown or op in self.moved_from:
            return True
        scope = flow.closed(op)
        if scope is not None:
            return self._is_result(op, scope)
        return self._is_open_layer(op, feed)

    def _is_result(self, op: int, scope: Scope) -> bool:
        """What a module gives, unless it only hands on what it was given."""
        if op not in scope.outputs or not _is_shown(scope.pass_num, self.flow.num_calls(scope.address or "")):
            return False
        origin = self.flow.origin(op)
        return origin >= 0 and self.flow.closed(origin) is scope

    def _is_open_layer(self, op: int, feed: Feed) -> bool:
        flow = self.flow
        comes_from_layer = any(source >= 0 for source in feed)
        if not comes_from_layer or not flow.shape(op) or not flow.is_real_or_complex(op):
            return False
        if flow.handed_on(op) is not None or not self.is_shown_pass(op):
            return False
        kind = flow.type(op)
        if kind in COMBINING:
            return len(feed) > 1
        if kind in REDUCING:
            return not flow.plain(op, 2, "keepdim", False)
        return kind not in MINOR

    def is_shown_pass(self, op: int) -> bool:
        layers = self.flow.history._numbered.layers
        return _is_shown(layers.pass_of[op], layers.num_passes[layers.layer_of[op]])

    # --- the op that has the weights ---------------------------------------------------------------

    def work_of(self, layer: int) -> int | None:
        """The one op of a layer whose form is known, if all that the layer gives is what this op gives."""
        op = self.moved_from.get(layer, layer)
        scope = self.flow.closed(op)
        if scope is None:
            return op if self.flow.type(op) in WEIGHTY else None
        ops = range(scope.first_op, scope.end(len(self.flow.records)))
        found = [one for one in ops if self.flow.type(one) in WEIGHTY and self.flow.closed(one) is scope]
        return found[0] if len(found) == 1 and self.flow.origin(op) == found[0] else None


def _is_shown(pass_num: int, num_passes: int) -> bool:
    return num_passes <= MOST_PASSES or pass_num == num_passes


def swept(flow: Flow, sites: Iterable[Site]) -> Sweep:
    """All layers. Two sweeps: the first shows which minor ops are read by layers with weights."""
    marks = Marks()
    for site in sites:
        marks.hidden |= site.scores
        if site.weights is not None and site.module is None:
            marks.shown.add(site.weights)
    first = Sweep(flow, marks)
    for layer in first.sources:
        work = first.work_of(layer)
        read = None if work is None else input_of(flow, work)
        if work is not None and read is not None and read >= 0:
            _show_what_is_read(first, marks, work, read)
    return Sweep(flow, marks) if marks.shown or marks.moved else first


def _show_what_is_read(first: Sweep, marks: Marks, work: int, read: int) -> None:
    """A layer with weights reads a minor op: its weights belong to exactly these values."""
    flow = first.flow
    origin = flow.origin(read)
    if origin in first.sources:
        needs_shape = flow.type(work) in CONVOLUTIONS or flow.type(work) in TRANSPOSED_CONVOLUTIONS
        if needs_shape and flow.shape(origin) != flow.shape(read) and flow.closed(read) is None:
            marks.shown.add(read)
        return
    if origin < 0 or flow.closed(origin) is not None or not flow.is_real_or_complex(origin):
        return
    if not any(source >= 0 for source in first.feeds[origin]) or not first.is_shown_pass(origin):
        return
    chain = _turned_chain(first, origin, read)
    if chain:
        own = flow.closed(work)
        outside = [op for op in chain if own is None or flow.closed(op) is not own]
        marks.moved[chain[0]] = outside[-1]
    else:
        marks.shown.add(origin)


def _turned_chain(first: Sweep, origin: int, read: int) -> list[int]:
    """From a function's result that is turned round and read by nobody else, to its reader; else nothing."""
    flow = first.flow
    if flow.type(origin) not in REORDERING:
        return []
    base = flow.origin(flow.records[origin].parents[0])
    if base not in first.sources or flow.is_input(base) or flow.closed(base) is not None:
        return []
    chain, op = [read], read
    while op != base:
        before = flow.handed_on(op)
        op = flow.records[op].parents[0] if before is None else before
        chain.append(op)
    is_alone = all(len(flow.children[op]) == 1 for op in chain)
    return chain[::-1] if is_alone and flow.shape(chain[0])[:1] == flow.shape(read)[:1] else []

"""Give each record its layer and its label, in the order of the pass."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from torcheer.capture.scopes import Scope
from torcheer.capture.tape import BUFFER, NOT_CALLS, TENSOR, Record, Tape
from torcheer.graph.layers import OUTSIDE, Carried, LayerBook, Slots
from torcheer.graph.naming import LabelBook
from torcheer.graph.places import PlaceBook, Site, comes_before


class Numbering:
    """Layers and labels of a tape; can follow it while it grows."""

    def __init__(self, tape: Tape, modules_with_params: Callable[[], frozenset[str]]) -> None:
        self._tape = tape
        self._modules_with_params = modules_with_params
        self._places = PlaceBook()
        self._place_of_scope: dict[int, int] = {}  # by the scope's id
        self._place_of_function: dict[Hashable, int] = {}
        self._last_op: list[int] = []  # of each layer, so far
        self.layers = LayerBook(self._slots)
        self.labels = LabelBook()

    def catch_up(self) -> None:
        """Number every record that is not numbered yet."""
        records = self._tape.records
        layers, labels, last_op = self.layers, self.labels, self._last_op
        for op in range(len(layers.layer_of), len(records)):
            record = records[op]
            params = tuple([p for p in record.parents if p < 0])
            layer = layers.assign(
                self._key(op, record, params), by_key_alone=bool(params) or record.trait is BUFFER
            )
            if layer == len(last_op):
                labels.add(record.trait.type)
                last_op.append(op)
            else:
                last_op[layer] = op

    def names_of(self, op: int) -> tuple[str, ...]:
        """Every label that an op answers to."""
        layer, pass_num = self.layers.layer_of[op], self.layers.pass_of[op]
        label, short = self.labels.label(layer), self.labels.short_label(layer)
        return (label, short, f"{label}:{pass_num}", f"{short}:{pass_num}")

    def _key(self, op: int, record: Record, params: tuple[int, ...]) -> Hashable:
        trait = record.trait
        if id(trait) in NOT_CALLS:
            address = self._tape.addresses.get(op)
            return (trait.type, address if trait is BUFFER else op)
        place = self._places.place_of(record.site) if record.site else -1
        return (trait.name, place, self._scope_place(record.scope), params, record.position)

    def _scope_place(self, scope: Scope) -> Any:
        """The module, or the place in it where a function was opened."""
        if scope.address is not None or scope.parent is None:
            return scope.address
        place = self._place_of_scope.get(id(scope))
        if place is None:
            site = self._places.place_of(scope.site) if scope.site else -1
            key = (scope.name, site, self._scope_place(scope.parent))
            place = self._place_of_function.setdefault(key, len(self._place_of_function))
            self._place_of_scope[id(scope)] = place
        return place

    # --- the surrounding pattern -----------------------------------------------

    def _slots(self, op: int) -> tuple[Slots, Carried]:
        record = self._tape.records[op]
        fence = self._fence(record.scope)
        slots: list[Hashable] = []
        carried: list[bool] = []
        for group in _argument_groups(record):
            pairs = [self._slot(op, record, parent, fence) for parent in group]
            slots.append(pairs[0][0] if len(pairs) == 1 else frozenset(slot for slot, _ in pairs))
            carried.append(any(is_carried for _, is_carried in pairs))
        return tuple(slots), tuple(carried)

    def _slot(self, op: int, record: Record, parent: int, fence: Scope | None) -> tuple[Hashable, bool]:
        if parent < 0:
            return parent, False
        made = self._tape.records[parent]
        if fence is not None and not _lies_in(made.scope, fence):
            return OUTSIDE, False
        alike = parent - made.position if made.trait.like_outputs else parent
        layer = self.layers.layer_of[alike]
        if id(made.trait) in NOT_CALLS:
            return layer, False
        is_latest = self._last_op[self.layers.layer_of[parent]] == parent
        return layer, not (is_latest and _runs_before(made, record))

    def _fence(self, scope: Scope) -> Scope | None:
        """The innermost module with parameters around an op: its calls are alike, whatever they are fed."""
        around: Scope | None = scope
        while around is not None and around.parent is not None:
            if around.address is not None and around.address in self._modules_with_params():
                return around
            around = around.parent
        return None


def _argument_groups(record: Record) -> list[list[int]]:
    """Parents by argument: the items of a list stand in one slot, however many they are."""
    if len(record.parents) == 1:
        return [[record.parents[0]]]
    sizes = [_num_tensors(arg) for arg in (*record.args, *(record.kwargs or {}).values())]
    if sum(sizes) != len(record.parents):
        return [[parent] for parent in record.parents]
    groups: list[list[int]] = []
    start = 0
    for size in filter(None, sizes):
        groups.append(list(record.parents[start : start + size]))
        start += size
    return groups


def _num_tensors(value: Any) -> int:
    if value is TENSOR:
        return 1
    if isinstance(value, list | tuple):
        return sum(map(_num_tensors, value))
    if isinstance(value, dict):
        return sum(map(_num_tensors, value.values()))
    if isinstance(value, slice):
        return sum(map(_num_tensors, (value.start, value.stop, value.step)))
    return 0


def _lies_in(scope: Scope | None, outer: Scope) -> bool:
    while scope is not None and scope.depth >= outer.depth:
        if scope is outer:
            return True
        scope = scope.parent
    return False


def _runs_before(first: Record, second: Record) -> bool:
    """Whether the code reaches `first` before `second` in one run through it."""
    a, b = _sites_under_common_scope(first, second)
    return comes_before(a, b)


def _sites_under_common_scope(first: Record, second: Record) -> tuple[Site, Site]:
    scope_a, scope_b = first.scope, second.scope
    site_a, site_b = first.site, second.site
    while scope_a is not scope_b and scope_a is not None and scope_b is not None:
        if scope_a.depth >= scope_b.depth:
            site_a, parent = scope_a.site, scope_a.parent
            if scope_b.depth == scope_a.depth:
                site_b = scope_b.site
                if scope_b.parent is None:
                    break
                scope_b = scope_b.parent
            if parent is None:
                break
            scope_a = parent
        else:
            site_b = scope_b.site
            if scope_b.parent is None:
                break
            scope_b = scope_b.parent
    return site_a, site_b

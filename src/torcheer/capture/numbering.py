"""Give each record its layer and its label: loops are recognised here.

Executions are passes of one layer when they come from the same place in the code and module, with
the same parameters, in the same company.

- An op with parameters is told by its module, place and parameters alone: a shared layer is one layer.
- Any other op is told by its way through the code, from the innermost module with parameters down to
  it. Such a module called again is the same thing again, whatever it is fed; elsewhere another line
  is another layer, so a plain repeat is no loop.
- Iterations that run different layers keep different company (see `iterations`), so that
  `for layer in layers: x = relu(layer(x))` has as many relus as layers.

All but the company is known while the pass runs; so labels are certain until something repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from torcheer.capture.iterations import Iterations
from torcheer.capture.scopes import Scope
from torcheer.capture.tape import BUFFER, IDENTITY, NOT_CALLS, UPDATED, Record, Tape
from torcheer.graph import LabelBook, LayerBook, PlaceBook

_BY_KEY_ALONE = "settled"


class Numbering:
    """Layers and labels of a tape. `follow` keeps up with a running pass, `finish` settles it."""

    def __init__(self, tape: Tape, has_params: Callable[[str], bool]) -> None:
        self._tape = tape
        self.has_params = has_params
        self._places = PlaceBook()
        self._ways: dict[int, tuple[Hashable, Scope | None]] = {}  # by scope id: its way, and its fence
        self._way_numbers: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []  # by op
        self._count: dict[Hashable, int] = {}
        self._layer_of_key: dict[Hashable, int] = {}
        self.is_certain = True  # of the labels given so far
        self.layers = LayerBook()
        self.labels = LabelBook()

    def follow(self) -> None:
        """Number every record that is not numbered yet, as if no company differed."""
        keys = self._read_keys()
        for op in range(len(self.layers.layer_of), len(keys)):
            key = keys[op]
            if key in self._layer_of_key and key[0] is not _BY_KEY_ALONE:  # type: ignore[index]
                self.is_certain = False
            self._append(op, key)

    def finish(self) -> None:
        """Number everything, and forget what was only needed for that."""
        keys = self._read_keys()
        self.layers, self.labels, self._layer_of_key = LayerBook(), LabelBook(), {}
        count, records = self._count, self._tape.records
        iterations: Iterations | None = None
        layer_of_key, labels = self._layer_of_key, self.labels
        layer_of, pass_of, num_passes = self.layers.layer_of, self.layers.pass_of, self.layers.num_passes
        may_vary = True
        for op, key in enumerate(keys):
            if may_vary and count[key] > 1 and key[0] is not _BY_KEY_ALONE:  # type: ignore[index]
                if iterations is None:
                    iterations = Iterations(self._tape, self._places, self.has_params, keys, count)
                    may_vary = iterations.anything_varies
                if may_vary:
                    key = (key, iterations.company_of(op, self._fence_of(records[op].scope)))
            layer = layer_of_key.get(key)
            if layer is None:
                layer = layer_of_key[key] = len(num_passes)
                num_passes.append(0)
                labels.add(records[op].trait.type)
            num_passes[layer] = passes = num_passes[layer] + 1
            layer_of.append(layer)
            pass_of.append(passes)
        self._keys, self._count, self._layer_of_key = [], {}, {}
        self._ways, self._way_numbers, self._places = {}, {}, PlaceBook()
        self.is_certain = True

    def as_of_now(self) -> Numbering:
        """The numbering that the pass would have if it ended here."""
        now = Numbering(self._tape, self.has_params)
        now.finish()
        return now

    def names_of(self, op: int) -> tuple[str, ...]:
        """Every label that an op answers to."""
        layer, pass_num = self.layers.layer_of[op], self.layers.pass_of[op]
        label, short = self.labels.label(layer), self.labels.short_label(layer)
        return (label, short, f"{label}:{pass_num}", f"{short}:{pass_num}")

    def _append(self, op: int, key: Hashable) -> None:
        layer = self._layer_of_key.get(key)
        if layer is None:
            layer = self._layer_of_key[key] = self.layers.new_layer()
            self.labels.add(self._tape.records[op].trait.type)
        self.layers.append(layer)

    def _read_keys(self) -> list[Hashable]:
        keys, count, ways, place_of = self._keys, self._count, self._ways, self._places.place_of
        records, known_place = self._tape.records, self._places.known
        for op in range(len(keys), len(records)):
            record = records[op]
            trait, _, _, parents, scope, site, _, position, _ = record
            key: Hashable
            if not site or id(trait) in NOT_CALLS:
                key = self._key_without_site(op, record)
            else:
                place = known_place((id(site[0]), site[1])) if len(site) == 2 else None
                if place is None:
                    place = place_of(site)
                if parents and min(parents) < 0:
                    params = [p for p in parents if p < 0]
                    key = (_BY_KEY_ALONE, trait.name, place, scope.module().address, tuple(params), position)
                else:
                    way = ways.get(id(scope))
                    if way is None:
                        way = self._way(scope)
                    key = (trait.name, place, way[0], position)
            keys.append(key)
            count[key] = count.get(key, 0) + 1
        return keys

    def _key_without_site(self, op: int, record: Record) -> Hashable:
        """Inputs, outputs, buffers; identity modules; what was written through other tensors."""
        trait = record.trait
        if id(trait) in NOT_CALLS:
            which: Any = self._tape.addresses.get(op) if trait is BUFFER else op
            return (_BY_KEY_ALONE, trait.type, which)
        way = self._way(record.scope)[0]
        if trait is IDENTITY:
            return (trait.name, -1, way, record.position)
        # It is told by whose memory it is, and by the ops that wrote it.
        told_by = [self._first_owner(record.parents[0]), *record.parents[1:]] if record.parents else []
        return (trait.name, tuple([hash(self._keys[p]) if p >= 0 else p for p in told_by]), way)

    def _first_owner(self, op: int) -> int:
        while op >= 0 and self._tape.records[op].trait is UPDATED:
            op = self._tape.records[op].parents[0]
        return op

    def _way(self, scope: Scope) -> tuple[Hashable, Scope | None]:
        """The way through the code from the innermost module with parameters down to a scope."""
        known = self._ways.get(id(scope))
        if known is not None:
            return known
        if scope.parent is None:
            way: tuple[Hashable, Scope | None] = ("", None)
        elif scope.address is not None and self.has_params(scope.address):
            way = (scope.address, scope)
        else:
            outer, fence = self._way(scope.parent)
            place = self._places.place_of(scope.site) if scope.site else -1
            step = (outer, place, scope.address or scope.name)
            way = (self._way_numbers.setdefault(step, len(self._way_numbers)), fence)
        self._ways[id(scope)] = way
        return way

    def _fence_of(self, scope: Scope) -> Scope | None:
        return self._way(scope)[1]

"""Give each record its layer and its label: loops are recognised here.

Executions are passes of one layer when they come from the same place in the code and module, with
the same parameters, in the same company.

- An op with parameters is told by its module, place and parameters alone: a shared layer is one layer.
- Any other op is told by its way through the code, from the innermost module with parameters down to
  it. Such a module called again is the same thing again, whatever it is fed; elsewhere another line
  is another layer, so a plain repeat is no loop.
- Iterations that run different layers keep different company (see `Iterations`), so that
  `for layer in layers: x = relu(layer(x))` has as many relus as layers.

All but the company is known while the pass runs; so labels are certain until something repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torcheer.capture.tape import (
    BUFFER,
    IDENTITY,
    INPUT,
    NOT_CALLS,
    OWN_TRAITS,
    SOURCE,
    UPDATED,
    Record,
    Scope,
    Tape,
)
from torcheer.graph import LabelBook, LayerBook, PlaceBook, Site, goes_on, site_key

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
            layer = self._layer_of_key.get(key)
            if layer is None:
                layer = self._layer_of_key[key] = self.layers.new_layer()
                self.labels.add(self._tape.records[op].trait.type)
            self.layers.append(layer)

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
                    key = (key, iterations.company_of(op, self._way(records[op].scope)[1]))
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
        told_by = list(record.parents)
        while told_by and told_by[0] >= 0 and self._tape.records[told_by[0]].trait is UPDATED:
            told_by[0] = self._tape.records[told_by[0]].parents[0]
        return (trait.name, tuple([hash(self._keys[p]) if p >= 0 else p for p in told_by]), way)

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


Company = frozenset[Hashable]
_ALONE: Company = frozenset()
_ALIKE = frozenset((id(INPUT), id(SOURCE)))


class Iterations:
    """Tells the iterations of a loop over different layers apart, by the company of each op.

    `for layer in layers: x = relu(layer(x))` calls, at one place in the code, another module each time
    round; a loop over functions calls another function. What else runs in such an iteration belongs to that
    iteration alone: its *company* is the set of modules, parameters and functions that vary at their place.
    Where nothing varies the company is empty, and the iterations are passes of the same layers. A loop that
    takes its terms from different layers made before it varies in the same way.

    Built once, from a finished tape; read only for ops that repeat.
    """

    def __init__(
        self,
        tape: Tape,
        places: PlaceBook,
        has_params: Callable[[str], bool],
        keys: Sequence[Hashable],
        count: Mapping[Hashable, int],
    ) -> None:
        self._tape = tape
        self._places = places
        self._has_params = has_params
        # One op for each function at each place is enough to see what is called where.
        self._varying = self._find_varying({key: op for op, key in enumerate(keys)}.values())
        self._fed_by = self._find_varying_terms(keys, count)
        self._companies: dict[int, dict[int, Company]] = {}  # by scope id and op

    @property
    def anything_varies(self) -> bool:
        return bool(self._varying)

    def company_of(self, op: int, upto: Scope | None) -> tuple[Company, ...]:
        """One company for each scope around an op, up to and including the given one."""
        found: list[Company] = []
        scope: Scope | None = self._tape.records[op].scope
        while scope is not None:
            if scope.is_module and scope.address in self._varying:
                found.append(self._companies_in(scope).get(op, _ALONE))
            if scope is upto:
                break
            scope = scope.parent
        return tuple(found)

    def _find_varying(self, examples: Iterable[int]) -> dict[str | None, set[int]]:
        """By module: the places at which it calls different modules or functions, or uses other weights."""
        met: dict[tuple[str | None, int], set[Hashable]] = {}
        seen: set[int] = set()
        for op in examples:
            record = self._tape.records[op]
            scope: Scope | None = record.scope
            if record.site and record.trait not in OWN_TRAITS:
                self._meet(met, record.scope, record.site, _called_by(record))
            while scope is not None and scope.parent is not None and id(scope) not in seen:
                seen.add(id(scope))
                if scope.is_module and scope.site:
                    self._meet(met, scope.parent, scope.site, scope.address)
                scope = scope.parent
        varying: dict[str | None, set[int]] = {}
        for (home, place), identities in met.items():
            if len(identities) > 1:
                varying.setdefault(home, set()).add(place)
        return varying

    def _find_varying_terms(
        self, keys: Sequence[Hashable], count: Mapping[Hashable, int]
    ) -> dict[int, list[tuple[Hashable, int]]]:
        """By op: what feeds it, and the op that did, where repeats are fed by layers that ran once."""
        feeders: dict[tuple[Hashable, int], set[Hashable]] = {}
        terms: dict[int, list[tuple[int, Hashable, int]]] = {}
        for op, record in enumerate(self._tape.records):
            if count[keys[op]] == 1 or any(p < 0 for p in record.parents):
                continue
            for slot, parent in enumerate(record.parents):
                if parent < 0 or id(self._tape.records[parent].trait) in _ALIKE:
                    continue
                # A layer that ran once, as a thing to be told apart. The outputs of one call are alike.
                feeder = keys[parent - self._tape.records[parent].position]
                if count[feeder] == 1:
                    feeders.setdefault((keys[op], slot), set()).add(feeder)
                    terms.setdefault(op, []).append((slot, feeder, parent))
        fed_by: dict[int, list[tuple[Hashable, int]]] = {}
        for op, its_terms in terms.items():
            varying = [(f, parent) for slot, f, parent in its_terms if len(feeders[keys[op], slot]) > 1]
            if varying:
                fed_by[op] = varying
                for scope in self._tape.records[op].scope.chain():
                    self._varying.setdefault(scope.address, set())
        return fed_by

    def _meet(
        self, met: dict[tuple[str | None, int], set[Hashable]], scope: Scope, site: Site, called: Hashable
    ) -> None:
        # In the module around it, the place of the function that was opened there.
        while scope.address is None and scope.parent is not None:
            scope, site = scope.parent, scope.site
        for place, identity in self._calls_on(site, called):
            met.setdefault((scope.address, place), set()).add(identity)

    def _calls_on(self, site: Site, called: Hashable) -> list[tuple[int, Hashable]]:
        """Each place on the way to an op or module, with what is called there."""
        return [
            (self._places.place_of(site[:end]), id(site[end]) if end < len(site) else called)
            for end in range(2, len(site) + 1, 2)
        ]

    def _companies_in(self, scope: Scope) -> dict[int, Company]:
        """The company of every op inside one call of a module."""
        companies = self._companies.get(id(scope))
        if companies is None:
            rounds, loops = self._rounds(scope)
            companies = self._companies[id(scope)] = {
                op: frozenset(met.identity for met in one.met if met.is_company_of(site, loops))
                for one in rounds
                for op, site in one.ops
            }
        return companies

    def _rounds(self, scope: Scope) -> tuple[list[_Round], _Loops]:
        """The ops of a module call, cut where its code goes back."""
        places = self._varying[scope.address]
        rounds, loops = [_Round()], _Loops()
        before: Site = ()
        last_child: Scope | None = None
        last_layer: Hashable = None
        for op in range(scope.first_op, scope.end(len(self._tape.records))):
            record = self._tape.records[op]
            child, site = _seen_from(scope, record)
            is_call = record.trait not in OWN_TRAITS or record.trait is IDENTITY
            if site and is_call and not (child is not None and child is last_child):
                if before and not goes_on(before, site):
                    loops.come_round(before, site)
                    rounds.append(_Round())
                before = site
                module = child.address if child is not None else None
                calls = self._calls_on(site, module or _called_by(record))
                varying = {identity for place, identity in calls if place in places}
                if module in varying:
                    # One without parameters, called where others vary, goes with the one before it.
                    if self._has_params(module or ""):
                        last_layer = module
                    varying.add(last_layer)
                rounds[-1].met.extend(_Met(identity, site) for identity in varying)
            for term, parent in self._fed_by.get(op, ()):
                made_at = _seen_from(scope, self._tape.records[parent])[1] if parent >= scope.first_op else ()
                rounds[-1].met.append(_Met(term, site, made_at))
            last_child = child
            rounds[-1].ops.append((op, site or before))
        return rounds, loops


def _called_by(record: Record) -> Hashable:
    """What an op calls, seen from the module around it: itself, or the function that was opened there."""
    name, scope = record.trait.name, record.scope
    while not scope.is_module and scope.parent is not None:
        name, scope = scope.name, scope.parent
    return (name, *[p for p in record.parents if p < 0])


class _Met(NamedTuple):
    """Something that varies, where it was met, and where it was made if it is a term."""

    identity: Hashable
    site: Site
    made_at: Site = ()

    def is_company_of(self, site: Site, loops: _Loops) -> bool:
        # A term that the loop itself has made is carried from one round to the next.
        is_carried = bool(self.made_at) and loops.hold_both(self.made_at, self.site)
        return loops.hold_both(self.site, site) and not is_carried


class _Round:
    """One time round a loop: its ops, and what it met that varies."""

    def __init__(self) -> None:
        self.ops: list[tuple[int, Site]] = []
        self.met: list[_Met] = []


class _Loops:
    """The stretches of code that were run again: what lies behind a loop is not in its company."""

    def __init__(self) -> None:
        self._stretches: dict[tuple[int, ...], set[tuple[int, int]]] = {}  # by the frames above

    def come_round(self, end: Site, start: Site) -> None:
        at = 0
        while at < min(len(end), len(start)) - 2 and end[at] is start[at] and end[at + 1] == start[at + 1]:
            at += 2
        self._stretches.setdefault(site_key(start[: at + 1]), set()).add((start[at + 1], end[at + 1]))

    def hold_both(self, a: Site, b: Site) -> bool:
        for at in range(0, min(len(a), len(b)), 2):
            if a[at] is not b[at]:
                return False
            for first, last in self._stretches.get(site_key(a[: at + 1]), ()):
                if first <= a[at + 1] <= last and first <= b[at + 1] <= last:
                    return True
            if a[at + 1] != b[at + 1]:
                return False
        return False


def _seen_from(scope: Scope, record: Record) -> tuple[Scope | None, Site]:
    """Where an op stands in a module's own forward, and the scope directly below it that holds the op."""
    child: Scope | None = None
    inner: Scope | None = record.scope
    site = record.site
    while inner is not None and inner is not scope:
        child, site, inner = inner, inner.site, inner.parent
    return child, site

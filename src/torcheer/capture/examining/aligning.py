"""Say which op of one pass is which of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torcheer.capture.examining.fingerprints import ParamKinds
from torcheer.capture.tape import BUFFER, IDENTITY, INPUT, OUTPUT, Record
from torcheer.graph import align, common_name, family_name, is_move

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

Tokens = list[Hashable | None]
_BY_PARAMS, _BY_MODULE = 1, 2  # levels that may be told apart out of order


@dataclass(slots=True)
class Alignment:
    """Pairs of ops, and those that have no partner. Filled by structure, then mended by values."""

    partner: dict[int, int]  # op of the first pass -> op of the second
    only_left: set[int]
    only_right: set[int]

    def pair(self, left: int, right: int) -> None:
        """Make two ops partners that have none."""
        self.partner[left] = right
        self.only_left.discard(left)
        self.only_right.discard(right)

    def part(self, left: int) -> None:
        right = self.partner.pop(left)
        self.only_left.add(left)
        self.only_right.add(right)


def align_passes(left: ModelHistory, right: ModelHistory) -> Alignment:
    """By structure alone: the same ops, wired in the same way, are partners one by one.

    Otherwise ops of one name with parameters of the same values come first, then those in modules of one
    name, with parameters of the same shapes, of the same name and shape, of the same name, and at last of the
    same family. Inputs and outputs are partners by name, and the rest of them in order.
    """
    ends = _paired_ends(left, right)
    ops_left, ops_right = _ops(left), _ops(right)
    partner = dict(zip(ops_left, ops_right, strict=False))
    if not _is_the_same_program(left, right, ops_left, ops_right, ends | partner):
        kinds = ParamKinds()
        levels_left, levels_right = _levels(left, ops_left, kinds), _levels(right, ops_right, kinds)
        pairs = align(levels_left, levels_right)
        for level in (_BY_PARAMS, _BY_MODULE):
            pairs += _crossing(levels_left[level], levels_right[level], pairs)
        partner = {ops_left[i]: ops_right[j] for i, j in pairs}
    partner |= ends
    return Alignment(
        partner=partner,
        only_left={*ops_left, *_ends(left)} - partner.keys(),
        only_right={*ops_right, *_ends(right)} - set(partner.values()),
    )


def _is_the_same_program(
    left: ModelHistory,
    right: ModelHistory,
    ops_left: list[int],
    ops_right: list[int],
    partner: dict[int, int],
) -> bool:
    """Whether the ops have the same names in the same order, and the same inputs."""
    records_left, records_right = left._tape.records, right._tape.records
    names_left = [common_name(records_left[op].trait.type) for op in ops_left]
    if names_left != [common_name(records_right[op].trait.type) for op in ops_right]:
        return False
    # A parameter is told apart from others by its place among the arguments alone.
    partner = {**partner, -1: -1}
    return all(
        [partner.get(p) for p in _real_parents(records_left, op)] == _real_parents(records_right, other)
        for op, other in partner.items()
        if op >= 0
    )


def _real_parents(records: Sequence[Record], op: int) -> list[int]:
    """Parents, seen through modules that did nothing; -1 for any parameter."""
    found = []
    for parent in records[op].parents:
        while parent >= 0 and records[parent].trait is IDENTITY:
            parent = records[parent].parents[0]
        found.append(max(parent, -1))
    return found


def _crossing(left: Tokens, right: Tokens, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ops that stand in another order, as branches that run one before the other may.

    The first part of their token tells them: their parameters, or their module.
    """
    taken_left, taken_right = {i for i, _ in pairs}, {j for _, j in pairs}
    places: defaultdict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, (tokens, taken) in enumerate(((left, taken_left), (right, taken_right))):
        for place, token in enumerate(tokens):
            if place not in taken and isinstance(token, tuple) and token[0]:  # not the model itself
                places[token][side].append(place)
    rest = [sides for sides in places.values() if len(sides[0]) == len(sides[1])]
    return [pair for sides in rest for pair in zip(*sides, strict=True)]


def pair_by_name(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of what has the same name, then of the rest in order."""
    places = {name: j for j, name in enumerate(right)}
    pairs = [(i, places[name]) for i, name in enumerate(left) if name in places]
    taken_left, taken_right = {i for i, _ in pairs}, {j for _, j in pairs}
    rest_left = [i for i in range(len(left)) if i not in taken_left]
    rest_right = [j for j in range(len(right)) if j not in taken_right]
    return sorted([*pairs, *zip(rest_left, rest_right, strict=False)])


def _ops(history: ModelHistory) -> list[int]:
    """All but inputs and outputs, and modules that did nothing: their value is that of their input."""
    others = (IDENTITY, INPUT, OUTPUT)
    return [op for op, record in enumerate(history._tape.records) if record.trait not in others]


def _ends(history: ModelHistory) -> list[int]:
    return [*history._structure.inputs, *history._structure.outputs]


def _paired_ends(left: ModelHistory, right: ModelHistory) -> dict[int, int]:
    """Inputs with inputs, and outputs with outputs."""
    paired: dict[int, int] = {}
    for ends_left, ends_right in (
        (left._structure.inputs, right._structure.inputs),
        (left._structure.outputs, right._structure.outputs),
    ):
        names = _names(left, ends_left), _names(right, ends_right)
        paired |= {ends_left[i]: ends_right[j] for i, j in pair_by_name(*names)}
    return paired


def _names(history: ModelHistory, ends: Sequence[int]) -> list[str]:
    return [history._tape.addresses.get(op, "") for op in ends]


def _levels(history: ModelHistory, ops: list[int], kinds: ParamKinds) -> list[Tokens]:
    """What is to be the same, from the strictest level to the loosest."""
    tape = history._tape
    levels: list[Tokens] = [[] for _ in range(8)]
    for op in ops:
        record, shape = tape.records[op], tuple(tape.meta(op).shape)
        name, address = common_name(record.trait.type), _address(history, op)
        params = _param_shapes(history, record)
        values = _param_kinds(history, record, kinds)
        tokens = (
            (address, name, values, shape) if values else None,
            (values, name) if values else None,
            (address, name, params, shape),
            (address, name, params),
            (name, params) if params else None,
            (name, shape),
            # Of views and moves that give another shape, two are hardly ever the same.
            None if is_move(record.trait.type) else name,
            (family_name(record.trait.type), shape),
        )
        for level, token in zip(levels, tokens, strict=True):
            level.append(token)
    return levels


def _param_kinds(history: ModelHistory, record: Record, kinds: ParamKinds) -> tuple[int | None, ...]:
    """Which parameters an op reads, by their values; nothing where these tell nothing."""
    found = tuple(kinds.kind_of(history, parent) for parent in record.parents if parent < 0)
    return found if any(kind is not None for kind in found) else ()


def _param_shapes(history: ModelHistory, record: Record) -> tuple[tuple[int, ...], ...]:
    params = history._tape.params
    return tuple(tuple(params[-parent - 1][1].shape) for parent in record.parents if parent < 0)


def _address(history: ModelHistory, op: int) -> str:
    if history._tape.records[op].trait is BUFFER:
        return history._tape.addresses.get(op, "")
    return history._tape.records[op].scope.module().address or ""

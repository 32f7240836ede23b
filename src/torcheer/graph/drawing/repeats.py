"""Equal neighbours drawn once: `× 12` instead of twelve blocks with the same inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.diagram import Group, Node, Pair, Part

_LONGEST_UNIT = 6  # boxes side by side that repeat together, as a block and its downsampling do
_MANY_ABREAST = 4
Unit = Sequence[Part]
Places = dict[Node, int]  # the leaves of a unit, numbered
Wires = set[tuple[object, ...]]


@dataclass(slots=True, kw_only=True)
class Folder:
    """Folds a tree from the inside out."""

    document: PassDocument
    carried: set[Pair] = field(default_factory=set)  # edges from one repeat to the next
    num_folded: int = 0
    _signatures: dict[object, int] = field(default_factory=dict)
    _signature_of: dict[int, int] = field(default_factory=dict)
    _node_of: dict[int, Node] = field(default_factory=dict)
    _readers_of: dict[int, list[tuple[int, str]]] = field(default_factory=dict)  # by op: ops, and as what

    def fold(self, root: Group) -> None:
        for index, op in enumerate(self.document.ops):
            for link in op.parents:
                self._readers_of.setdefault(link.op, []).append((index, link.argument))
        for leaf in root.leaves():
            leaf.stands_for = list(leaf.ops)
            self._node_of.update(dict.fromkeys(leaf.ops, leaf))
        self._fold_inside(root)

    def _fold_inside(self, group: Group) -> None:
        for child in group.children:
            if isinstance(child, Group):
                self._fold_inside(child)
        self._fold_children(group)
        name = self.document.scopes[group.scopes[0]].name if group.scopes else ""
        looks = ("group", name, group.num_repeats, *map(self._signature, group.children))
        self._signature_of[id(group)] = self._number(looks)

    def _fold_children(self, group: Group) -> None:
        children = group.children
        signatures = [self._signature(child) for child in children]
        kept: list[Part] = []
        i = 0
        while i < len(children):
            size, times = self._longest_run(children, signatures, i)
            if times < 2:
                kept.append(children[i])
                i += 1
                continue
            units = [children[i + k * size : i + (k + 1) * size] for k in range(times)]
            merged = self._merged(units)
            self._signature_of[id(merged)] = self._number(("folded", times, *signatures[i : i + size]))
            kept.append(merged)
            self.num_folded += 1
            i += size * times
        group.children = kept

    def _longest_run(self, children: Unit, signatures: Sequence[int], start: int) -> tuple[int, int]:
        """The unit, beginning here, that covers most by repeating: its size, and how often it stands here."""
        best = (1, 1)
        for size in range(1, min(_LONGEST_UNIT, (len(children) - start) // 2) + 1):
            unit = signatures[start : start + size]
            times = 1
            while signatures[start + times * size : start + (times + 1) * size] == unit:
                times += 1
            if times < 2 or not (size == 1 or any(map(_is_block, children[start : start + size]))):
                continue
            units = [children[start + k * size : start + (k + 1) * size] for k in range(times)]
            times = self._num_wired_alike(units)
            if times >= 2 and times * size > best[0] * best[1]:
                best = (size, times)
        return best

    def _signature(self, part: Part) -> int:
        number = self._signature_of.get(id(part))
        if number is None:  # of a leaf; groups are entered as they are folded
            assert isinstance(part, Node)
            names = tuple(self.document.scopes[scope].name for scope in (*part.scopes, *part.calls))
            looks = tuple(self._op_looks(index) for index in part.ops)
            number = self._signature_of[id(part)] = self._number(("node", names, looks))
        return number

    def _op_looks(self, index: int) -> object:
        op, params = self.document.ops[index], self.document.params
        shapes = tuple(tuple(params[p].shape) for p in op.params)
        marks = (op.is_inplace, op.is_edited)
        return (op.kind, op.type, op.function, op.arguments, tuple(op.shape), op.dtype, shapes, marks)

    def _number(self, looks: object) -> int:
        return self._signatures.setdefault(looks, len(self._signatures))

    def _num_wired_alike(self, units: Sequence[Unit]) -> int:
        """How many of these units, from the first on, are wired inside as the first, and each to the last.

        Units that do not lead to one another stand side by side, as experts do. A few of those are
        better seen, and so are functions: `normalize(q)` and `normalize(k)` are no repeat.
        """
        places = [{leaf: place for place, leaf in enumerate(_leaves(unit))} for unit in units]
        inside, _ = self._wires(places[0], {})
        wired = [self._wires(own, before) for before, own in pairwise(places)]
        outside = wired[0][1]
        if wired[0][0] != inside:
            return 1
        times = 1 + _num_equal(wired)
        if any(len(wire) == 3 for wire in outside):
            # Single ops one behind the other are better seen.
            return self._num_read_alike(places[:times]) if any(map(_is_block, units[0])) else 1
        if all(map(self._is_module, units[0])):
            times = _num_equal([self._reads(own, {}, by_name=True) for own in places[:times]])
            return times if times >= _MANY_ABREAST else 1
        return 1

    def _num_read_alike(self, places: Sequence[Places]) -> int:
        """How many of a chain, from the first on, are read alike from outside.

        The last is also read for what it would hand on to a next one. So a chain ends at a block that is read
        by somebody who reads none of those before it.
        """
        reads = [
            self._reads(own, following) for own, following in zip(places, [*places[1:], {}], strict=True)
        ]
        times = _num_equal(reads)
        if times == len(places):
            return times
        handed_on = {read[0] for read in reads[0] if len(read) == 2}
        common = {read for read in reads[0] if len(read) == 3}
        is_end = common <= reads[times] and all(read[0] in handed_on for read in reads[times] - common)
        return times + 1 if is_end else times

    def _reads(self, own: Places, following: Places, *, by_name: bool = False) -> Wires:
        """Who reads a unit from outside: the next unit (two long), or boxes of a kind (three long).

        By name, a box that is not the model's output is told from others of its kind.
        """
        found: Wires = set()
        for leaf, place in own.items():
            for index in leaf.stands_for:
                for reader_op, argument in self._readers_of.get(index, ()):
                    reader = self._node_of.get(reader_op)
                    if reader is None or reader in own or (index, reader_op) in self.carried:
                        continue
                    if reader in following:
                        found.add((place, "next"))
                        continue
                    is_told = by_name and self.document.ops[reader_op].kind != "output"
                    kind: object = reader if is_told else self._signature(reader)
                    # Any item of a list: blocks whose outputs are put together are read alike.
                    found.add((place, kind, argument.partition(".")[:2]))
        return found

    def _is_module(self, part: Part) -> bool:
        scopes = _own_scopes(part)
        return bool(scopes) and self.document.scopes[scopes[0]].address is not None

    def _wires(self, own: Places, before: Places) -> tuple[Wires, Wires]:
        """The edges into the boxes of a unit: from itself, and from the unit before or elsewhere."""
        inside: Wires = set()
        outside: Wires = set()
        for leaf, place in own.items():
            for index in leaf.stands_for:
                for link in self.document.ops[index].parents:
                    source = self._node_of.get(link.op)
                    if source is None or (link.op, index) in self.carried:
                        continue
                    if source in own:
                        inside.add((place, own[source], link.argument))
                    elif source in before:
                        outside.add((place, before[source], link.argument))
                    else:
                        outside.add((place, "elsewhere", source, link.argument))
        return inside, outside

    def _merged(self, units: Sequence[Unit]) -> Part:
        """The first unit, standing for all."""
        leaves = [_leaves(unit) for unit in units]
        for earlier, later in pairwise(leaves):
            sources = {index for leaf in earlier for index in leaf.stands_for}
            for index in (index for leaf in later for index in leaf.stands_for):
                links = self.document.ops[index].parents
                self.carried.update((link.op, index) for link in links if link.op in sources)
        for copies in zip(*leaves, strict=True):
            for copy in copies[1:]:
                copies[0].stands_for.extend(copy.stands_for)
                self._node_of.update(dict.fromkeys(copy.stands_for, copies[0]))
        if len(units[0]) > 1:
            scopes = [scope for unit in units for part in unit for scope in _own_scopes(part)]
            return Group(scopes=[], children=list(units[0]), num_repeats=len(units), repeated=scopes)
        part = units[0][0]
        part.num_repeats = len(units)
        if isinstance(part, Group):
            part.repeated = [scope for unit in units for scope in _own_scopes(unit[0])]
        else:
            part.scopes = [scope for unit in units for scope in _own_scopes(unit[0])]
        return part


def _num_equal(values: Sequence[object]) -> int:
    """How many, from the first on, are equal to the first."""
    return sum(1 for _ in takewhile(lambda value: value == values[0], values))


def _is_block(part: Part) -> bool:
    return isinstance(part, Group) or part.is_collapsed


def _leaves(unit: Unit) -> list[Node]:
    return [leaf for part in unit for leaf in ([part] if isinstance(part, Node) else part.leaves())]


def _own_scopes(part: Part) -> list[int]:
    if isinstance(part, Group):
        return part.scopes or part.repeated
    return part.calls or part.scopes

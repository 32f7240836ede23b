"""Which op of one pass is which of another: by structure, and by values where that is not enough."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from torcheer.capture.analysis.plain_values import as_plain, param_value
from torcheer.capture.tape import BUFFER, IDENTITY, INPUT, OUTPUT
from torcheer.graph import Structure

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

# Each line: names of one operation, the first being the one that stands for all.
_SAME = """
add iadd radd
sub isub subtract
mul imul rmul multiply
div idiv rdiv truediv itruediv rtruediv divide truedivide
pow ipow rpow
neg negative
abs absolute
matmul rmatmul imatmul mm bmm linalgmatmul
cat concat concatenate
clamp clip
relu clampmin
hardtanh relu6
softmax specialsoftmax
logsoftmax speciallogsoftmax
sigmoid specialexpit
layernorm nativelayernorm
groupnorm nativegroupnorm
batchnorm nativebatchnorm cudnnbatchnorm
maxpool1d maxpool1dwithindices
maxpool2d maxpool2dwithindices
maxpool3d maxpool3dwithindices
dropout nativedropout dropout1d dropout2d dropout3d featuredropout
linear addmm baddbmm
conv convolution conv1d conv2d conv3d
reshape view viewas reshapeas flatten unflatten ravel unsafeview
permute transpose swapaxes swapdims t mt h mh movedim moveaxis
squeeze unsqueeze
to float double half bfloat16 type tocopy typeas
clone contiguous detach alias
getitem select narrow slice index
expand expandas broadcastto
chunk split tensorsplit splitwithsizes unbind
where maskedfill
scaleddotproductattention scaleddotproductflashattention scaleddotproductflashattentionforcpu
"""
# What may stand for something else where nothing nearer is to be had.
_AKIN = """
linear matmul conv einsum
add sub rsub
mul div reciprocal
reshape squeeze getitem expand permute
"""


def _table(text: str) -> dict[str, str]:
    lines = [line.split() for line in text.split("\n") if line]
    return {name: names[0] for names in lines for name in names}


# They only show, move or copy what they are given.
_MOVES = frozenset("reshape permute squeeze getitem expand chunk clone to".split())
_STANDS_FOR = _table(_SAME)
_FAMILY = _table(_AKIN)


def common_name(layer_type: str) -> str:
    """One name for all spellings of an operation: `iadd` is `add`, `view` is `reshape`."""
    return _STANDS_FOR.get(layer_type, layer_type)


def family_name(layer_type: str) -> str:
    """A wider circle: a `linear` may be a `matmul` in another program."""
    name = common_name(layer_type)
    return _FAMILY.get(name, name)


Tokens = Sequence[Hashable | None]  # None: not to be matched on this level
Pair = tuple[int, int]


def align(left: Sequence[Tokens], right: Sequence[Tokens]) -> list[Pair]:
    """Pairs of positions, rising on both sides; the tokens are given level by level.

    Each level fills the gaps that the levels before it have left.
    """
    pairs: list[Pair] = []
    for x, y in zip(left, right, strict=True):
        found: list[Pair] = []
        i = j = 0
        for end_i, end_j in [*pairs, (len(x), len(y))]:
            found += [(i + a, j + b) for a, b in _longest_common(x[i:end_i], y[j:end_j])]
            i, j = end_i + 1, end_j + 1
        pairs = sorted(pairs + found)
    return pairs


def _longest_common(x: Tokens, y: Tokens) -> list[Pair]:
    """The longest common subsequence, a row of the textbook's table at a time.

    A row is one large number: bit j is 0 where the longest common part grows at y[j] (Hyyrö 2004).
    """
    places: defaultdict[Hashable, int] = defaultdict(int)  # by token: the bits of its places in y
    for j, token in enumerate(y):
        places[token] |= 0 if token is None else 1 << j
    everything = (1 << len(y)) - 1
    rows = [everything]
    for token in x:
        met = rows[-1] & places[token]
        rows.append((rows[-1] + met | rows[-1] - met) & everything)
    pairs: list[Pair] = []
    i, j = len(x), len(y)
    while i and j:
        if rows[i] >> j - 1 & 1:
            j -= 1
        elif not rows[i - 1] >> j - 1 & 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


Verdict = Literal["close", "far", "other shape", "unseen"]  # of two ops: unseen where a value was not saved
Judge = Callable[[int, int], Verdict]
_BY_PARAMS, _BY_MODULE = 1, 2  # levels whose pairs may cross others
_NUM_SAMPLES = 16  # elements of a parameter that are looked at
_MOST_STEPS = 4  # ops without a partner that a pair of different shapes may move over
_MOST_TRIALS = 2000  # comparisons in all: programs that have little in common are told apart quickly
_REACH = 12  # loose ops of the other pass, on either side, that an op is tried with


@dataclass(slots=True)
class Alignment:
    """Pairs of ops. Filled by structure, then mended by values."""

    left: frozenset[int]  # all ops of the first pass that may have a partner
    right: frozenset[int]
    partner: dict[int, int]  # op of the first pass -> op of the second

    @property
    def only_left(self) -> frozenset[int]:
        return self.left - self.partner.keys()

    @property
    def only_right(self) -> frozenset[int]:
        return self.right.difference(self.partner.values())

    def pair(self, left: int, right: int) -> None:
        """Make two ops partners; those that they had before lose theirs."""
        for op in [op for op, other in self.partner.items() if op == left or other == right]:
            del self.partner[op]
        self.partner[left] = right


def align_passes(left: ModelHistory, right: ModelHistory) -> Alignment:
    """By structure alone: the same ops, wired in the same way, are partners one by one.

    Otherwise ops of one name with parameters of the same values come first, then those in modules of one
    name, with parameters of the same shapes, of the same name and shape, of the same name, and at last of the
    same family. Inputs and outputs are partners by name, and the rest of them in order.
    """
    ops_left, ops_right = _ops(left), _ops(right)
    known: dict[tuple[int, ...], list[list[int]]] = {}
    levels_left = _levels(left, ops_left, _param_kinds(left, known))
    levels_right = _levels(right, ops_right, _param_kinds(right, known))
    pairs = align(levels_left, levels_right)
    for level in (_BY_PARAMS, _BY_MODULE):
        pairs += _crossing(levels_left[level], levels_right[level], pairs)
    partner = {ops_left[i]: ops_right[j] for i, j in pairs}
    one, other = left._structure, right._structure
    for ends, other_ends in ((one.inputs, other.inputs), (one.outputs, other.outputs)):
        names = [left._tape.addresses.get(op, "") for op in ends]
        other_names = [right._tape.addresses.get(op, "") for op in other_ends]
        partner |= {ends[i]: other_ends[j] for i, j in pair_by_name(names, other_names)}
    return Alignment(
        left=frozenset([*ops_left, *one.inputs, *one.outputs]),
        right=frozenset([*ops_right, *other.inputs, *other.outputs]),
        partner=partner,
    )


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


def _levels(
    history: ModelHistory, ops: list[int], kinds: list[Hashable | None]
) -> list[list[Hashable | None]]:
    """What is to be the same, from the strictest level to the loosest."""
    tape = history._tape
    levels: list[list[Hashable | None]] = [[] for _ in range(8)]
    for op in ops:
        record, shape = tape.records[op], tuple(tape.meta(op).shape)
        name, address = common_name(record.trait.type), record.scope.module().address or ""
        if record.trait is BUFFER:
            address = tape.addresses.get(op, "")
        used = [-parent - 1 for parent in record.parents if parent < 0]
        params = tuple(tuple(tape.params[param][1].shape) for param in used)
        values = tuple(kinds[param] for param in used)
        values = values if any(kind is not None for kind in values) else ()
        tokens = (
            (address, name, values, shape) if values else None,
            (values, name) if values else None,
            (address, name, params, shape),
            (address, name, params),
            (name, params) if params else None,
            (name, shape),
            # Of views and moves that give another shape, two are hardly ever the same.
            None if name in _MOVES else name,
            (family_name(record.trait.type), shape),
        )
        for level, token in zip(levels, tokens, strict=True):
            level.append(token)
    return levels


def _param_kinds(
    history: ModelHistory, known: dict[tuple[int, ...], list[list[int]]]
) -> list[Hashable | None]:
    """For each parameter its kind: the same for those with the same shape and values, whatever their type.

    A few elements are looked at, of which three in four must agree. So a copy in half precision is of the
    same kind, and so is one in which somebody has touched a single weight. None where the values are not
    known, or are all the same and tell nothing apart.
    """
    kinds: list[Hashable | None] = []
    for param in range(-1, -len(history._tape.params) - 1, -1):
        value = as_plain(param_value(history, param))
        sample = [] if value is None or value.numel() < 2 else _rounded_sample(value)
        if value is None or len(set(sample)) < 2:
            kinds.append(None)
            continue
        alike = known.setdefault(tuple(value.shape), [])
        scores = [sum(map(int.__eq__, sample, other)) for other in alike]
        best = max(range(len(alike)), key=scores.__getitem__, default=-1)
        if best < 0 or 4 * scores[best] < 3 * len(sample):
            best = len(alike)
            alike.append(sample)
        kinds.append((tuple(value.shape), best))
    return kinds


def _rounded_sample(value: Tensor) -> list[int]:
    """Elements from the first to the last, as bits of a bfloat16: the other types round to it."""
    num = value.numel()
    count = min(num, _NUM_SAMPLES)
    places = sorted({place * (num - 1) // (count - 1) for place in range(count)})
    taken = value.take(torch.tensor(places, device=value.device)).cpu()
    numbers = torch.view_as_real(taken.to(torch.complex64)).flatten() if taken.is_complex() else taken
    rounded = numbers.to(torch.float32).add(0.0).to(torch.bfloat16)  # minus zero becomes zero
    return [int(bits) for bits in rounded.view(torch.int16).tolist()]


def mend(alignment: Alignment, left: Structure, right: Structure, judge: Judge) -> None:
    """Give ops that differ from their partner, or have none, a partner nearby with the same values.

    Two programs may cut the same work at different places. A folded convolution does the work of a
    convolution and of the normalisation after it; `x @ w + b` is a `linear` in two steps; k, v, q may be
    written for q, k, v.
    """
    ends = {*left.inputs, *left.outputs}
    paired = sorted(alignment.partner.items())
    loose = {op: other for op, other in paired if op not in ends and judge(op, other) != "close"}
    loose_right = sorted({*loose.values(), *alignment.only_right})
    trials = 0
    for op in sorted({*loose, *alignment.only_left}):
        before = bisect_left(paired, (op, -1)) - 1  # an op without a partner stands after the one before it
        place = loose[op] if op in loose else paired[before][1] if before >= 0 else 0
        at = bisect_left(loose_right, place)
        for other in loose_right[max(at - _REACH, 0) : at + _REACH] if trials < _MOST_TRIALS else ():
            verdict = judge(op, other)
            trials += verdict != "other shape"
            if verdict == "close":
                alignment.pair(op, other)
                loose_right.remove(other)
                break
    for op, other in list(alignment.partner.items()):
        if op not in ends and judge(op, other) == "other shape":
            further = [(below, other) for below in _free_below(op, left, alignment.only_left)]
            further += [(op, below) for below in _free_below(other, right, alignment.only_right)]
            # A view of one, a few steps later, may have the shape of the other: those two are compared.
            shown = next((pair for pair in further if judge(*pair) == "far"), None)
            if shown is not None:
                alignment.pair(*shown)
    _part_misfits(alignment, left, right, judge)


def _free_below(op: int, structure: Structure, free: frozenset[int]) -> list[int]:
    """The ops without a partner that follow, one after the other."""
    found: list[int] = []
    while len(found) < _MOST_STEPS:
        children = [child for child in structure.children[op] if child in free]
        if len(children) != 1:
            break
        op = children[0]
        found.append(op)
    return found


def _part_misfits(alignment: Alignment, left: Structure, right: Structure, judge: Judge) -> None:
    """Give up pairs of different shapes where the next pair agrees, or all outputs do: nothing is wrong.

    One program projects query, key and value at once, the other one by one. Where the next pair differs they
    stay, since a wrong shape may be the reason.
    """
    partner, ends = alignment.partner, {*left.inputs, *left.outputs}
    are_paired = all(op in partner for op in left.outputs) and alignment.only_right.isdisjoint(right.outputs)
    outputs_agree = are_paired and all(judge(op, partner[op]) == "close" for op in left.outputs)
    next_agrees = False
    for op, other in sorted(partner.items(), reverse=True):
        verdict = judge(op, other)
        if verdict == "other shape" and op not in ends:
            if outputs_agree or next_agrees:
                del partner[op]
        elif verdict != "unseen":
            next_agrees = verdict == "close"

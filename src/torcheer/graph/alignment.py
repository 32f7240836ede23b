"""Lay two sequences of ops side by side: which element of one is which of the other."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

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


def is_move(layer_type: str) -> bool:
    """Whether an operation only shows, moves or copies what it is given."""
    return common_name(layer_type) in _MOVES


Tokens = Sequence[Hashable | None]  # None: not to be matched on this level
Pair = tuple[int, int]

# Edits after which a search keeps what it has and goes on from there. This bounds the work to a small
# multiple of the length, also where the sequences have nothing in common.
_MOST_EDITS = 64


class Gap(NamedTuple):
    """A stretch of both sequences, the ends not included."""

    left_start: int
    left_end: int
    right_start: int
    right_end: int


class Reached(NamedTuple):
    """How far a search has come."""

    distance: int  # along both sequences together
    diagonal: int
    edits: int


def align(left: Sequence[Tokens], right: Sequence[Tokens]) -> list[Pair]:
    """Pairs of positions, rising on both sides; the tokens are given level by level."""
    pairs: list[Pair] = []
    num_left, num_right = len(left[0]), len(right[0])
    for left_tokens, right_tokens in zip(left, right, strict=True):
        found: list[Pair] = []
        for gap in _gaps(pairs, num_left, num_right):
            found += _fill(gap, left_tokens, right_tokens)
        pairs = sorted(pairs + found)
    return pairs


def _gaps(pairs: list[Pair], num_left: int, num_right: int) -> list[Gap]:
    gaps = []
    left, right = 0, 0
    for i, j in [*pairs, (num_left, num_right)]:
        if i > left and j > right:
            gaps.append(Gap(left, i, right, j))
        left, right = i + 1, j + 1
    return gaps


def _fill(gap: Gap, left: Tokens, right: Tokens) -> list[Pair]:
    """The pairs in one gap: anchors first, then what lies between them."""
    # What stands on one side only cannot be matched, and would only cost time.
    shared = set(left[gap.left_start : gap.left_end]) & set(right[gap.right_start : gap.right_end]) - {None}
    left_places = [i for i in range(gap.left_start, gap.left_end) if left[i] in shared]
    right_places = [j for j in range(gap.right_start, gap.right_end) if right[j] in shared]
    x, y = [left[i] for i in left_places], [right[j] for j in right_places]
    anchors = _anchors(x, y)
    pairs = list(anchors)
    for between in _gaps(anchors, len(x), len(y)):
        pairs += _common(x, y, between)
    return sorted((left_places[i], right_places[j]) for i, j in pairs)


def _anchors(x: Tokens, y: Tokens) -> list[Pair]:
    """Tokens that stand equally often on both sides are the same, in order, as far as no pairs cross."""
    places: defaultdict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i, token in enumerate(x):
        places[token][0].append(i)
    for j, token in enumerate(y):
        places[token][1].append(j)
    pairs = [
        pair
        for in_x, in_y in places.values()
        if len(in_x) == len(in_y)
        for pair in zip(in_x, in_y, strict=True)
    ]
    return _longest_rising(sorted(pairs))


def _longest_rising(pairs: list[Pair]) -> list[Pair]:
    """The most pairs of which the second parts rise too."""
    ends: list[int] = []  # the smallest end of a rising row of each length
    last: list[int] = []  # which pair that is
    before: list[int] = []  # for each pair, the one that comes before it
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(j)
            last.append(number)
        else:
            ends[length], last[length] = j, number
    chosen: list[Pair] = []
    number = last[-1] if last else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _common(x: Tokens, y: Tokens, gap: Gap) -> list[Pair]:
    """A longest common subsequence, found with few edits (Myers), a stretch at a time."""
    pairs: list[Pair] = []
    i, j = gap.left_start, gap.right_start
    while i < gap.left_end and j < gap.right_end:
        found, i, j = _stretch(x, y, Gap(i, gap.left_end, j, gap.right_end))
        pairs += found
    return pairs


def _stretch(x: Tokens, y: Tokens, gap: Gap) -> tuple[list[Pair], int, int]:
    """Go on until the end or the most edits: the pairs, and where the search stands."""
    x, y = x[gap.left_start : gap.left_end], y[gap.right_start : gap.right_end]
    furthest: dict[int, int] = {1: 0}  # by diagonal (i - j): how far along x
    states: list[dict[int, int]] = []  # before each edit
    best = Reached(0, 0, 0)
    for edits in range(_MOST_EDITS + 1):
        states.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            i = _slide(x, y, _step(furthest, diagonal, edits), diagonal)
            furthest[diagonal] = i
            # Off the edge it is kept, so that its neighbours know, but it is nowhere to go on from.
            if i <= len(x) and i - diagonal <= len(y) and 2 * i - diagonal > best.distance:
                best = Reached(2 * i - diagonal, diagonal, edits)
        if best.distance >= len(x) + len(y):
            break
    states.append(furthest)
    pairs = [(gap.left_start + i, gap.right_start + j) for i, j in _trace(states, best)]
    along_x = (best.distance + best.diagonal) // 2
    return pairs, gap.left_start + along_x, gap.right_start + along_x - best.diagonal


def _slide(x: Tokens, y: Tokens, i: int, diagonal: int) -> int:
    """Along a diagonal for as long as the elements are the same."""
    while i < len(x) and 0 <= i - diagonal < len(y) and x[i] == y[i - diagonal]:
        i += 1
    return i


def _comes_down(furthest: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether the better way to a diagonal leaves out an element of y, rather than one of x."""
    down, across = furthest.get(diagonal + 1, -1), furthest.get(diagonal - 1, -1) + 1
    return diagonal == -edits or (diagonal != edits and down >= across)


def _step(furthest: dict[int, int], diagonal: int, edits: int) -> int:
    down = _comes_down(furthest, diagonal, edits)
    return furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1


def _trace(states: list[dict[int, int]], reached: Reached) -> list[Pair]:
    """Walk back from where the search stands, and gather the matches on the way."""
    pairs: list[Pair] = []
    diagonal = reached.diagonal
    i = states[reached.edits + 1][diagonal]
    for edits in range(reached.edits, -1, -1):
        start = _step(states[edits], diagonal, edits)
        pairs += [(k, k - diagonal) for k in range(i - 1, start - 1, -1)]
        if edits:
            diagonal += 1 if _comes_down(states[edits], diagonal, edits) else -1
            i = states[edits][diagonal]
    return pairs[::-1]

"""Mend an alignment by values: where two programs cut the same work at different places.

A folded convolution does the work of a convolution and of the normalisation after it; `x @ w + b` is a
`linear` in two steps. By structure the convolution stands beside the wrong one of the two.
"""

from __future__ import annotations

from collections.abc import Callable

from torcheer.capture.examining.aligning import Alignment
from torcheer.capture.examining.differences import Difference
from torcheer.capture.examining.misfits import IsMisfit, part_misfits
from torcheer.graph import Structure

Differ = Callable[[int, int], Difference | None]  # None where two ops cannot be compared

_MOST_STEPS = 4  # ops without a partner that a pair may move over
_MOST_TRIALS = 2000  # comparisons of ops without a partner, in all
_MUCH_NEARER = 0.01
_MOST_SWAPPED = 12  # pairs that differ, among which others are looked for that agree
_ALIKE = 0.9  # the cosine from which two ops may be the same, where the one beside it has another shape


def mend(
    alignment: Alignment, left: Structure, right: Structure, differ: Differ, is_misfit: IsMisfit
) -> None:
    """Move pairs that differ on to ops that agree, then pair what agrees among those left over.

    Pairs of different shapes are given up where what comes of them agrees.
    """
    for op in sorted(alignment.partner, reverse=True):
        _move(alignment, op, left, right, differ)
    _swap(alignment, differ)
    # Before and after: a false pair keeps apart what belongs together, and what is found proves others false.
    part_misfits(alignment, left, right, differ, is_misfit)
    _pair_rest(alignment, differ)
    part_misfits(alignment, left, right, differ, is_misfit)


def _move(alignment: Alignment, op: int, left: Structure, right: Structure, differ: Differ) -> None:
    partner = alignment.partner[op]
    now = differ(op, partner)
    if now is not None and now.is_close:
        return
    further = [(other, partner) for other in _free_below(op, left, alignment.only_left)]
    further += [(op, other) for other in _free_below(partner, right, alignment.only_right)]
    for new_left, new_right in further:
        then = differ(new_left, new_right)
        if then is not None and _is_much_nearer(then, now):
            alignment.part(op)
            alignment.pair(new_left, new_right)
            return


def _swap(alignment: Alignment, differ: Differ) -> None:
    """Statements in another order, as k, v, q for q, k, v: exchange partners where that makes pairs agree."""
    differing = [op for op in sorted(alignment.partner) if not _agrees(differ, op, alignment.partner[op])]
    trials = 0
    for place, op in enumerate(differing):
        for other in differing[place + 1 : place + 1 + _MOST_SWAPPED]:
            partner, its_partner = alignment.partner[op], alignment.partner[other]
            if trials >= _MOST_TRIALS or _agrees(differ, op, partner):
                break
            trials += 1
            if _agrees(differ, op, its_partner) or (
                _agrees(differ, other, partner) and not _agrees(differ, other, its_partner)
            ):
                alignment.partner[op], alignment.partner[other] = its_partner, partner


def _agrees(differ: Differ, op: int, partner: int) -> bool:
    found = differ(op, partner)
    return found is not None and found.is_close


def _free_below(op: int, structure: Structure, free: set[int]) -> list[int]:
    """The ops without a partner that follow, one after the other."""
    found: list[int] = []
    while len(found) < _MOST_STEPS:
        children = [child for child in structure.children[op] if child in free]
        if len(children) != 1:
            break
        op = children[0]
        found.append(op)
    return found


def _is_much_nearer(then: Difference, now: Difference | None) -> bool:
    if then.is_close:
        return True
    if then.cosine is None or then.max_abs is None:
        return False
    if now is None or now.max_abs is None:
        return then.cosine > _ALIKE
    return then.cosine > 0.999 and then.max_abs < _MUCH_NEARER * now.max_abs


def _pair_rest(alignment: Alignment, differ: Differ) -> None:
    """Ops without a partner, between the same two pairs, that hold the same values."""
    trials = 0
    for free_left, free_right in _free_stretches(alignment):
        last = -1
        for op in free_left:
            for other in free_right:
                if other <= last or trials >= _MOST_TRIALS:
                    continue
                found = differ(op, other)
                trials += found is not None
                if found is not None and found.is_close:
                    alignment.pair(op, other)
                    last = other
                    break


def _free_stretches(alignment: Alignment) -> list[tuple[list[int], list[int]]]:
    """What has no partner on both sides, from pair to pair."""
    stretches: list[tuple[list[int], list[int]]] = []
    free_left, free_right = sorted(alignment.only_left), sorted(alignment.only_right)
    at_left = at_right = 0
    for op, partner in [*sorted(alignment.partner.items()), (1 << 62, 1 << 62)]:
        end_left, end_right = at_left, at_right
        while end_left < len(free_left) and free_left[end_left] < op:
            end_left += 1
        while end_right < len(free_right) and free_right[end_right] < partner:
            end_right += 1
        if end_left > at_left and end_right > at_right:
            stretches.append((free_left[at_left:end_left], free_right[at_right:end_right]))
        at_left, at_right = end_left, end_right
    return stretches

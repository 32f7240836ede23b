"""Give up pairs of ops whose shapes disagree, where what comes of them shows that nothing is wrong.

Two programs may cut the same work differently: one projects query, key and value at once, the other one by
one. Beside each other by name, they have different shapes, and yet both are right.
"""

from __future__ import annotations

from collections.abc import Callable

from torcheer.capture.examining.aligning import Alignment
from torcheer.capture.examining.differences import Difference
from torcheer.graph import Structure

Differ = Callable[[int, int], Difference | None]  # None where two ops cannot be compared
IsMisfit = Callable[[int, int], bool]  # whether both values are known, and have different shapes


def part_misfits(
    alignment: Alignment, left: Structure, right: Structure, differ: Differ, is_misfit: IsMisfit
) -> None:
    """Part a pair of different shapes when all that it leads to agrees, or when all outputs do."""
    ends = {*left.inputs, *left.outputs}
    misfits = [op for op, other in alignment.partner.items() if op not in ends and is_misfit(op, other)]
    if not misfits:
        return
    verdicts: dict[int, bool | None] = {}  # by op of the first pass; None: it tells nothing
    for op, other in alignment.partner.items():
        found = differ(op, other)
        tells_nothing = found is None and (op not in ends or not is_misfit(op, other))
        verdicts[op] = None if tells_nothing else found is not None and found.is_close
    outputs_agree = all(verdicts.get(op) for op in left.outputs) and not (
        alignment.only_right & set(right.outputs)
    )
    leads_left = _lead_to_agreement(left, verdicts)
    leads_right = _lead_to_agreement(right, {other: verdicts[op] for op, other in alignment.partner.items()})
    for op in misfits:
        if outputs_agree or (leads_left[op] and leads_right[alignment.partner[op]]):
            alignment.part(op)


def _lead_to_agreement(structure: Structure, verdicts: dict[int, bool | None]) -> list[bool | None]:
    """For each op whether the next verdicts below it are all good; None where there are none."""
    leads: list[bool | None] = [None] * len(structure.children)
    for op in range(len(leads) - 1, -1, -1):
        below = {
            leads[child] if verdicts.get(child) is None else verdicts[child]
            for child in structure.children[op]
        }
        leads[op] = False if False in below else True if True in below else None
    return leads

"""In which order the values of a network are wanted in a page that has not room for all of them.

The last moment, the first item and the first variable come first. From there on it is a trade: the further
away a moment is, the fewer of its items and variables are wanted before others have their turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

_FURTHEST: Final = 4096  # what is wanted less than that is not considered: no file has room for it


class Wish(NamedTuple):
    """One variable at a moment: of an item in all layers, or of all weights."""

    moment: int  # its number, the first is 0
    variable: str  # Act; of weights Wt, Grad, Delta
    item: int
    is_of_weights: bool


def moments_in_order(num_moments: int) -> list[int]:
    """Their numbers: the last, the first, and then ever more, the nearer to the last the denser."""
    if num_moments < 2:
        return list(range(num_moments))
    last = num_moments - 1
    # 1, 2, 4, 8… from the end, then 3, 6, 12…, then 5, 10, 20…: by what is left without the factors of two.
    between = sorted(range(1, last), key=lambda far: (far // (far & -far), far))
    return [last, 0, *(last - far for far in between)]


def wishes(num_moments: int, variables: Sequence[str], weights: Sequence[str], num_items: int) -> list[Wish]:
    """All that a page could show, what is wanted most first. `weights` are variables of weights."""
    moments = moments_in_order(num_moments)
    ranked = [(name, False) for name in variables]
    # The weights themselves are what somebody looks at next.
    ranked[1:1] = [(name, True) for name in weights[:1]]
    ranked += [(name, True) for name in weights[1:]]
    found: list[tuple[int, int, Wish]] = []
    for rank, (name, is_of_weights) in enumerate(ranked):
        for item in range(1 if is_of_weights else num_items):
            distance = (1 + rank) * (1 + 2 * item)
            if distance > _FURTHEST:
                break
            for order, moment in enumerate(moments[: _FURTHEST // distance]):
                found.append((distance * (1 + order), order, Wish(moment, name, item, is_of_weights)))
    found.sort(key=lambda one: one[:2])
    return [wish for _, _, wish in found]

"""The scene as people want it: variables and their order, places and shapes of layers. No torch."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from torcheer.errors import InputError
from torcheer.netview.grids import grid_of, manual_grid
from torcheer.run import Grid, NetLayer, NetScene, Place

STATE: Final = "State"
LEARN: Final = "Learn"
WEIGHTS: Final = "Weights of unit"
OTHERS: Final = "Others"
GROUPS: Final = (STATE, LEARN, WEIGHTS, OTHERS)

WEIGHT: Final = "Wt"  # the weight itself, beside Grad, Delta and what the optimizer keeps
RECEIVED: Final = "r."
SENT: Final = "s."


class About(NamedTuple):
    """Where a variable is shown, and what it is, in a sentence for people."""

    group: str
    about: str


_OF_LAYERS: Final = {
    "Act": About(STATE, "What the unit gives, after its nonlinearity."),
    "Net": About(STATE, "What goes into the nonlinearity of the unit."),
    "Attn": About(STATE, "How much each place attends to each other one."),
    "Bias": About(STATE, "What is added to the input of the unit, whatever it receives."),
    "Grad": About(LEARN, "The gradient of the loss with respect to Act."),
    "Net.Grad": About(LEARN, "The gradient of the loss with respect to Net."),
    "Act.Grad": About(LEARN, "The gradient of the loss with respect to Act."),
}
_OF_WEIGHTS: Final = {
    WEIGHT: "the weight",
    "Grad": "the gradient of the loss with respect to the weight",
    "Delta": "what the last step changed in the weight",
    "exp_avg": "the running mean of the gradient, which Adam and its kin keep",
    "exp_avg_sq": "the running mean of the squared gradient, which Adam and its kin keep",
    "max_exp_avg_sq": "the largest running mean of the squared gradient so far, which AMSGrad keeps",
    "exp_inf": "the running maximum of the gradient's size, which Adamax keeps",
    "momentum_buffer": "the momentum that the optimizer keeps",
    "square_avg": "the running mean of the squared gradient, which RMSprop and Adadelta keep",
    "grad_avg": "the running mean of the gradient, which a centred RMSprop keeps",
    "acc_delta": "the running mean of the squared steps, which Adadelta keeps",
    "sum": "the sum of all squared gradients, which Adagrad keeps",
    "prev": "the gradient of the step before, which Rprop keeps",
    "step_size": "the step that Rprop takes",
    "ax": "the mean of the weight over its steps, which ASGD keeps",
}
_ENDS: Final = {RECEIVED: "Of what the unit receives", SENT: "Of what the unit sends"}
_PLACES: Final = {name: place for place, name in enumerate(_OF_LAYERS)}
_PLACES_OF_WEIGHTS: Final = {name: place for place, name in enumerate(_OF_WEIGHTS)}


def gradient_name(variable: str) -> str:
    """Of the gradient of the loss with respect to a variable."""
    return "Grad" if variable == "Act" else f"{variable}.Grad"


def about(name: str) -> About:
    """Of a variable of layers, or of one for the weights of a unit: `r.Wt`, `s.Grad`."""
    known = _OF_LAYERS.get(name)
    if known is not None:
        return known
    end, what = name[:2], name[2:]
    if end in _ENDS and what:
        return About(
            WEIGHTS, f"{_ENDS[end]}: {_OF_WEIGHTS.get(what, f'{what}, which is kept for the weight')}."
        )
    if name.endswith(".Grad"):
        return About(LEARN, f"The gradient of the loss with respect to {name[: -len('.Grad')]}.")
    return About(OTHERS, f"{name}, as it was recorded.")


def in_order(names: Iterable[str]) -> list[str]:
    """By group; in it the usual ones first, then the others as they came."""
    return sorted(dict.fromkeys(names), key=_place)


def _place(name: str) -> tuple[int, int, int, str]:
    group = GROUPS.index(about(name).group)
    if group == GROUPS.index(WEIGHTS):
        end, what = name[:2], name[2:]
        # r.Wt and s.Wt side by side, and what is not known by its name behind all others.
        return group, _PLACES_OF_WEIGHTS.get(what, len(_OF_WEIGHTS)), 0 if end == RECEIVED else 1, what
    return group, _PLACES.get(name, len(_OF_LAYERS)), 0, ""


RELATIONS: Final[tuple[str, ...]] = ("above", "below", "rightof", "leftof", "infront", "behind")
_MOST_LISTED: Final = 8  # layers, in a message


class Arrangement:
    """Places and shapes by layer. A layer of which nothing is said lies where it lies by itself."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._grids: dict[str, Grid] = {}

    @classmethod
    def of(cls, scene: NetScene) -> Arrangement:
        """What was wanted in a scene that was kept."""
        found = cls()
        for layer in scene.layers:
            if layer.place != Place():
                found._places[layer.name] = layer.place
            if layer.grid != grid_of(layer.shape, is_picture=layer.is_input):
                found._grids[layer.name] = layer.grid
        return found

    def place(
        self,
        name: str,
        names: Collection[str],
        relations: dict[str, str | None],
        offset: Sequence[float],
        scale: float,
    ) -> None:
        check_name(name, names)
        given = {relation: other for relation, other in relations.items() if other is not None}
        if len(given) > 1:
            raise InputError(f"{name} is to be {' and '.join(given)}: give one of {', '.join(RELATIONS)}.")
        for other in given.values():
            check_name(other, names)
        relation = next(iter(given), None)
        other = given.get(relation or "", "")
        self._check_round(name, other)
        try:
            offsets, scale = [float(part) for part in offset], float(scale)
        except (TypeError, ValueError):
            offsets = []
        if len(offsets) != 3 or not all(map(math.isfinite, [*offsets, scale])) or scale <= 0:
            raise InputError(
                f"the offset is {offset!r} and the scale {scale!r}: give three numbers, to the right, up "
                "and to the front, and a number above 0; 1 is as large as it is by itself."
            )
        self._places[name] = Place(
            relation=relation,  # type: ignore[arg-type]  # one of the six
            other=other,
            offset=offsets,
            scale=scale,
        )

    def reshape(self, name: str, shape: Sequence[int], layers: Sequence[NetLayer]) -> None:
        check_name(name, [layer.name for layer in layers])
        layer = next(layer for layer in layers if layer.name == name)
        self._grids[name] = manual_grid(layer.shape, shape)

    def laid_over(self, scene: NetScene) -> NetScene:
        return NetScene(
            layers=[self._laid_over(layer) for layer in scene.layers], connections=scene.connections
        )

    def _laid_over(self, layer: NetLayer) -> NetLayer:
        place, grid = self._places.get(layer.name), self._grids.get(layer.name)
        # A layer that has other units than it had has the shape that it has by itself.
        if grid is not None and grid.num_units != layer.grid.num_units:
            grid = None
        return msgspec.structs.replace(
            layer, place=layer.place if place is None else place, grid=layer.grid if grid is None else grid
        )

    def _check_round(self, name: str, other: str) -> None:
        way = [name]
        while other:
            way.append(other)
            if other == name:
                raise InputError(
                    f"{' is placed by '.join(way)}: that goes round. Place one of them without a relation."
                )
            known = self._places.get(other)
            other = "" if known is None else known.other


def check_name(name: Any, names: Collection[str]) -> None:
    if name in names:
        return
    near = difflib.get_close_matches(str(name), names, 3)
    listed = ", ".join(list(names)[:_MOST_LISTED])  # in their order: the inputs are first
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    hint = f"the nearest: {', '.join(near)}" if near else f"there are {listed or 'none yet'}{more}"
    raise InputError(f"there is no layer {name!r}: {hint}. view.scene.layers has them all.")

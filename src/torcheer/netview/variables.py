"""The usual variables of layers and weights: their groups, their order, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

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

"""The parameters of a training that a person can step: a frozen dataclass, of which a form can be made.

@dataclass(frozen=True)
class Parameters(tl.Parameters):
    hidden: int = tl.parameter(35, low=1, section="Network")
    learning_rate: float = tl.parameter(0.1, low=0.0, live="lr", section="Optimizer")
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from torcheer.errors import InputError

Live = str | bool | Callable[[Any, Any], None]

SCHEDULE: Final = "Schedule"
VIEW: Final = "View"
EVERY: Final = ("1 trial", "10 trials", "100 trials", "1 epoch", "10 epochs", "never")
_METADATA: Final = "torcheer"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a field says of itself besides its name, type and default."""

    low: float | None = None
    high: float | None = None
    live: Live = False
    choices: tuple[Any, ...] = ()
    section: str = ""
    label: str = ""
    about: str = ""


def parameter(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    live: Live = False,
    choices: Sequence[Any] = (),
    section: str = "",
    label: str = "",
    about: str = "",
) -> Any:
    """A field of `tl.Parameters`, with what a form should know of it.

    - `low`, `high`: the least and the most that it may be. `choices`: all that it may be.
    - `live`: a new value takes effect at once. A text names an entry of the optimizer's groups, `"lr"`; a
      function is called with the `tl.Setup` and the value; True is for what is looked up anew each time.
    - `section`, `label`, `about`: where it stands in the form, what it is called, and what there is to know.
    """
    if not (isinstance(live, str | bool) or callable(live)):
        raise InputError(
            f"live is {live!r}: name an entry of the optimizer's groups, such as 'lr', or give a function of "
            "the setup and the value."
        )
    described = About(
        low=low, high=high, live=live, choices=tuple(choices), section=section, label=label, about=about
    )
    return dataclasses.field(default=default, metadata={_METADATA: described})


@dataclass(frozen=True)
class Parameters:
    """What every training that can be stepped has. Yours go into a subclass, each with its default."""

    runs: int = parameter(1, low=1, section=SCHEDULE, about="how often it is trained from the beginning")
    epochs: int = parameter(
        10, low=1, section=SCHEDULE, label="Epochs per run", about="at most, where something else ends a run"
    )
    test_every: int | None = parameter(
        1,
        low=1,
        live=True,
        section=SCHEDULE,
        label="Epochs per test",
        about="a run ends with a test in any case; empty: only then",
    )
    netview_every: str = parameter(
        "1 trial",
        choices=EVERY,
        live=True,
        section=VIEW,
        label="NetView every",
        about="how often the network is recorded; a trial that you step to always is, unless never",
    )
    plots_every: str = parameter(
        "1 trial",
        choices=EVERY,
        live=True,
        section=VIEW,
        label="Plots every",
        about="how often the loss of a trial and the like are recorded",
    )

    def __post_init__(self) -> None:
        from torcheer.training.looping.parameterforms import check_parameters

        check_parameters(self)


def about_of(cls: type[Parameters], name: str) -> About:
    """What was said of a field, by a class above, too: a new default need not repeat it."""
    for owner in cls.__mro__:
        fields: Mapping[str, Any] = owner.__dict__.get("__dataclass_fields__", {})
        found = fields[name].metadata.get(_METADATA) if name in fields else None
        if isinstance(found, About):
            return found
    return About()

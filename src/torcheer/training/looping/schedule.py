"""How often something happens in a training: `10 trials`, `1 epoch`, `never`."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from torcheer.errors import InputError

NEVER: Final = "never"
_EVERY: Final = re.compile(r"([1-9][0-9]{0,8}) (trial|epoch)s?")


class Moment(NamedTuple):
    """A trial, as a schedule sees it. A plain tuple, because one is made at every trial."""

    step: int  # of the run, from 1
    epoch: int  # from 1
    trial: int  # of the epoch, from 1
    num_trials: int | None  # of the epoch, where that is known before its end


def is_due(every: str, moment: Moment) -> bool:
    """Of an epoch it is the last trial; the first, where nobody knows which will be the last."""
    if every == NEVER:
        return False
    found = _EVERY.fullmatch(every)
    if found is None:
        raise InputError(f"every {every!r}: write '10 trials', '1 epoch' or 'never'.")
    number = int(found[1])
    if found[2] == "trial":
        return moment.step % number == 0
    place = 1 if moment.num_trials is None else moment.num_trials
    return moment.trial == place and moment.epoch % number == 0

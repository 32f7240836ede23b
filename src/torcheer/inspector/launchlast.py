"""What is left where there is no child any more: the training itself puts it into the run, at its end."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import msgspec

from torcheer.inspector.child.losing import log_gap
from torcheer.inspector.child.resuming import Resumed
from torcheer.inspector.launchlife import Life
from torcheer.inspector.launchrings import Rings
from torcheer.inspector.messages import Job, Lost, Message, NewPlan, Numbers
from torcheer.run import Ending, Run


def write_the_rest(job: Job, messages: Iterable[Message], ending: Ending | None = None) -> None:
    """Numbers, and what is missing: so that nothing is lost that is not counted."""
    left = list(messages)
    if job.run is None or not (left or ending):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this run cannot be written, was told before
        resumed = Resumed(job.run, job.rank)
        run = Run(job.run, rank=job.rank, max_bytes=job.max_bytes)
        for message in left:
            if isinstance(message, Numbers):
                new = resumed.new_of(job.named(message))
                run._put_scalars(new.step, new.time, new.values)
            elif isinstance(message, Lost):
                missing = resumed.missing(message)
                if missing is not None:
                    log_gap(run, missing)
        run._close(Ending("finished") if ending is None else ending)


def never_heard(life: Life, rings: Rings) -> list[Message]:
    """What was told to a process that lives and has not listened for long: its channel is closed now.

    What it has heard, it writes by itself. Rings that it never heard of, nobody empties.
    """
    unsent = life.unsent()
    plans = {message.plan.number for message in unsent if isinstance(message, NewPlan)}
    lost = rings.lost(also_waiting=True, only=plans)
    told = [message for message in unsent if isinstance(message, Numbers | Lost)]
    return [*told, *(msgspec.structs.replace(one, reason="full") for one in lost)]

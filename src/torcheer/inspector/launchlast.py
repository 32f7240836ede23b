"""What is left where there is no child any more: the training itself puts it into the run, at its end."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from torcheer.inspector.child.losing import words_for
from torcheer.inspector.child.resuming import Resumed
from torcheer.inspector.messages import Job, Lost, Message, Numbers
from torcheer.run.run import Run


def write_the_rest(job: Job, messages: Iterable[Message]) -> None:
    """Numbers, and what is missing: so that nothing is lost that is not counted."""
    left = list(messages)
    if job.run is None or not left:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this run cannot be written, was told before
        resumed = Resumed(job.run, job.rank)
        with Run(job.run, rank=job.rank, max_bytes=job.max_bytes) as run:
            for message in left:
                if isinstance(message, Numbers):
                    run._put_scalars(message.step, message.time, message.values)
                elif isinstance(message, Lost):
                    missing = resumed.missing(message)
                    if missing is not None:
                        _log(run, missing)
        resumed.close()


def _log(run: Run, lost: Lost) -> None:
    run.log_gap(
        lost.first_step,
        lost.last_step,
        reason=lost.reason,
        counts=lost.counts,
        message=words_for(lost),
        time=lost.time,
    )

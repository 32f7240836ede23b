"""Notice that a script is run again in a process that it started itself, before that starts another."""

from __future__ import annotations

import multiprocessing
import os
from typing import Final

from torcheer.errors import InspectorError

NAME: Final = "torcheer inspector"  # of the processes that multiprocessing makes for us
UNGUARDED: Final = 86  # the exit code that says so
NOT_TOLD: Final = 87  # the exit code of one that ended in order, but not because it was told to

WORDS: Final = (
    "the start method {method!r} runs your script again in each new process, and the script has no guard "
    "against that. Put what starts the training into a function, and call it at the end of the script like "
    "this:\n\n"
    '    if __name__ == "__main__":\n'
    "        main()\n\n"
    "Or leave out start_method: then nothing of the script is run again."
)

_is_child = False


def usual_start_method() -> str:
    """What multiprocessing does where nothing is said. Merely asking for it must not settle it."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def note_that_this_is_a_child() -> None:
    global _is_child
    _is_child = True


def refuse_in_a_child(method: str | None) -> None:
    """Raises InspectorError where no training can be watched from, or ends the process that is our own."""
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        if process.name == NAME:
            # Nothing was done here yet, and the script might catch what is raised and train on, unseen.
            os._exit(UNGUARDED)
        raise InspectorError(WORDS.format(method=method or usual_start_method()))
    if _is_child:
        raise InspectorError("this process watches a training itself: nothing can be watched from within.")

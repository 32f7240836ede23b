"""The process of a training that is controlled: `python -m torcheer.training.control.worker TARGET FOLDER`.

Commands come by what was its standard input, reports go by what was its standard output; what the user's code
prints goes to standard error. It ends when the commands do, which is also when whoever gave them is gone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from torcheer.errors import InputError
from torcheer.training.control.faults import fault_of, is_of_the_user
from torcheer.training.control.pipes import exit_within, take_pipes
from torcheer.training.control.protocol import FaultReport, Value
from torcheer.training.control.target import read_target

if TYPE_CHECKING:
    from torcheer.training.loop import Loop

FAILED: Final = 3  # the exit code after an exception of the training, which was reported
_CLOSING_SECONDS: Final = 10.0
_TERMINATED: Final = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the process was started for."""

    target: str
    folder: str
    values: Mapping[str, Value]  # over those of the code
    seed: int | None


class Aborted(SystemExit):
    """Somebody sent SIGTERM. No `except Exception` in the user's code takes it for an error."""

    def __str__(self) -> str:
        return "ended on request"


def main(arguments: Sequence[str] | None = None) -> None:
    job = _read_job(arguments)
    commands, reports = take_pipes()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for a whole group of processes: the server decides
    signal.signal(signal.SIGTERM, _abort)
    sys.argv = [job.target.rpartition(":")[0]]
    with ExitStack() as ending:  # what went wrong is reported before anything is closed
        try:
            # Not before the pipes are ours: what torch prints when it is imported is no report.
            from torcheer.training.control.loading import load_loop
            from torcheer.training.control.notes import pass_on_warnings
            from torcheer.training.control.steering import Steering
            from torcheer.training.control.threads import leave_a_core_free

            leave_a_core_free()
            loop = load_loop(read_target(job.target))
            loop.folder = job.folder
            ending.push(partial(_close, loop))
            steering = Steering(loop, reports.send, job.values, job.seed)
            pass_on_warnings(steering.note)
            steering.introduce()
            commands.attach(steering)
            steering.carry_out_all()
        except Aborted:
            raise
        except SystemExit as error:
            message = f"the training called sys.exit({error.code!r})"
            reports.send(FaultReport(fault=msgspec.structs.replace(fault_of(error), message=message)))
            raise
        except BaseException as error:
            if isinstance(error, InputError) and not is_of_the_user(error):
                error.__traceback__ = None  # its sentence says all; our lines say nothing to anybody
            reports.send(FaultReport(fault=fault_of(error)))
            with suppress(Exception):  # the training may have closed where it goes
                traceback.print_exception(error)
            raise SystemExit(FAILED) from error


def _close(
    loop: Loop[Any],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    """End the run in order, with what it died of."""
    exit_within(_CLOSING_SECONDS)
    with suppress(Exception):  # what went wrong before is what counts
        loop.close(error and (error.__cause__ or error))


def _abort(number: int, frame: FrameType | None) -> NoReturn:
    raise Aborted(_TERMINATED)


def _read_job(arguments: Sequence[str] | None) -> Job:
    parser = argparse.ArgumentParser(prog="torcheer.training.control.worker")
    parser.add_argument("target")
    parser.add_argument("folder")
    parser.add_argument("--values", type=json.loads, default={})
    parser.add_argument("--seed", type=int)
    parser.add_argument("--search-path", type=json.loads, default=[])
    read = parser.parse_args(arguments)
    if read.search_path:
        sys.path[:] = read.search_path  # whatever could be imported where the training was named
    return Job(target=read.target, folder=read.folder, values=read.values, seed=read.seed)


if __name__ == "__main__":
    main()

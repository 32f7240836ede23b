"""A process that reports as a training does, but without torch, so that it is there at once.

What it does with `RunOn` is the seed that it was initialised with, see `ACTS`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from torcheer.training.control import About, Counters, Fault, Init, RunOn, Stop
from torcheer.training.control.control_commands import (
    COMMANDS,
    AboutReport,
    FaultReport,
    FormField,
    StatusReport,
    line_of,
)

RATE: Final = FormField(
    name="rate", label="Rate", section="Optimizer", form="number", value=0.5, low=0.0, is_live=True
)


def send(report: Any) -> None:
    os.write(1, line_of(report))


def _exit_after_a_word() -> None:
    sys.stderr.write("step 1\rstep 2\n\x1b[31mthese are its last words\x1b[0m\n")
    sys.stderr.flush()
    os._exit(9)


def _kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _crash() -> None:
    import faulthandler

    faulthandler.enable()
    ctypes.string_at(0)


def _say_what_is_no_report() -> None:
    os.write(1, b'{"type": "status"}\n')
    signal.pause()


def _never_end_a_line() -> None:
    while True:
        os.write(1, b"x" * (1 << 16))


def _print_megabytes() -> None:
    for _ in range(64):
        os.write(2, b"chatter " * (1 << 13))
    os.write(2, b"\nthe end\n")
    os._exit(1)


def _leave_a_child() -> None:
    """Which holds both pipes open until there are no more commands."""
    subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
    os._exit(4)


def _close_its_pipe() -> None:
    os.close(1)
    signal.pause()


def _raise() -> None:
    """And say more after that: what a thread that knows of no fault has to say."""
    fault = Fault(error="ZeroDivisionError", message="division by zero", place="net.py, line 3", trace="")
    send(FaultReport(fault=fault))
    late = StatusReport(state="busy", doing="Run", values={}, seed=8, num_taken=99)
    send(late)
    send(AboutReport(about=About(name="has failed", fields=[], seed=0, plots=[])))
    signal.pause()


def _exit_in_order() -> None:
    send(
        FaultReport(fault=Fault(error="SystemExit", message="sys.exit(5)", place="net.py, line 4", trace=""))
    )
    os._exit(5)


def _heed_nobody() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, b"deaf\n")
    while True:
        time.sleep(60)


ACTS: Final[tuple[Callable[[], None], ...]] = (
    _exit_after_a_word,
    _kill_itself,
    _crash,
    _say_what_is_no_report,
    _never_end_a_line,
    _print_megabytes,
    _leave_a_child,
    _close_its_pipe,
    _raise,
    _exit_in_order,
    _heed_nobody,
)


def main() -> None:
    folder = sys.argv[2]
    values: dict[str, Any] = {"rate": 0.5}
    seed = num_taken = 0
    runs: tuple[str, ...] = ()

    def status(state: Any, doing: str = "", step: int = 0) -> None:
        report = StatusReport(
            state=state,
            doing=doing,
            counters=Counters(step=step, trial=step),
            values=values,
            seed=seed,
            runs=runs,
            num_taken=num_taken,
        )
        send(report)

    about = About(name="fake", fields=[RATE], seed=0, plots=[])
    source = Path(sys.argv[1].rpartition(":")[0])
    if source.suffix == ".py":  # its last word is the rate to begin with
        values["rate"] = float(source.read_text().split()[-1])
    sources = {str(source): source.stat().st_mtime_ns} if source.is_file() else {}
    send(AboutReport(about=about, sources=sources))
    status("new")
    for line in sys.stdin.buffer:
        command = COMMANDS.decode(line)
        num_taken += 1
        match command:
            case Init():
                values |= command.values
                seed, runs = command.seed, (f"{folder}/fake/run-0",)
                status("ready")
            case RunOn() if seed < len(ACTS):
                status("busy", "Run", 1)
                ACTS[seed]()
            case RunOn():
                status("busy", "Run", 1)
            case Stop():
                status("ready", step=2)
            case _:
                status("ready", step=3)


if __name__ == "__main__":
    main()

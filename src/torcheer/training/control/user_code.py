"""The user's code, as another process finds it: by name, its files, and its exceptions. No torch here.

path/to/file.py:function
package.module:function
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from torcheer.errors import InputError
from torcheer.training.control.control_commands import About, Fault, Value

EXAMPLE: Final = "examples/etra25.py:loop or package.module:function"
WANTED: Final = "a function that takes nothing and returns a tl.Loop, or a tl.Loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A function that makes a `tl.Loop`, by name. `where` is a file or a module."""

    where: str
    name: str

    @property
    def is_file(self) -> bool:
        return self.where.endswith(".py")

    @property
    def title(self) -> str:
        """A name for people until the training says its own."""
        return Path(self.where).stem if self.is_file else self.where.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.where}:{self.name}"


def read_target(text: str) -> Target:
    """What can be said without running the code is said here. Raises InputError."""
    where, colon, name = text.rpartition(":")
    if not colon or not where or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"{text!r} names no training: write {EXAMPLE}, {WANTED}.")
    target = Target(where=where, name=name)
    if target.is_file:
        if not Path(where).is_file():
            raise InputError(f"there is no file {where}: write {EXAMPLE}.")
    elif not all(part.isidentifier() for part in where.split(".")):
        raise InputError(f"{where!r} is no module and no file that ends in .py: write {EXAMPLE}.")
    return target


_WHY: Final = "the training runs in a process of its own, which has to find it by name"


def target_of(made: Any) -> Target:
    """The target of a function of a module, or of a loop that a module holds. Raises InputError."""
    name = getattr(made, "__qualname__", None)
    if name is None or not hasattr(made, "__module__"):
        return _target_of_object(made)
    if "<lambda>" in name:
        raise InputError(f"a lambda has no name, and {_WHY}: write it as `def loop(): return tl.Loop(…)`.")
    if "<locals>" in name:
        raise InputError(
            f"{name!r} is defined inside a function, and {_WHY}: define it in its module itself."
        )
    module = sys.modules.get(made.__module__)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if module is None or found != made:
        raise InputError(f"{made.__module__} has another {name!r} or none, and {_WHY}: do not rename it.")
    return Target(where=_where(module, name), name=name)


def _target_of_object(made: Any) -> Target:
    for module in [sys.modules.get("__main__"), *sys.modules.values()]:
        if not isinstance(module, ModuleType):  # some libraries put other things there
            continue
        for name, value in list(vars(module).items()):
            if value is made and not name.startswith("_"):
                return Target(where=_where(module, name), name=name)
    raise InputError(
        f"this {type(made).__name__} is held by no module, and {_WHY}: give a function of a module that "
        "takes nothing and returns a tl.Loop."
    )


def _where(module: ModuleType, name: str) -> str:
    """How another process gets at the module."""
    if module.__name__ != "__main__":
        return module.__name__
    spec = getattr(module, "__spec__", None)
    if spec is not None and spec.name:  # python -m package.module
        return str(spec.name)
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py") or not os.path.isfile(file):
        raise InputError(
            f"{name!r} was written in a notebook or at a prompt, and {_WHY}: put it into a file, such as "
            f"training.py (in a notebook, %%writefile training.py does that), and import it from there."
        )
    shown = os.path.relpath(file)
    return str(file) if shown.startswith(os.pardir) else shown


_PACKAGE: Final = str(Path(__file__).resolve().parents[2]) + os.sep
_LIBRARIES: Final = tuple(
    {
        written + os.sep
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        for written in (sysconfig.get_path(name), os.path.realpath(sysconfig.get_path(name)))
    }
)
_MAX_MESSAGE: Final = 4_000  # characters
_MAX_TRACE: Final = 40_000


def fault_of(error: BaseException) -> Fault:
    """Frames of ours that led to the user's code are left out."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place = f"{os.path.basename(error.filename)}, line {error.lineno}"
    else:
        place = place_of([(frame.filename, frame.lineno, frame.name) for frame in frames])
    first = error.__traceback__
    while first is not None and _is_ours(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    try:
        trace = "".join(traceback.format_exception(type(error), error, first or error.__traceback__))
    except Exception:  # an exception may do anything when it is asked for its text
        trace = "".join(traceback.format_tb(error.__traceback__))
    return Fault(
        error=type(error).__name__,
        message=readable(text_of(error), _MAX_MESSAGE),
        place=place,
        trace=readable(trace, _MAX_TRACE),
    )


def is_of_the_user(error: BaseException) -> bool:
    """Whether code that is not ours had a part in it."""
    return any(not _is_ours(frame.filename) for frame in traceback.extract_tb(error.__traceback__))


def is_file_of_the_user(file: str) -> bool:
    """Neither ours nor of a library."""
    return not _is_ours(file) and not file.startswith(("<", *_LIBRARIES))


def readable(text: str, most: int) -> str:
    """Text that can be sent: whole characters, and not too many of them, the first and the last."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters are left out …\n{text[-half:]}"


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be had)"


def place_of(frames: Sequence[tuple[str, int | None, str]]) -> str:
    """Where it happened: the last frame (file, line, function) of the user's own code, else of any."""
    others = [frame for frame in frames if not _is_ours(frame[0])]
    own = [frame for frame in others if is_file_of_the_user(frame[0])]
    if not others:
        return ""
    file, line, name = (own or others)[-1]
    where = "" if name == "<module>" else f", in {name}"
    return f"{os.path.basename(file)}, line {line}{where}"


def _is_ours(file: str) -> bool:
    """Also what leads from us to a module that is imported."""
    return file.startswith((_PACKAGE, "<frozen importlib", "<frozen runpy"))


def imported_sources() -> dict[str, int]:
    """All that this process has imported and that is not of a library, with the time of its last change."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = (os.path.abspath(file) for file in files if isinstance(file, str) and file.endswith(".py"))
    times = ((path, _time_of(path)) for path in paths if is_file_of_the_user(path))
    return {path: time for path, time in times if time is not None}


def have_changed(sources: Mapping[str, int]) -> bool:
    """Whether one of them is another by now. One that is gone, as while it is saved, has not changed."""
    return any(_time_of(path) not in (None, time) for path, time in sources.items())


def chosen_values(
    values: Mapping[str, Value], about: About | None, preset: Mapping[str, Value]
) -> dict[str, Value]:
    """Those that somebody chose. What the old code began with is left out: the new one may have another."""
    begun = {field.name: field.value for field in about.fields} if about else {}
    begun.update(preset)
    return {name: value for name, value in values.items() if (name, value) not in begun.items()}


def _time_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None

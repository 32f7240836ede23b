"""Where a training comes from: `path/to/file.py:function` or `package.module:function`. No torch here."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from torcheer.errors import InputError

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


# --- the target of a function -------------------------------------------------------------------------------

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
            f"{name!r} is defined inside a function, and {_WHY}: define it at the level of its module."
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
        f"this {type(made).__name__} is held by no module, and {_WHY}: give a function that takes nothing "
        "and returns a tl.Loop, defined at the level of its module."
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

"""Load a training: import its module, and call the function that makes the loop."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from torcheer.errors import InputError
from torcheer.training.control.target import EXAMPLE, WANTED, Target
from torcheer.training.loop import Loop


def load_loop(target: Target) -> Loop[Any]:
    """Import the module and call the function. What the user's code raises goes through."""
    module = _module_of(target)
    found: Any = module
    for part in target.name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise InputError(
                f"{target.where} has no {target.name!r} when it is imported: {WANTED}."
            ) from None
    if isinstance(found, Loop):
        return found
    if not callable(found):
        raise InputError(f"{target} is a {type(found).__name__}: it must be {WANTED}.")
    loop = found()
    if not isinstance(loop, Loop):
        raise InputError(f"{target} returns a {type(loop).__name__}: it must be {WANTED}.")
    return loop


def _module_of(target: Target) -> ModuleType:
    if target.is_file:
        return _module_of_file(Path(os.path.abspath(target.where)))
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(target.where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{target.where}.".startswith(f"{error.name}."):
            raise  # of something that the module itself imports
        raise InputError(
            f"there is no module {target.where!r} here ({error}): run this where it can be imported."
        ) from error


def _module_of_file(path: Path) -> ModuleType:
    """As `python path` would, but not as `__main__`: what is guarded by that name is not run."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    sys.path.insert(0, str(path.parent))
    # A name that can be imported, so that its classes can be pickled; but not that of another module.
    name = path.stem
    if not name.isidentifier() or _is_taken(path):
        name = "training_" + re.sub(r"\W", "_", name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported: write {EXAMPLE}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_taken(path: Path) -> bool:
    if path.stem in sys.modules:
        return True
    try:
        found = importlib.util.find_spec(path.stem)
    except (ImportError, ValueError):
        return False
    return found is not None and found.origin != str(path)

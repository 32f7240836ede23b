"""What is named on the command line: package.module:function."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torcheer.errors import InputError


def load_function(target: str) -> Callable[[], Any]:
    module_name, colon, function_name = target.partition(":")
    if not colon or not module_name or not function_name:
        raise InputError(
            f"{target!r} is not package.module:function, as in examples.alexnet:alexnet_and_image."
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if module_name.endswith(".py"):
            plain = module_name.removesuffix(".py").replace("/", ".")
            raise InputError(f"{target} names a file: write {plain}:{function_name}.") from error
        raise InputError(
            f"there is no module {module_name!r} here ({error}): run this where it can be imported."
        ) from error
    function = getattr(module, function_name, None)
    if function is None:
        raise InputError(f"{module_name} has no {function_name!r}.{_functions_of(module)}")
    if not callable(function):
        raise InputError(f"{target} is a {type(function).__name__}: name a function that takes nothing.")
    return function  # type: ignore[no-any-return]


def _functions_of(module: ModuleType) -> str:
    own = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return f" It has {', '.join(own)}." if own else ""


def load_target(target: str) -> tuple[Any, Any, Any]:
    """Call `package.module:function`; it gives (model, input_args) or (model, input_args, input_kwargs)."""
    function = load_function(target)
    wanted = f"{target} must be a function that takes nothing and returns (model, input_args)"
    try:
        result = function()
    except TypeError as error:
        raise InputError(f"{wanted}: {error}.") from error
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise InputError(f"{wanted} or (model, input_args, input_kwargs).")
    return (*result, None) if len(result) == 2 else result

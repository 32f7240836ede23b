"""The `torcheer` command."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from torcheer.errors import InputError, TorcheerError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="See inside a PyTorch model.")


@app.callback()
def about() -> None:
    """See inside a PyTorch model."""


@app.command()
def summary(
    target: Annotated[str, typer.Argument(help="package.module:function, which returns (model, input).")],
) -> None:
    """Run a model once and print a table by module."""
    from torcheer.capture import summary as summarise

    model, args, kwargs = load_target(target)
    typer.echo(str(summarise(model, args, kwargs)))


def load_target(target: str) -> tuple[Any, Any, Any]:
    """Call `package.module:function`; it gives (model, input_args) or (model, input_args, input_kwargs)."""
    module_name, colon, function_name = target.partition(":")
    if not colon or not module_name or not function_name:
        raise InputError(
            f"{target!r} is not package.module:function, as in examples.alexnet:alexnet_and_image."
        )
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"there is no module {module_name!r} here ({error}): run this where it can be imported."
        ) from error
    function = getattr(module, function_name, None)
    if function is None:
        raise InputError(f"{module_name} has no {function_name!r}.")
    result = function()
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise InputError(f"{target} must return (model, input_args) or (model, input_args, input_kwargs).")
    return (*result, None) if len(result) == 2 else result


def main() -> None:
    try:
        app()
    except TorcheerError as error:
        typer.echo(f"torcheer: {error}", err=True)
        raise SystemExit(2) from error

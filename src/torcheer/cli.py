"""The `torcheer` command."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from torcheer import __version__
from torcheer.errors import InputError, TorcheerError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"torcheer {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """See inside a PyTorch model."""


@app.command()
def summary(
    target: Annotated[str, typer.Argument(help="package.module:function, which returns (model, input).")],
) -> None:
    """Run a model once and print a table by module."""
    from torcheer.capture import summary as summarise

    model, args, kwargs = load_target(target)
    try:
        table = summarise(model, args, kwargs)
    except TorcheerError:
        raise
    except Exception as error:
        raise InputError(_what_happened(error)) from error
    typer.echo(str(table))


def _what_happened(error: Exception) -> str:
    """An exception of the model itself, and how far it came."""
    history = getattr(error, "history", None)
    last = None if history is None or not len(history) else history[-1]
    where = "" if last is None else f" The last op was {last.layer_label}: {last.source_line or 'the input'}."
    return f"the model raised {type(error).__name__}: {error}.{where}"


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
    wanted = f"{target} must be a function that takes nothing and returns (model, input_args)"
    try:
        result = function()
    except TypeError as error:
        raise InputError(f"{wanted}: {error}.") from error
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise InputError(f"{wanted} or (model, input_args, input_kwargs).")
    return (*result, None) if len(result) == 2 else result


def main() -> None:
    try:
        app()
    except TorcheerError as error:
        typer.echo(f"torcheer: {error}", err=True)
        raise SystemExit(2) from error

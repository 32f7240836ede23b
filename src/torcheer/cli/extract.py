"""`torcheer extract`: the activations of a whole data set, by one process, or by many under torchrun."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from torcheer.errors import InputError
from torcheer.models import rank_of_process


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
        raise InputError(f"{module_name} has no {function_name!r}.")
    if not callable(function):
        raise InputError(f"{target} is a {type(function).__name__}: name a function that takes nothing.")
    return function  # type: ignore[no-any-return]


def called(target: str, wanted: str, sizes: Sequence[int]) -> tuple[Any, ...]:
    """What `package.module:function` returns: a tuple of one of these sizes."""
    must = f"{target} must be a function that takes nothing and returns {wanted}"
    function = load_function(target)
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise InputError(f"{must}: {error}.") from error
    except ValueError:  # nobody can tell what it takes
        pass
    found = function()
    if not isinstance(found, tuple) or len(found) not in sizes:
        raise InputError(f"{must}.")
    return found


def load_target(target: str) -> tuple[Any, Any, Any]:
    """It gives (model, input_args) or (model, input_args, input_kwargs)."""
    found = called(target, "(model, input_args) or (model, input_args, input_kwargs)", (2, 3))
    return found[0], found[1], found[2] if len(found) > 2 else None


_TARGET: Final = re.compile(r"[\w.]+:[A-Za-z_]\w*")  # a function, and no layer: rnn:2 is one
_SEVERAL: Final = ("--layers", "-l", "--transform", "-t")


class SpreadingCommand(TyperCommand):
    """Takes several words after an option: `--layers a b c`, and not only `--layers a --layers b`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return list(super().parse_args(ctx, spread(args)))


def spread(words: Sequence[str]) -> list[str]:
    """The same with the option before each of its words."""
    found: list[str] = []
    option = ""
    is_first = False
    for word in words:
        if word.startswith("-"):
            option = word if word in _SEVERAL else ""
            is_first = bool(option)
        elif option and not is_first and not (option in ("--layers", "-l") and _TARGET.fullmatch(word)):
            found.append(option)
        elif not is_first:
            option = ""
        else:
            is_first = False
        found.append(word)
    return found


def extract(
    target: Annotated[str, typer.Argument(help="package.module:function, which returns (model, data).")],
    layers: Annotated[
        list[str] | None,
        typer.Option(
            "--layers",
            "-l",
            help="Labels, module addresses, patterns; 'modules'; 'all'. Several: one after the other.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", help="A folder, a path that ends in .zarr, or a URL.")
    ] = None,
    list_layers: Annotated[
        bool,
        typer.Option(
            "--list-layers", help="Show which layers there are, their shapes and sizes, and write nothing."
        ),
    ] = False,
    transform: Annotated[
        list[str] | None,
        typer.Option(
            "--transform", "-t", help="pool, flatten, float16, project:512, pca:64, package.module:function."
        ),
    ] = None,
    shapes: Annotated[
        str | None, typer.Option(help="Where samples differ in shape: padded:128, ragged or pooled.")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Of a data set; a loader has its own.", show_default="32")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where the model runs; auto takes the fastest there is.")
    ] = "auto",
    ids: Annotated[
        str | None, typer.Option(help="The key under which batches say what samples are called.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what the model draws by chance.")] = 0,
    num_threads: Annotated[
        int | None,
        typer.Option(help="Of torch on the CPU.", show_default="as many as give the same bits as one"),
    ] = None,
    progress: Annotated[bool, typer.Option(help="Show how far it is.")] = True,
) -> None:
    """Run a model over a data set and keep what its layers give, on disk.

    Killed at any moment, the same command goes on where it was. Many processes share the work under torchrun:
    torchrun --nproc-per-node 4 --max-restarts 10 -m torcheer extract ...
    """
    options: dict[str, Any] = {
        "transform": transform,
        "shapes": shapes,
        "ids": ids,
        "batch_size": batch_size,
        "device": device,
        "seed": seed,
    }
    if list_layers:
        typer.echo(_listed(target, layers, options))
        return
    if not layers or to is None:
        raise typer.BadParameter(
            "it is missing, unless --list-layers is given.", param_hint="--layers" if not layers else "--to"
        )
    from torcheer.features import extract as extract_features

    model, data = called(target, "(model, data)", (2,))
    features = extract_features(
        model,
        data,
        layers=_wanted(layers),
        to=to,
        num_threads=num_threads,
        progress=progress,
        **options,
    )
    if features.is_complete and rank_of_process() == 0:
        typer.echo(str(features))


def _listed(target: str, layers: Sequence[str] | None, options: dict[str, Any]) -> str:
    from torcheer.features import layers_text

    model, data = called(target, "(model, data)", (2,))
    return layers_text(model, data, **options, **({"layers": _wanted(layers)} if layers else {}))


def _wanted(layers: Sequence[str]) -> Any:
    names = split_names(layers)
    return names[0] if names in (["all"], ["modules"]) else names


def split_names(given: Sequence[str]) -> list[str]:
    """`a,b` and `a b` alike."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]

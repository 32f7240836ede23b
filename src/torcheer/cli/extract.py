"""`torcheer extract`: the activations of a whole data set, by one process, or by many under torchrun."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from torcheer.cli.targets import load_function
from torcheer.errors import InputError
from torcheer.run import rank_of_process

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

    model, data = model_and_data(target)
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

    model, data = model_and_data(target)
    return layers_text(model, data, **options, **({"layers": _wanted(layers)} if layers else {}))


def _wanted(layers: Sequence[str]) -> Any:
    names = split_names(layers)
    return names[0] if names in (["all"], ["modules"]) else names


def model_and_data(target: str) -> tuple[Any, Any]:
    wanted = f"{target} must be a function that takes nothing and returns (model, data)"
    function = load_function(target)
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise InputError(f"{wanted}: {error}.") from error
    except ValueError:
        pass  # nobody can tell what it takes
    found = function()
    if not isinstance(found, tuple) or len(found) != 2:
        raise InputError(f"{wanted}.")
    return found


def split_names(given: Sequence[str]) -> list[str]:
    """`a,b` and `a b` alike."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]

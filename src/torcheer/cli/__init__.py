"""The `torcheer` command."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from torcheer import __version__
from torcheer.cli.runs import RunArgument, folder_of, runs_app
from torcheer.errors import InputError, TorcheerError
from torcheer.graph import PARTS, Progress
from torcheer.learn import MAX_SOURCE, Example
from torcheer.models import rank_of_process

if TYPE_CHECKING:
    from torcheer.training.control import Value

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(runs_app, name="runs")


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
    with _naming_errors_of_the_model():
        table = summarise(model, args, kwargs)
    typer.echo(str(table))


@app.command()
def draw(
    target: Annotated[
        str,
        typer.Argument(help="package.module:function, which returns (model, input), or a saved pass."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to; the ending chooses SVG, PNG or PDF.")
    ] = Path("modelgraph.svg"),
    rolled: Annotated[bool, typer.Option("--rolled", help="One box a layer; loops as back edges.")] = False,
    depth: Annotated[
        int | None, typer.Option(help="Modules deeper than this are drawn as one box.", show_default="all")
    ] = None,
    direction: Annotated[str, typer.Option(help="topdown, bottomup or leftright.")] = "topdown",
    buffers: Annotated[bool, typer.Option("--buffers", help="Show buffers.")] = False,
    fold: Annotated[
        bool | None,
        typer.Option("--fold/--no-fold", help="Draw equal neighbouring blocks once.", show_default="no-fold"),
    ] = None,
    color_by: Annotated[
        str | None, typer.Option(help="time, memory, flops or zeros.", show_default="none")
    ] = None,
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
    legend: Annotated[bool, typer.Option(help="With a legend.")] = True,
) -> None:
    """Draw the graph of a model as SVG, PNG or PDF."""
    options: dict[str, Any] = {
        "vis_outpath": output,
        "vis_save_only": True,
        "vis_nesting_depth": depth,
        "vis_direction": direction,
        "vis_buffer_layers": buffers,
        "vis_fold_repeats": fold,
        "vis_color_by": color_by,
        "vis_theme": theme,
        "vis_legend": legend,
    }
    options = {name: value for name, value in options.items() if value is not None}
    vis_opt = "rolled" if rolled else "unrolled"
    if Path(target).is_file():
        from torcheer.capture import load_history

        load_history(target).draw(vis_opt, **options)
        return
    from torcheer.capture import show_model_graph
    from torcheer.graph import read_options

    read_options(vis_opt, options)  # what is wrong is said before the model is made
    model, args, kwargs = load_target(target)
    with _naming_errors_of_the_model():
        show_model_graph(model, args, kwargs, vis_opt=vis_opt, **options)


@app.command()
def view(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="A folder of runs, a run, TensorBoard event files, a saved pass, features.", metavar="PATH"
        ),
    ],
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Follow links that lead out of the folders.")
    ] = False,
) -> None:
    """Look at runs, saved passes and features in the browser."""
    from torcheer.app import view as serve

    serve(paths, host=host, port=port, open_browser=browser, follow_links=follow_links)


@contextmanager
def _naming_errors_of_the_model() -> Iterator[None]:
    """An exception of the model itself, and how far it came."""
    try:
        yield
    except TorcheerError:
        raise
    except Exception as error:
        last = next(reversed(getattr(error, "history", None) or ()), None)
        line = "" if last is None else last.source_line or "the input"
        where = "" if last is None else f" The last op was {last.layer_label}: {line}."
        raise InputError(f"the model raised {type(error).__name__}: {error}.{where}") from error


_WORDS: Final[Mapping[str, Value]] = {"True": True, "False": False, "None": None, "": None}


@app.command()
def control(
    target: Annotated[
        str,
        typer.Argument(
            help="path/to/file.py:function or package.module:function, which returns a tl.Loop.",
            metavar="TARGET",
        ),
    ],
    folder: Annotated[Path, typer.Option(help="Where its runs go.")] = Path("runs"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter to begin with, over that of the code; repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="To begin with.", show_default="that of the code")] = None,
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Step and run a training from a page. It runs in a process of its own, which ends with this."""
    from torcheer.app import view
    from torcheer.training.control import Control

    made = Control(target, folder=folder, values=read_settings(settings or ()), seed=seed)
    view([], controls=[made], host=host, port=port, open_browser=browser)


def read_settings(settings: Sequence[str]) -> dict[str, Value]:
    """`hidden=20` by name. The training says whether it has such a parameter, and may have such a value."""
    values: dict[str, Value] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise InputError(f"--set {setting!r} names no parameter: write --set learning_rate=0.1.")
        if name in values:
            raise InputError(f"--set gives {name} twice: leave one of them out.")
        values[name] = _value_of(text.strip())
    return values


def _value_of(text: str) -> Value:
    """A number, a truth or None where it reads as one, else the text; in double quotes always a text."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, int | float | str):
        return found
    try:
        return float(text)  # .5, as people write it
    except ValueError:
        return text


@app.command()
def learn(
    expression: Annotated[
        str | None,
        typer.Argument(
            help="A file such as two_layers.py, or the expression itself; it is read, never run.",
            metavar="[FILE or EXPRESSION]",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Watch how gradients come about: examples, expressions of your own, exercises."""
    from torcheer.app import learn as serve

    own = None if expression is None else read_own(expression)
    serve(own, host=host, port=port, open_browser=browser)


def read_own(expression: str) -> Example:
    """The expression as an example, from a file if it names one. Lines may be parted by `;`."""
    path = Path(expression)
    source, title = expression, "Yours"
    if expression.endswith(".py"):
        try:
            with path.open(encoding="utf-8") as file:
                source = file.read(MAX_SOURCE + 1)
        except FileNotFoundError:
            raise InputError(f"there is no file {expression} here.") from None
        except OSError as error:
            raise InputError(f"{expression} cannot be read: {error.strerror or error}.") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{expression} cannot be read: it is no text in UTF-8.") from error
        title = f"Yours: {path.name}"
    if len(source) > MAX_SOURCE:
        raise InputError(f"{title} has more than {MAX_SOURCE:,} signs: take a smaller expression.")
    return Example(id="yours", title=title, about="What you gave to `torcheer learn`.", source=source)


_SIZE = re.compile(r"(\d{1,5})[x×X](\d{1,5})")


@app.command()
def video(
    run: RunArgument,
    layer: Annotated[
        str, typer.Argument(help="A series, as features.0.weight, or a layer that has only one of them.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to: .mp4, .gif, or a folder for PNG files.")
    ] = Path("out.mp4"),
    size: Annotated[str, typer.Option(help="Width and height of a frame.")] = "640x480",
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 20.0,
    first_step: Annotated[
        int | None, typer.Option("--from", help="The first step.", show_default="all")
    ] = None,
    last_step: Annotated[int | None, typer.Option("--to", help="The last step.", show_default="all")] = None,
    kind: Annotated[str, typer.Option(help="auto, picture, tiles or histogram.")] = "auto",
) -> None:
    """Make a video of a tensor of a run over its steps."""
    from torcheer.video import make_video

    pixels = _SIZE.fullmatch(size.strip())
    if pixels is None:
        raise InputError(f"{size!r} is no size: give width and height as 640x480.")
    with Progress(f"{layer} → {output}", None, PARTS) as progress:
        try:
            made = make_video(
                folder_of(run),
                layer,
                output,
                size=(int(pixels[1]), int(pixels[2])),
                fps=fps,
                first_step=first_step,
                last_step=last_step,
                kind=kind,
                progress=progress.reach,
            )
        except KeyboardInterrupt:
            left = f": {output} holds the frames so far" if output.exists() else ""
            typer.echo(f"torcheer: stopped{left}", err=True)
            raise typer.Exit(130) from None
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}.") from error
    left_out = f", {made.num_left_out} records left out" if made.num_left_out else ""
    typer.echo(f"torcheer: wrote {made.path}: {made.series}, {made.num_frames} frames{left_out}", err=True)


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
    option, num_words = "", 0
    for word in words:
        if word.startswith("-"):
            option, num_words = word if word in _SEVERAL else "", 0
        elif option:
            num_words += 1
            if num_words > 1 and option in ("--layers", "-l") and _TARGET.fullmatch(word):
                option = ""
            elif num_words > 1:
                found.append(option)
        found.append(word)
    return found


@app.command(cls=SpreadingCommand)
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
        from torcheer.features import layers_text

        model, data = called(target, "(model, data)", (2,))
        typer.echo(layers_text(model, data, **options, **({"layers": _wanted(layers)} if layers else {})))
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


def _wanted(layers: Sequence[str]) -> Any:
    names = split_names(layers)
    return names[0] if names in (["all"], ["modules"]) else names


def split_names(given: Sequence[str]) -> list[str]:
    """`a,b` and `a b` alike."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


def main() -> None:
    try:
        app()
    except TorcheerError as error:
        typer.echo(f"torcheer: {error}", err=True)
        raise SystemExit(2) from error

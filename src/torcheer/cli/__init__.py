"""The `torcheer` command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from torcheer import __version__
from torcheer.cli.commands import SpreadingCommand, control, extract, learn, load_target, video
from torcheer.cli.runs import runs_app
from torcheer.errors import InputError, TorcheerError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(runs_app, name="runs")
app.command()(video)
app.command()(control)
app.command()(learn)
app.command(cls=SpreadingCommand)(extract)


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


def main() -> None:
    try:
        app()
    except TorcheerError as error:
        typer.echo(f"torcheer: {error}", err=True)
        raise SystemExit(2) from error

"""`torcheer learn`: watch gradients come about, step by step, in a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from torcheer.errors import InputError
from torcheer.learn import MAX_SOURCE, Example


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


_ABOUT: Final = "What you gave to `torcheer learn`."


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
    return Example(id="yours", title=title, about=_ABOUT, source=source)

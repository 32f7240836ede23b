"""What may be asked of a picture, checked before any model runs."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

from torcheer.errors import InputError

VisOpt = Literal["unrolled", "rolled"]
FileFormat = Literal["svg", "png", "pdf"]
Direction = Literal["topdown", "bottomup", "leftright"]
Metric = Literal["time", "memory", "flops", "zeros"]
Theme = Literal["light", "dark"]
Figure = float | str | None  # a number to be coloured on a scale, a colour, or nothing
ColorBy = Metric | Callable[[Any], Figure] | None

FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_OTHER_PICTURES = frozenset("jpg jpeg gif webp bmp tif tiff eps ps ico dot gv".split())


class DrawingOptions(TypedDict, total=False):
    """The options of a picture, by the names that all calls share."""

    vis_nesting_depth: int | None
    vis_outpath: str | os.PathLike[str]
    vis_fileformat: FileFormat | None
    vis_save_only: bool
    vis_buffer_layers: bool
    vis_direction: Direction
    vis_fold_repeats: bool
    vis_color_by: ColorBy
    vis_legend: bool
    vis_theme: Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The options of a picture, checked."""

    rolled: bool = False
    nesting_depth: int | None = None  # levels of modules that are shown; None: all
    path: Path = Path("modelgraph.svg")
    file_format: FileFormat = "svg"
    save_only: bool = False
    buffer_layers: bool = False
    direction: Direction = "topdown"
    fold_repeats: bool = False
    color_by: ColorBy = None
    legend: bool = True
    theme: Theme = "light"


def read_options(vis_opt: str, options: Mapping[str, Any]) -> Drawing:
    """The options as a drawing, or an InputError that names the fix."""
    _refuse_unknown(options)
    _check_choice("vis_opt", vis_opt, get_args(VisOpt))
    direction = options.get("vis_direction", "topdown")
    theme = options.get("vis_theme", "light")
    _check_choice("vis_direction", direction, get_args(Direction))
    _check_choice("vis_theme", theme, get_args(Theme))
    path, file_format = _destination(options.get("vis_outpath", "modelgraph"), options.get("vis_fileformat"))
    return Drawing(
        rolled=vis_opt == "rolled",
        nesting_depth=_nesting_depth(options.get("vis_nesting_depth")),
        path=path,
        file_format=file_format,
        save_only=_flag("vis_save_only", options, False),
        buffer_layers=_flag("vis_buffer_layers", options, False),
        direction=cast(Direction, direction),
        fold_repeats=_flag("vis_fold_repeats", options, False),
        color_by=_color_by(options.get("vis_color_by")),
        legend=_flag("vis_legend", options, True),
        theme=cast(Theme, theme),
    )


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = sorted(DrawingOptions.__annotations__)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
            near = near or difflib.get_close_matches(f"vis_{name}", known, n=1, cutoff=0.7)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise InputError(
                f"there is no argument {name!r}, neither of this call nor among the options of its picture, "
                f"which are {', '.join(known)}.{hint}"
            )


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        shown = " or ".join(map(repr, choices))
        near = difflib.get_close_matches(str(value).lower(), choices, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"{name} is {shown}, not {value!r}{hint}")


def _flag(name: str, options: Mapping[str, Any], default: bool) -> bool:
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f"{name} is True or False, not {value!r}.")
    return value


def _nesting_depth(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"vis_nesting_depth is the number of levels of modules to show, not {value!r}: 1 shows each "
            "top-level module as one box, 0 the whole model as one box; leave it out to show everything."
        )
    return value


def _color_by(value: object) -> ColorBy:
    if value is None or callable(value):
        return cast(ColorBy, value)
    if not isinstance(value, str) or value not in get_args(Metric):
        shown = ", ".join(map(repr, get_args(Metric)))
        raise InputError(
            f"vis_color_by is {shown}, or a function that is given an op and returns a colour such as "
            f"'#ffcc00', a number or None; not {value!r}."
        )
    return cast(ColorBy, value)


def _destination(outpath: object, file_format: object) -> tuple[Path, FileFormat]:
    """Where the picture goes. A known ending decides; a format that says otherwise is refused."""
    if file_format is not None:
        _check_choice("vis_fileformat", file_format, FORMATS)
    if not isinstance(outpath, str | os.PathLike) or not os.fspath(outpath):
        raise InputError(f"vis_outpath is the path of a file such as 'modelgraph.svg', not {outpath!r}.")
    path = Path(outpath).expanduser()
    if "\0" in str(path):
        raise InputError(f"vis_outpath is the path of a file such as 'modelgraph.svg', not {outpath!r}.")
    if path.suffix[1:].lower() in _OTHER_PICTURES:
        raise InputError(
            f"a picture is written as SVG, PNG or PDF, not as {path.suffix}: "
            f"name {path.with_suffix('.png').name!r}, for example."
        )
    if path.is_dir():
        raise InputError(
            f"vis_outpath is a folder, {path}: name a file in it, such as {path / 'modelgraph.svg'}."
        )
    ending = path.suffix[1:].lower()
    if ending not in FORMATS:  # `runs/model.v2` has no ending that we know: one is added
        chosen = cast(FileFormat, file_format or "svg")
        path = path.with_name(f"{path.name}.{chosen}")
    elif file_format is not None and file_format != ending:
        raise InputError(
            f"vis_outpath ends in .{ending}, but vis_fileformat is {file_format!r}: leave one of them out, "
            f"or write to {path.with_suffix('.' + str(file_format))}."
        )
    else:
        chosen = ending
    if not path.parent.is_dir():
        raise InputError(f"vis_outpath is in a folder that is not there, {path.parent}: make it first.")
    return path, chosen

"""Draw a pass: `history.draw`, `tl.show_model_graph`, and the picture that `vis_opt` asks for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import nn

from torcheer.capture.analysis.plain_values import as_plain
from torcheer.capture.inputs import check_model
from torcheer.capture.model_state import same_model_after
from torcheer.capture.op import Op
from torcheer.capture.to_document import document_of
from torcheer.capture.torch_state import same_random_state_after, undisturbed
from torcheer.desktop import current_cell, display_inline, in_notebook, open_in_browser
from torcheer.errors import InputError
from torcheer.graph import Drawing, DrawingOptions, Figure, Picture, draw_document, read_options

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


def show_model_graph(
    model: nn.Module,
    input_args: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    vis_opt: str = "unrolled",
    random_seed: int | None = None,
    **options: Unpack[DrawingOptions],
) -> Picture:
    """Run the model once and draw its graph, without keeping any activation.

    Buffers and random generators are left as they were. The options are those of `history.draw`.
    """
    from torcheer.capture.api import log_forward_pass

    check_model(model)
    drawing = read_options(vis_opt, options)
    # Zeros and functions of an op look at values; all other colours do without.
    needs_values = drawing.color_by == "zeros" or callable(drawing.color_by)
    with same_model_after(model), same_random_state_after():
        history = log_forward_pass(
            model,
            input_args,
            input_kwargs,
            layers_to_save="all" if needs_values else "none",
            random_seed=random_seed,
        )
    return draw_and_show(history, drawing)


def draw_and_show(history: ModelHistory, drawing: Drawing) -> Picture:
    """Draw, write the file, say so, and show it where it can be seen."""
    picture = draw_history(history, drawing)
    path = picture.save(drawing.path)
    # Beside what the program itself prints; a notebook would show it in red.
    said_in = sys.stdout if in_notebook() else sys.stderr
    said_in.write(f"The picture of {history.model_name} is in {path}\n")
    if drawing.file_format == "png" and picture.png_note:
        said_in.write(f"{picture.png_note}\n")
    if not drawing.save_only:
        if in_notebook():
            display_inline(picture)
            picture.shown_in_cell = current_cell()
        else:
            open_in_browser(Path(path).absolute().as_uri())
    return picture


def draw_history(history: ModelHistory, drawing: Drawing) -> Picture:
    with undisturbed():
        document = document_of(history)
        figures, title = figures_of(history, drawing.color_by)
    if figures is not None and all(figure is None for figure in figures):
        why = "no value was saved" if drawing.color_by == "zeros" else "it gave None for every op"
        warnings.warn(f"vis_color_by colours nothing: {why}.", stacklevel=3)
    return draw_document(document, drawing, figures, title)


def figures_of(history: ModelHistory, color_by: Any) -> tuple[Sequence[Figure] | None, str]:
    """One figure an op, for colours that the document alone does not give; and what they are."""
    if color_by == "zeros":
        return _shares_of_zeros(history), "share of zeros"
    if callable(color_by):
        ops = [Op(history, index) for index in range(history.num_tensors_total)]
        return [_asked(color_by, op) for op in ops], getattr(color_by, "__name__", "").strip("<>")
    return None, ""


def _shares_of_zeros(history: ModelHistory) -> list[float | None]:
    """None where there is no value to count in."""
    # Counted by torch alone: the figures that a page shows would take a histogram of every value too.
    values = (as_plain(history._saved_value(index)) for index in range(history.num_tensors_total))
    return [
        None if value is None or not value.numel() else 1 - torch.count_nonzero(value).item() / value.numel()
        for value in values
    ]


def _asked(color_by: Callable[[Op], Any], op: Op) -> Figure:
    try:
        figure = color_by(op)
    except Exception as error:
        error.add_note(f"torcheer: raised by vis_color_by for {op.layer_label}")
        raise
    if figure is None or isinstance(figure, str):
        return figure
    try:
        return float(figure)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"vis_color_by gave {figure!r} for {op.layer_label}: give a number, a colour such as '#ffcc00', "
            "or None."
        ) from None

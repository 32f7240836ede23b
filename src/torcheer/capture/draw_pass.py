"""Show a pass: a picture (`history.draw`, `tl.show_model_graph`) or a table by module (`tl.summary`)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import nn

from torcheer.capture.analysis.plain_values import as_plain
from torcheer.capture.inputs import check_model
from torcheer.capture.model_state import same_model_after, same_random_state_after, undisturbed
from torcheer.capture.op import Op
from torcheer.capture.to_document import document_of
from torcheer.desktop import current_cell, display_inline, in_notebook, open_in_browser
from torcheer.errors import InputError
from torcheer.graph import (
    Drawing,
    DrawingOptions,
    Figure,
    ModuleInfo,
    ModulePass,
    Picture,
    draw_document,
    format_table,
    read_options,
    readable_bytes,
    readable_count,
    readable_seconds,
)

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
    from torcheer.capture.forward_pass import log_forward_pass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleRow:
    """One module of a summary; its figures include what it contains."""

    address: str
    class_name: str
    depth: int
    num_passes: int
    output_shape: tuple[int, ...] | None
    num_params: int
    flops: int
    macs: int
    output_bytes: int  # of all ops inside
    seconds: float


class Summary:
    """Rows by module; `print(summary)` shows the table."""

    def __init__(self, model_name: str, rows: list[ModuleRow]) -> None:
        self.model_name = model_name
        self.rows = rows

    def __str__(self) -> str:
        titles = ["Module", "Class", "Output shape", "Params", "FLOPs", "MACs", "Memory", "Time"]
        cells = [
            [
                "  " * row.depth
                + (row.address.rpartition(".")[2] if row.depth else "")
                + (f" (×{row.num_passes})" if row.num_passes > 1 else ""),
                row.class_name,
                "–" if row.output_shape is None else "×".join(map(str, row.output_shape)) or "scalar",
                f"{row.num_params:,}" if row.num_params else "–",
                readable_count(row.flops),
                readable_count(row.macs),
                readable_bytes(row.output_bytes),
                readable_seconds(row.seconds) if row.num_passes else "not run",
            ]
            for row in self.rows
        ]
        cells[0][0] = self.model_name
        total = self.rows[0]
        foot = (
            f"{total.num_params:,} parameters, {readable_count(total.flops)} FLOPs "
            f"({readable_count(total.macs)} MACs), {readable_bytes(total.output_bytes)} of activations, "
            f"{readable_seconds(total.seconds)}"
        )
        return format_table(titles, cells, [False, False, *[True] * 6]) + "\n" + foot

    __repr__ = __str__


def summary(model: nn.Module, input_args: Any, input_kwargs: Mapping[str, Any] | None = None) -> Summary:
    """Run the model once and tabulate it by module: output shape, parameters, FLOPs, memory, time.

    Memory is the sum of all outputs inside a module, in-place ones too. Buffers and random generators are
    left as they were.
    """
    from torcheer.capture.forward_pass import log_forward_pass

    check_model(model)
    with same_model_after(model), same_random_state_after():
        history = log_forward_pass(model, input_args, input_kwargs, layers_to_save="none")
    return summarise(history)


def summarise(history: ModelHistory) -> Summary:
    ops = [Op(history, index) for index in range(history.num_tensors_total)]
    work = [op.work for op in ops]
    sizes = [op.tensor_fsize for op in ops]
    rows = [_row(info, work, sizes, ops) for info in history.module_tree.modules.values()]
    return Summary(history.model_name, rows)


def _row(info: ModuleInfo, work: list[Any], sizes: list[int], ops: list[Op]) -> ModuleRow:
    inside = [op for one in _outermost(info.passes) for op in range(one.first_op, one.first_op + one.num_ops)]
    outputs = info.passes[-1].output_ops if info.passes else ()
    return ModuleRow(
        address=info.address,
        class_name=info.class_name,
        depth=info.address.count(".") + 1 if info.address else 0,
        num_passes=info.num_passes,
        output_shape=ops[outputs[0]].tensor_shape if outputs else None,
        num_params=info.num_params,
        flops=sum(work[op].flops for op in inside if work[op] is not None),
        macs=sum(work[op].macs for op in inside if work[op] is not None),
        output_bytes=sum(sizes[op] for op in inside),
        seconds=sum(one.elapsed_seconds for one in _outermost(info.passes)),
    )


def _outermost(passes: tuple[ModulePass, ...]) -> list[ModulePass]:
    """Calls that do not lie inside another call of the same module."""
    found: list[ModulePass] = []
    end = -1
    for one in passes:
        if one.first_op >= end:
            found.append(one)
            end = one.first_op + one.num_ops
    return found

"""`log_forward_pass`, every operation of a forward pass in one line; and `summary`, a table by module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import nn

from torcheer.capture.analysis.edits import Edits, read_edits
from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import bind, check_model, input_tensors
from torcheer.capture.model_state import same_model_after
from torcheer.capture.model_walk import ModelWalk
from torcheer.capture.op import Op
from torcheer.capture.selection import Selection, ValueTreatment, select
from torcheer.capture.session import Order, capture
from torcheer.capture.torch_state import same_random_state_after, seed_everything
from torcheer.errors import InputError
from torcheer.graph import (
    ModuleInfo,
    ModulePass,
    format_table,
    readable_bytes,
    readable_count,
    readable_seconds,
)
from torcheer.models import unwrapped_model

if TYPE_CHECKING:
    from torcheer.graph import Drawing, DrawingOptions


_LEVELS = ("op", "aten")
_VIS_OPTIONS = ("none", "rolled", "unrolled")


def log_forward_pass(
    model: nn.Module,
    input_args: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    layers_to_save: Any = "all",
    keep_unsaved_layers: bool = True,
    output_device: str | torch.device = "same",
    activation_postfunc: Callable[[torch.Tensor], Any] | None = None,
    detach_saved_tensors: bool = False,
    save_function_args: bool = False,
    vis_opt: str = "none",
    random_seed: int | None = None,
    stop_after: int | str | None = None,
    save_gradients: Any = False,
    level: str = "op",
    edit: Edits | None = None,
    **drawing_options: Unpack[DrawingOptions],
) -> ModelHistory:
    """Run a forward pass and return every operation of it.

    - `model`: any `nn.Module`, as it is. Its result, random draws and buffers are those of a plain forward.
    - `input_args`, `input_kwargs`: what forward takes: a tensor, a list or tuple of arguments, a dict of
      named ones, nested as you like.
    - `layers_to_save`: `'all'`, `'none'`, a list of labels, module addresses, indices or parts of labels, or
      a function of an op. Only what is chosen is kept alive.
    - `keep_unsaved_layers`: False leaves ops without a saved value out of the listing.
    - `output_device`: where saved values go; `'same'` leaves them where they are.
    - `activation_postfunc`: applied to each value before it is kept.
    - `detach_saved_tensors`: True cuts saved values from the autograd graph.
    - `save_function_args`: keep the inputs of each saved op too.
    - `vis_opt`: `'rolled'` or `'unrolled'` also draws the pass; `vis_outpath`, `vis_nesting_depth`,
      `vis_direction` and the other options of `history.draw` say where and how.
    - `random_seed`: seeds torch, NumPy and Python before the pass, as if you had done so yourself.
    - `stop_after`: end the pass as soon as this layer is there.
    - `save_gradients`: True keeps, after any `backward()` through the pass, the gradient of every op; or
      name layers as in `layers_to_save`.
    - `level`: `'aten'` also records the ATen calls below each op and below each autograd node.
    - `edit`: `{layer: function}` replaces the output of a layer on its way by what the function makes of it.
      A list of pairs will do too, and a tensor in the place of a function.
    """
    check_model(model)
    drawing = _drawing_wanted(vis_opt, drawing_options)
    if level not in _LEVELS:
        raise InputError(f"level must be one of {', '.join(map(repr, _LEVELS))}, not {level!r}.")
    _check_options(input_kwargs, output_device, activation_postfunc, random_seed)
    call = bind(model, input_args, input_kwargs)
    walk = ModelWalk(unwrapped_model(model))
    inputs = [name for name, _ in input_tensors(walk.root, call)]
    save = select(layers_to_save, walk, inputs, "layers_to_save")
    stop = select(stop_after, walk, inputs, "stop_after")
    treatment = ValueTreatment(
        postfunc=activation_postfunc, detach=detach_saved_tensors, device=str(output_device)
    )
    if random_seed is not None:
        seed_everything(random_seed)
    order = Order(
        save=save,
        stop=stop,
        treatment=treatment,
        keep_arguments=save_function_args,
        keep_unsaved=keep_unsaved_layers,
        gradients=_gradients_wanted(save_gradients, walk, inputs),
        aten=level == "aten",
        edits=tuple(read_edits(edit, walk, inputs)),
    )
    history = capture(model, walk, order, call)
    if drawing is not None:
        from torcheer.capture.draw_pass import draw_and_show

        draw_and_show(history, drawing)
    return history


def _drawing_wanted(vis_opt: str, options: DrawingOptions) -> Drawing | None:
    """What is to be drawn, checked before the model runs; None for nothing."""
    if vis_opt not in _VIS_OPTIONS:
        raise InputError(f"vis_opt must be one of {', '.join(map(repr, _VIS_OPTIONS))}, not {vis_opt!r}.")
    if vis_opt == "none" and not options:
        return None
    from torcheer.graph import read_options

    drawing = read_options("unrolled" if vis_opt == "none" else vis_opt, options)
    if vis_opt == "none":
        text = f"{', '.join(options)}: nothing is drawn unless vis_opt is 'unrolled' or 'rolled'."
        warnings.warn(text, stacklevel=3)
        return None
    return drawing


def _gradients_wanted(save_gradients: Any, walk: ModelWalk, inputs: list[str]) -> Selection:
    if isinstance(save_gradients, bool) or save_gradients is None:
        return Selection(everything=bool(save_gradients))
    return select(save_gradients, walk, inputs, "save_gradients")


def _check_options(input_kwargs: Any, output_device: Any, activation_postfunc: Any, random_seed: Any) -> None:
    """Say what is wrong before the model runs."""
    if input_kwargs is not None and not isinstance(input_kwargs, Mapping):
        raise InputError(f"input_kwargs must be a dict of named arguments, not {input_kwargs!r}.")
    if activation_postfunc is not None and not callable(activation_postfunc):
        raise InputError(f"activation_postfunc must be a function of a tensor, not {activation_postfunc!r}.")
    if random_seed is not None and (isinstance(random_seed, bool) or not isinstance(random_seed, int)):
        raise InputError(f"random_seed must be a whole number, not {random_seed!r}.")
    if output_device != "same":
        try:
            torch.device(output_device)
        except RuntimeError as error:
            raise InputError(
                f"output_device must be 'same' or a device such as 'cpu' or 'cuda:0', not {output_device!r}."
            ) from error


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
                "  " * row.depth + (row.address.rpartition(".")[2] if row.depth else "") + _times(row),
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


def _times(row: ModuleRow) -> str:
    return f" (×{row.num_passes})" if row.num_passes > 1 else ""


def summary(model: nn.Module, input_args: Any, input_kwargs: Mapping[str, Any] | None = None) -> Summary:
    """Run the model once and tabulate it by module: output shape, parameters, FLOPs, memory, time.

    Memory is the sum of all outputs inside a module, in-place ones too. Buffers and random generators are
    left as they were.
    """
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

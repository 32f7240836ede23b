"""`summary`: a model as a table by module, from a real pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import check_model
from torcheer.capture.log import log_forward_pass
from torcheer.capture.op import Op
from torcheer.capture.state import same_model_after, same_random_state_after
from torcheer.graph import (
    ModuleInfo,
    ModulePass,
    format_table,
    readable_bytes,
    readable_count,
    readable_seconds,
)


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

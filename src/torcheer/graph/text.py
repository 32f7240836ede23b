"""A pass, its ops and tables as text: readable numbers, plain tables, rows that sort and print."""

from __future__ import annotations

import copy
import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

from torcheer.errors import InputError
from torcheer.graph.pass_structure import ModuleTree


def _in_units(value: float, step: int, units: Sequence[str]) -> tuple[float, str]:
    """The value in the first unit in which it is below a step, or in the last."""
    for unit in units[:-1]:
        if abs(value) < step:
            return value, unit
        value /= step
    return value, units[-1]


def readable_bytes(num_bytes: float) -> str:
    """`4.8 MB`: powers of 1024, one decimal."""
    size, unit = _in_units(float(num_bytes), 1024, ("B", "KB", "MB", "GB", "TB"))
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def readable_count(count: int | None) -> str:
    """`1.43 G`: powers of 1000, three digits; a dash for what is not defined."""
    if count is None:
        return "–"
    value, unit = _in_units(float(count), 1000, ("", "K", "M", "G", "T", "P"))
    return f"{value:.3g} {unit}" if unit else str(count)


def readable_seconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.0f} µs"


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(cells, widths, right, strict=True)
        ]
        return "  ".join(parts).rstrip()

    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([line(titles), rule, *(line(row) for row in rows), rule])


R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field of a row, and how it is shown."""

    name: str
    show: Callable[[Any], str] = str
    to_right: bool = True

    def text(self, row: Any) -> str:
        value = getattr(row, self.name)
        return "–" if value is None else self.show(value)


def number_text(value: float) -> str:
    """Four digits: `0.001235`, `1.2e+10`, `12`."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def share_text(value: float) -> str:
    """`12.5%`; a share that is not quite nothing, or not quite all, does not look so."""
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{min(max(value, 0.001), 0.999):.1%}"


def shape_text(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "scalar"


class RowTable(Generic[R]):
    """Rows in an order. `table[0]` is a row by its place, `table['relu_1']` one by name."""

    def __init__(
        self, rows: Sequence[R], columns: Sequence[Column], find: Callable[[str], R], foot: str = ""
    ) -> None:
        self.rows = tuple(rows)
        self._columns = tuple(columns)
        self._find = find
        self._foot = foot

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self._columns]

    def sort(self, column: str, *, descending: bool = False) -> Self:
        """The same rows in another order. Rows without a value, or with NaN, come last either way."""
        if column not in self.columns:
            raise InputError(f"there is no column {column!r} to sort by: {', '.join(self.columns)}.")
        known = [row for row in self.rows if not _is_missing(getattr(row, column))]
        missing = [row for row in self.rows if _is_missing(getattr(row, column))]
        known.sort(key=lambda row: getattr(row, column), reverse=descending)
        return self._with(known + missing)

    def where(self, keep: Callable[[R], bool]) -> Self:
        """Only the rows of which a function is true."""
        return self._with([row for row in self.rows if keep(row)])

    def head(self, num_rows: int = 10) -> Self:
        return self._with(self.rows[:num_rows])

    def _with(self, rows: Sequence[R]) -> Self:
        other = copy.copy(self)
        other.rows = tuple(rows)
        return other

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: int | str) -> R: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | str | slice) -> R | Self:
        if isinstance(key, str):
            return self._find(key)
        if isinstance(key, slice):
            return self._with(self.rows[key])
        return self.rows[key]

    def to_pandas(self) -> Any:
        """A data frame, one line a row. Needs pandas: `pip install torcheer[pandas]`."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("to_pandas needs pandas: pip install torcheer[pandas]") from error
        cells = [[getattr(row, name) for name in self.columns] for row in self.rows]
        return pandas.DataFrame(cells, columns=self.columns)

    def __str__(self) -> str:
        cells = [[column.text(row) for column in self._columns] for row in self.rows]
        text = format_table(self.columns, cells, [column.to_right for column in self._columns])
        return f"{text}\n{self._foot}" if self._foot else text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows>"

    def _repr_html_(self) -> str:
        sides = ["right" if column.to_right else "left" for column in self._columns]
        rows = ([column.text(row) for column in self._columns] for row in self.rows)
        return f"<div>{html_table(self.columns, rows, sides)}<p>{html.escape(self._foot)}</p></div>"


def html_table(titles: Sequence[str], rows: Iterable[Sequence[object]], sides: Sequence[str]) -> str:
    """A table that scrolls, for notebooks. `sides`: 'left' or 'right', one a column."""

    def line(tag: str, cells: Sequence[object]) -> str:
        aligned = zip(cells, sides, strict=True)
        texts = (
            f"<{tag} style='text-align:{side}'>{html.escape(str(cell))}</{tag}>" for cell, side in aligned
        )
        return f"<tr>{''.join(texts)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = f"<thead>{line('th', titles)}</thead>"
    return f"<div style='max-height:32em;overflow:auto'><table>{head}<tbody>{body}</tbody></table></div>"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


_ADDRESSES_A_LINE = 8


def describe_pass(history: Any) -> str:
    """The log of a pass, as `print(history)` shows it."""
    layers = [f"\t\t{number}: {label} " for number, label in enumerate(history.layer_labels)]
    hierarchy = _hierarchy_lines(history.module_tree)
    return "\n".join((*head_lines(history), *hierarchy, "\tLayers:", *layers))


def head_lines(history: Any) -> list[str]:
    tree, loops = history.module_tree, history.model_max_recurrent_loops
    kind = f"recurrent (at most {loops} loops)" if history.model_is_recurrent else "purely feedforward"
    branching = "with branching" if history.model_is_branching else "without branching"
    conditional = " and conditional (if-then) branching" if history.model_has_conditional_branching else ""
    structure = f"{kind}, {branching}{conditional}"
    lines = [
        f"Log of {history.model_name} forward pass:",
        f"\tModel structure: {structure}; {len(tree.addresses)} total modules.",
        f"\t{history.num_tensors_total} tensors ({readable_bytes(history.tensor_fsize_total)}) computed "
        f"in forward pass; {history.num_tensors_saved} tensors "
        f"({readable_bytes(history.tensor_fsize_saved)}) saved.",
        f"\t{history.total_param_tensors} parameter operations ({history.total_params} params total; "
        f"{readable_bytes(history.total_params_fsize)}).",
        f"\tRandom seed: {history.random_seed_used}",
        f"\tTime elapsed: {history.elapsed_time_total:.3f}s",
    ]
    if history.num_backward_passes:
        num_passes, num_grads = history.num_backward_passes, history.num_grads_saved
        lines.append(f"\tBackward passes: {num_passes}; gradients of {num_grads} tensors saved.")
    return lines + [f"\tNote: {note}" for note in history.notes]


def _hierarchy_lines(tree: ModuleTree) -> Iterable[str]:
    root = tree.modules.get("")
    if root is not None and root.children:
        yield "\tModule Hierarchy:"
        for address in root.children:
            yield from _module_lines(tree, address, level=0)


def _module_lines(tree: ModuleTree, address: str, level: int) -> Iterable[str]:
    indent = "\t\t" + "    " * level
    children = tree.modules[address].children
    if not children:
        yield indent + _with_passes(tree, address)
        return
    yield indent + _with_passes(tree, address) + ":"
    if any(tree.modules[child].children for child in children):
        for child in children:
            yield from _module_lines(tree, child, level + 1)
        return
    names = [_with_passes(tree, child) for child in children]
    for start in range(0, len(names), _ADDRESSES_A_LINE):
        end = ", " if start + _ADDRESSES_A_LINE < len(names) else ""
        yield indent + "    " + ", ".join(names[start : start + _ADDRESSES_A_LINE]) + end


def _with_passes(tree: ModuleTree, address: str) -> str:
    passes = tree.modules[address].num_passes
    return address if passes < 2 else f"{address} (×{passes})"


def describe_op(op: Any) -> str:
    """One op in full."""
    return "\n".join(
        [
            f"Layer {op.layer_label}:",
            *(f"\t{name}: {value}" for name, value in op_rows(op) if value not in ("", [], None)),
        ]
    )


def op_rows(op: Any) -> list[tuple[str, Any]]:
    """What is worth reading of an op, as (name, value)."""
    passes = f"pass {op.pass_num} of {op.layer_passes_total}" if op.layer_passes_total > 1 else ""
    shape = ", ".join(map(str, op.tensor_shape))
    params = "; ".join(f"{p.address} {p.shape}" for p in op.parent_params)
    rng = "drawn from the recorded random state" if op.func_rng_state is not None else ""
    line = op.source_line
    given = [*map(_short, op.func_args), *(f"{name}={_short(one)}" for name, one in op.func_kwargs.items())]
    return [
        ("Function", op.func_applied_name + (" (in place)" if op.function_is_inplace else "")),
        ("Pass", passes),
        (
            "Output",
            f"shape=({shape}), dtype={op.tensor_dtype}, device={op.tensor_device}, "
            f"size={op.tensor_fsize_nice}",
        ),
        ("Saved", "yes" if op.has_saved_activations else "no"),
        ("Values", _first_numbers(op.tensor_contents)),
        ("Edited by", ", ".join(op.edited_by)),
        ("Arguments", ", ".join(given)),
        ("Parameters", params),
        ("Random", rng),
        ("Autocast", ", ".join(f"{device}: {dtype}" for device, dtype in op.func_autocast_state.items())),
        ("Autograd node", op.grad_fn_name),
        ("Gradient", _first_numbers(op.grad_contents)),
        ("ATen calls", ", ".join(f"{call.name}.{call.overload}" for call in op.aten_calls)),
        ("Time", readable_seconds(op.func_time_elapsed) if op.func_time_elapsed else ""),
        (
            "Work",
            f"{readable_count(op.flops)} FLOPs, {readable_count(op.macs)} MACs"
            if op.flops is not None
            else "",
        ),
        ("Module", op.containing_module_origin),
        ("Inside functions", " > ".join(op.containing_functions)),
        ("Output of modules", ", ".join(op.modules_exited)),
        ("Name", op.input_output_address or op.buffer_address),
        ("Parents", ", ".join(op.parent_layers)),
        ("Children", ", ".join(op.child_layers)),
        ("Inputs that lead here", ", ".join(op.input_ancestors)),
        ("Distance from input", _distance(op.min_distance_from_input, op.max_distance_from_input)),
        ("Distance from output", _distance(op.min_distance_from_output, op.max_distance_from_output)),
        ("Source", str(line) if line is not None else ""),
    ]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    closing = {"[": "]", "(": ")", "{": "}"}.get(text[:1], "")
    return text if len(text) <= 60 else f"{text[:56]}…{closing}"


def _first_numbers(value: Any) -> str:
    if value is None or not hasattr(value, "detach"):
        return ""
    try:
        head = value.detach()
        while head.dim() and len(head) and head[0].numel() >= 6:
            head = head[0]  # to flatten all of an expanded tensor would be to copy it
        numbers = (head[:6] if head.dim() else head).flatten()[:6].tolist()
    except (RuntimeError, NotImplementedError, IndexError, TypeError):
        return ""
    text = ", ".join(f"{n:.4g}" if isinstance(n, float) else str(n) for n in numbers)
    return text + (", …" if value.numel() > 6 else "")


def _distance(low: int | None, high: int | None) -> str:
    if low is None:
        return ""
    return str(low) if low == high else f"{low} to {high}"


def pass_as_html(history: Any, rows: Iterable[Sequence[object]], columns: Sequence[str]) -> str:
    """A short head and a scrolling table, for notebooks."""
    head = "<br>".join(html.escape(line.strip()) for line in head_lines(history))
    return f"<div><p>{head}</p>{html_table(columns, rows, ['left'] * len(columns))}</div>"


SHAPE_ONLY = "shape-only: the pass ran on meta or fake tensors, which have shapes and no values."
NO_FIGURE = "there is no figure {name!r}: 'zeros' and 'nonfinite' are there."


def not_saved_reason(label: str) -> str:
    return f"not saved: capture with layers_to_save='all', or with {label!r} among layers_to_save."


def no_params_reason() -> str:
    return (
        "a saved pass has the shapes of parameters, not their values: write the page of the history that was "
        "captured, with to_html, to see them."
    )


def no_grad_reason(name: str, num_backward_passes: int) -> str:
    if not num_backward_passes:
        return "no gradients: capture with save_gradients=True then backward() or history.log_backward(loss)."
    return f"no gradient of {name} was kept: none reached it, or save_gradients did not ask for it."

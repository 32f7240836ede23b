"""A pass and its ops as text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from torcheer.graph.modules import ModuleTree
from torcheer.graph.sizes import readable_bytes, readable_count, readable_seconds

_ADDRESSES_A_LINE = 8


def describe_pass(history: Any) -> str:
    """The log of a pass, as `print(history)` shows it."""
    return "\n".join((*head_lines(history), *_hierarchy_lines(history.module_tree), *_layer_lines(history)))


def head_lines(history: Any) -> list[str]:
    tree = history.module_tree
    lines = [
        f"Log of {history.model_name} forward pass:",
        f"\tModel structure: {structure_words(history)}; {len(tree.addresses)} total modules.",
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


def structure_words(history: Any) -> str:
    loops = history.model_max_recurrent_loops
    kind = f"recurrent (at most {loops} loops)" if history.model_is_recurrent else "purely feedforward"
    branching = "with branching" if history.model_is_branching else "without branching"
    conditional = " and conditional (if-then) branching" if history.model_has_conditional_branching else ""
    return f"{kind}, {branching}{conditional}"


def _layer_lines(history: Any) -> Iterable[str]:
    yield "\tLayers:"
    for number, label in enumerate(history.layer_labels):
        yield f"\t\t{number}: {label} "


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
    return [
        ("Function", op.func_applied_name + (" (in place)" if op.function_is_inplace else "")),
        ("Pass", passes),
        (
            "Output",
            f"shape=({shape}), dtype={op.tensor_dtype}, device={op.tensor_device}, "
            f"size={op.tensor_fsize_nice}",
        ),
        ("Saved", "yes" if op.has_saved_activations else "no"),
        ("Values", sample_of(op)),
        ("Edited by", ", ".join(op.edited_by)),
        ("Arguments", _arguments(op)),
        ("Parameters", params),
        ("Random", rng),
        ("Autocast", ", ".join(f"{device}: {dtype}" for device, dtype in op.func_autocast_state.items())),
        ("Autograd node", op.grad_fn_name),
        ("Gradient", gradient_of(op)),
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


def _arguments(op: Any) -> str:
    parts = [_short(value) for value in op.func_args]
    parts += [f"{name}={_short(value)}" for name, value in op.func_kwargs.items()]
    return ", ".join(parts)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    closing = {"[": "]", "(": ")", "{": "}"}.get(text[:1], "")
    return text if len(text) <= 60 else f"{text[:56]}…{closing}"


def sample_of(op: Any) -> str:
    """The first few numbers of a saved tensor."""
    return _first_numbers(op.tensor_contents)


def gradient_of(op: Any) -> str:
    return _first_numbers(op.grad_contents)


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
    titles = "".join(f"<th style='text-align:left'>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left'>{html.escape(str(cell))}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return (
        f"<div><p>{head}</p><div style='max-height:24em;overflow:auto'>"
        f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


# --- why a value cannot be shown, in the same words for passes in memory and in files -----------------

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

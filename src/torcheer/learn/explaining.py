"""`tensor.explain()`: the lesson of a graph that a program has made, with its names and its lines."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from torcheer.autograd.engine import Node
from torcheer.errors import AutogradError, InputError
from torcheer.learn.document import Lesson
from torcheer.learn.lessons import lesson_of
from torcheer.learn.limits import shape_text
from torcheer.learn.naming import module_names, tensor_names
from torcheer.learn.sourcelines import SourceLines, assigned, source_lines
from torcheer.learn.values import Value, Values, new_nodes

_CHANGED: Final = "changed in place"  # as the engine says it
MAX_NODES: Final = 600  # ops and leaves: more than anybody steps through


def explain(
    tensor: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    names: Mapping[str, Any],
    title: str | None = None,
    open_browser: bool = True,
) -> str | None:
    """Show how the gradients of one number come about. With a path, one file is written that needs no other.

    Without, it shows in the notebook, if this is one, else in the browser. Returns where the file is.
    """
    if path is not None:
        _check_path(path)
    lesson = lesson_of_tensor(tensor, names, title)
    # The one call that points up: a page is made by the app, which stands above this room.
    page = importlib.import_module("torcheer.app")
    if path is not None:
        written: str = page.write_lesson_page(lesson, path)
        return written
    shown: str | None = page.show_lesson(lesson, open_browser=open_browser)
    return shown


def _check_path(path: Any) -> None:
    """Before anything is computed. What is no path at all is refused where files are written."""
    if not isinstance(path, str | os.PathLike):
        return
    name = os.fsdecode(path)
    if not name.lower().endswith((".html", ".htm")) and not os.path.isdir(name):
        example = f"{os.path.splitext(name)[0] or 'lesson'}.html"
        raise InputError(
            f"explain() writes a page, and a browser wants a name in .html for it, not {name!r}: "
            f"write explain({example!r})."
        )


def lesson_of_tensor(tensor: Any, names: Mapping[str, Any], title: str | None = None) -> Lesson:
    """The lesson, with what torch and differences say."""
    loss = _loss(tensor)
    nodes = new_nodes(loss, ())
    _check(nodes)
    source = source_lines(nodes)
    values = Values(module_names(names))
    for node in nodes:
        values.add_node(node, source.line_of(node))
    _name(values, names)
    _read_lines(values, nodes, source)
    notes = ["Hooks of tensors are not called here."] if any(node.hooks for node in nodes) else []
    value = values.of_node(loss)
    try:
        return lesson_of(
            values,
            value,
            title=title or (value.name if value.is_named else "An expression"),
            lines=source.lines,
            first_line=source.first_line,
            has_checks=True,
            notes=notes,
        )
    except AutogradError as error:
        if _CHANGED not in str(error):
            raise
        raise AutogradError(
            f"a tensor that led here was {_CHANGED} since, as an optimizer does with parameters: explain "
            "before the optimizer steps, or compute the loss anew and explain that."
        ) from error


def _loss(tensor: Any) -> Node:
    node: Node | None = getattr(tensor, "_node", None)
    if node is None:
        raise AutogradError(
            "this tensor was made of nothing that wants a gradient, so there is nothing to explain: call "
            "requires_grad_() on an input or a parameter before, and compute it outside of no_grad()."
        )
    if tensor.numel() != 1:
        raise AutogradError(
            f"explain() begins at one number, and this is a tensor of {shape_text(tuple(tensor.shape))}: "
            "explain its sum, x.sum().explain()."
        )
    if not node.value.is_floating_point() and node.value.numel():
        raise InputError(f"explain() is for floats, and this is a tensor of {node.value.dtype}.")
    return node


def _check(nodes: Sequence[Node]) -> None:
    """What cannot be shown is said before anything is computed."""
    if len(nodes) > MAX_NODES:
        raise InputError(
            f"{len(nodes):,} ops and parameters lead here, and a lesson has {MAX_NODES} at most: "
            "explain a smaller "
            "model, one item of the batch, or fewer steps of a loop."
        )
    for node in nodes:
        if node.refill is not None:
            node.refill()  # the part of a checkpoint is computed once more
    gone = [node for node in nodes if node.rule is not None and len(node.inputs) != len(node.parents)]
    if gone:
        raise AutogradError(
            f"backward() has let go of the values at {gone[-1]}, which are large: call explain() before "
            "backward(), "
            "or backward(retain_graph=True)."
        )


def _name(values: Values, names: Mapping[str, Any]) -> None:
    """By the variables of whoever asked; parameters by their module."""
    for name, tensor in tensor_names(names):
        values.name(tensor, name)
    for value in values.all:
        if value.kind == "constant" and value.is_named:
            value.kind = "input"


def _read_lines(values: Values, nodes: Sequence[Node], source: SourceLines) -> None:
    """The last op of a line is what the line is about: it has its text, and the name on its left."""
    ops = [node for node in nodes if node.rule is not None]
    for node, following in zip(ops, [*ops[1:], None], strict=True):
        if following is not None and following.place == node.place:
            continue
        value = values.of_node(node)
        name, text = assigned(source.text_of(value.line)) if value.line else ("", "")
        value.text = value.text or text
        if name and not value.is_named:
            _call(value, name)


def _call(value: Value, name: str) -> None:
    value.name, value.is_named = name, True

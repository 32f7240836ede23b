"""`tensor.explain()`: the lesson of a graph that a program has made, with its names and its lines."""

from __future__ import annotations

import ast
import importlib
import linecache
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, cast

from torch import Tensor

from torcheer.autograd import Node
from torcheer.errors import AutogradError, InputError
from torcheer.learn.expression_values import Values, new_nodes
from torcheer.learn.language import text_of
from torcheer.learn.lesson import lesson_of
from torcheer.learn.lesson_document import Lesson, shape_text

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
    lesson = lesson_of_tensor(tensor, names, title)
    # The one call that points up: a page is made by the app, which stands above this room.
    page = importlib.import_module("torcheer.app")
    if path is not None:
        return cast(str, page.write_lesson_page(lesson, path))
    return cast("str | None", page.show_lesson(lesson, open_browser=open_browser))


def lesson_of_tensor(tensor: Any, names: Mapping[str, Any], title: str | None = None) -> Lesson:
    """The lesson, with what torch and differences say."""
    loss = _loss(tensor)
    nodes = new_nodes(loss)
    _check(nodes)
    source = source_lines(nodes)
    values = Values(module_names(names))
    for node in nodes:
        values.add_node(node, source.line_of(node))
    for name, tensor in tensor_names(names):
        values.name(tensor, name)
    for value in values.all:
        value.kind = "input" if value.kind == "constant" and value.is_named else value.kind
    _read_lines(values, nodes, source)
    notes = ["Hooks of tensors are not called here."] if any(node.hooks for node in nodes) else []
    end = values.of_node(loss)
    try:
        return lesson_of(
            values,
            end,
            title=title or (end.name if end.is_named else "An expression"),
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
            f"{len(nodes):,} ops and parameters lead here, and a lesson has {MAX_NODES} at most: explain a "
            "smaller model, one item of the batch, or fewer steps of a loop."
        )
    for node in nodes:
        if node.refill is not None:
            node.refill()  # the part of a checkpoint is computed once more
    gone = [node for node in nodes if node.rule is not None and len(node.inputs) != len(node.parents)]
    if gone:
        raise AutogradError(
            f"backward() has let go of the values at {gone[-1]}, which are large: call explain() before "
            "backward(), or backward(retain_graph=True)."
        )


def _read_lines(values: Values, nodes: Sequence[Node], source: SourceLines) -> None:
    """The last op of a line is what the line is about: it has its text, and the name on its left."""
    ops = [node for node in nodes if node.rule is not None]
    for node, following in zip(ops, [*ops[1:], None], strict=True):
        if following is not None and following.place == node.place:
            continue
        value = values.of_node(node)
        name, text = assigned(source.text_of(value.line))
        value.text = value.text or text
        if name and not value.is_named:
            value.name, value.is_named = name, True


_MAX_NAMES: Final = 2000  # variables that are looked at
_MAX_PARTS: Final = 64  # of a list or a dictionary of tensors
_NO_SIGNS: Final = str.maketrans("", "", "{}\\")  # they would end a name in a formula


def tensor_names(variables: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Names and the tensors that have them: what is nearer first, variables before parameters of modules."""
    near = _nearest(variables)
    for name, value in near:
        if isinstance(value, Tensor):
            yield name, value
    for name, value in near:
        for part, tensor in _parts(value):
            yield f"{name}[{part}]".translate(_NO_SIGNS), tensor
    for address, module in _modules(near):
        for kind in ("named_parameters", "named_buffers"):
            for name, tensor in getattr(module, kind)():
                yield _joined(address, name), tensor


def module_names(variables: Mapping[str, Any]) -> dict[int, str]:
    """The addresses of all modules, by their identity."""
    found: dict[int, str] = {}
    for address, module in _modules(_nearest(variables)):
        for name, inner in module.named_modules():
            found.setdefault(id(inner), _joined(address, name))
    return found


def _nearest(variables: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """Locals were put after globals, so from the end. In a notebook, _ and _12 are results, not names."""
    own = [
        (name, value) for name, value in variables.items() if name.isidentifier() and not name.startswith("_")
    ]
    return own[::-1][:_MAX_NAMES]


def _parts(value: Any) -> Iterator[tuple[object, Tensor]]:
    if isinstance(value, list | tuple):
        items: Iterator[tuple[object, Any]] = enumerate(value[:_MAX_PARTS])
    elif isinstance(value, dict) and len(value) <= _MAX_PARTS:
        items = iter(value.items())
    else:
        return
    for part, tensor in items:
        if isinstance(tensor, Tensor):
            yield part, tensor


def _modules(near: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Those of ours and those of torch are alike in this. Within a method, `self` goes without saying."""
    for name, value in near:
        if isinstance(value, type | ModuleType | Tensor):
            continue
        if callable(getattr(type(value), "named_parameters", None)):
            yield ("" if name == "self" else name), value


def _joined(address: str, name: str) -> str:
    return ".".join(part for part in (address, name) if part).translate(_NO_SIGNS)


_MAX_LINES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLines:
    """A stretch of one file."""

    path: str
    lines: Sequence[str]
    first_line: int

    def line_of(self, node: Node) -> int:
        """The line of an op in the file, if it is one of these; else 0."""
        if node.place is None or node.place[0].co_filename != self.path:
            return 0
        line = node.place[1]
        return line if self.first_line <= line < self.first_line + len(self.lines) else 0

    def text_of(self, line: int) -> str:
        return self.lines[line - self.first_line].strip() if line else ""


def source_lines(nodes: Sequence[Node]) -> SourceLines:
    """The lines in which most of the ops stand, with those in between; of a long file, a part."""
    places = Counter((node.place[0].co_filename, node.place[1]) for node in nodes if node.place is not None)
    files = Counter[str]()
    for (path, _), count in places.items():
        files[path] += count
    for path, _ in files.most_common():
        written = linecache.getlines(path)
        lines = sorted(line for name, line in places if name == path and line <= len(written))
        if lines:
            # Where they are too far apart, as many as fit at the end.
            first = next(line for line in lines if line > lines[-1] - _MAX_LINES)
            shown = [text.rstrip("\n") for text in written[first - 1 : lines[-1]]]
            return SourceLines(path=path, lines=shown, first_line=first)
    return SourceLines(path="", lines=[], first_line=1)


def assigned(line: str) -> tuple[str, str]:
    """`h`, `relu(x)` of the line `h = relu(x)`; empty where it is something else, or a part of more."""
    try:
        tree = ast.parse(line.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ""
    statement = tree.body[0] if len(tree.body) == 1 else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else "", text_of(statement.value)
    if isinstance(statement, ast.Return | ast.Expr) and statement.value is not None:
        return "", text_of(statement.value)
    return "", ""

"""Find in source code what it takes from torch: names as `torch.exp`, whatever they are imported as."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def torch_uses(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of each use of something of torch's."""
    tree = ast.parse(source)
    names: dict[str, str] = {}  # what a name of the file stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.name.split(".")[0] == "torch":
                    names[one.asname or "torch"] = one.name if one.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
                yield node.lineno, f"{node.module}.{one.name}"
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            chain = _chain(node)
            if chain and chain[0] in names and names[chain[0]] != "torch.Tensor":
                yield node.lineno, ".".join([names[chain[0]], *chain[1:]])


def _chain(node: ast.expr) -> list[str]:
    """`a.b.c` as its three names; nothing if it begins with something else than a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def sources(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        yield str(path.relative_to(folder)), path.read_text()

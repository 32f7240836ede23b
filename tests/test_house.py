"""The rooms of the house: others come in by the door, and those that need no torch start without it."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import torch
from torch import nn

SOURCE: Final = Path(__file__).resolve().parents[1] / "src"
# Doors within a room: what users import by that name, and a part that is used as a whole.
INNER_DOORS: Final = frozenset(
    (
        "torcheer.autograd.nn",
        "torcheer.autograd.optim",
        "torcheer.features.analysis",
        "torcheer.netview.analysis",
        "torcheer.training.control",
        "torcheer.training.lightning",
        "torcheer.training.transformers",
    )
)
TORCH_FREE: Final = ("analysis", "app", "graph", "run", "tensorfile", "video")
# The readers of rooms that need torch to write.
READERS: Final = (
    "torcheer.features.journal",
    "torcheer.features.manifest",
    "torcheer.features.saved_features",
    "torcheer.features.stores",
    "torcheer.features.xarray_dataset",
    "torcheer.netview.analysis",
    "torcheer.netview.network_reader",
    "torcheer.netview.unit_weights",
)
_IMPORT_ALL: Final = """
import importlib, sys
sys.modules["torch"] = None  # as where it is not installed
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


@functools.cache
def nodes() -> dict[str, list[ast.AST]]:
    return {name: list(ast.walk(ast.parse(path.read_text()))) for name, path in modules()}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_rooms_import_each_other_by_the_door() -> None:
    inner = {name for name in nodes() if name.count(".") > 1} - INNER_DOORS
    past = {
        f"{name} imports {node.module}"
        for name, found in nodes().items()
        for node in found
        if isinstance(node, ast.ImportFrom) and node.module in inner
        if room_of(node.module) != room_of(name)
    }

    assert past == set()


def test_few_modules_have_a_single_importer_and_each_has_a_reason() -> None:
    """A name that comes through a door counts for the module behind it."""
    users: defaultdict[str, set[str]] = defaultdict(set)
    for name in nodes():
        for module, _ in imported_by(name):
            users[module].add(name)
    single = [
        name
        for name, path in modules()
        if path.name != "__init__.py" and len(users[name]) == 1 and name not in INNER_DOORS
    ]
    page = (SOURCE.parent / "docs" / "design" / "house.md").read_text()
    reasons = page.partition("## Modules with a single importer")[2]

    assert [name for name in single if not re.search(rf"\b{name.rpartition('.')[2]}\b", reasons)] == []
    assert len(single) <= 30


def imported_by(name: str, wanted: str = "") -> Iterator[tuple[str, str]]:
    """The modules that a module imports from, each with the name there; behind doors, those that have it."""
    for node in nodes()[name]:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("torcheer"):
            continue
        for alias in node.names:
            if wanted not in ("", alias.asname or alias.name):
                continue
            if (inner := f"{node.module}.{alias.name}") in nodes():
                yield inner, ""
            elif (SOURCE / node.module.replace(".", "/")).is_dir() and node.module != name:
                yield from imported_by(node.module, alias.name)
            elif node.module != name:
                yield node.module, alias.name


def test_rooms_without_torch_can_be_imported_where_it_is_missing() -> None:
    names = [name for name, _ in modules() if room_of(name) in TORCH_FREE]

    subprocess.run([sys.executable, "-c", _IMPORT_ALL, *names, *READERS], check=True, timeout=60)


def test_no_private_name_is_reached_across_a_wall() -> None:
    own: defaultdict[str, set[str]] = defaultdict(set)  # the private names that each room defines
    for name, found in nodes().items():
        own[room_of(name)] |= {made for node in found for made in _made_by(node) if _is_private(made)}
    of_others = {
        *dir(torch.Tensor),
        *dir(nn.Module()),
        *dir(torch._C),
        "_fields",
    }  # torch's, Python's
    everywhere = set[str]().union(*own.values()) - of_others
    others = {room: everywhere - names for room, names in own.items()}
    reached = {
        f"{name}:{node.lineno} reaches {ast.unparse(node)}"
        for name, found in nodes().items()
        for node in found
        if isinstance(node, ast.Attribute) and _is_private(node.attr)
        if node.attr in others[room_of(name)]
    }

    assert reached == set()


def _made_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")

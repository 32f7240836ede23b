"""The rooms of the house: others come in by the door, and those that need no torch start without it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parents[1] / "src"
# Doors within a room: what users import by that name, and a part that is used as a whole.
INNER_DOORS: Final = frozenset(
    (
        "torcheer.autograd.nn",
        "torcheer.autograd.optim",
        "torcheer.netview.analysis",
        "torcheer.training.control",
        "torcheer.training.lightning",
        "torcheer.training.transformers",
    )
)
TORCH_FREE: Final = ("analysis", "app", "graph", "run", "tensorfile", "video")
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


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_rooms_import_each_other_by_the_door() -> None:
    known = {name for name, _ in modules()}
    past = {
        f"{name} imports {node.module}"
        for name, path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in known - INNER_DOORS
        if node.module.count(".") > 1 and room_of(node.module) != room_of(name)
    }

    assert past == set()


def test_rooms_without_torch_can_be_imported_where_it_is_missing() -> None:
    names = [name for name, _ in modules() if room_of(name) in TORCH_FREE]

    subprocess.run([sys.executable, "-c", _IMPORT_ALL, *names], check=True, timeout=60)

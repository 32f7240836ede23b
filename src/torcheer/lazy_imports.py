"""Names of a package that are imported on first use.

A package's `__init__.py` lists its names once, as imports that a type checker sees:

    if TYPE_CHECKING:
        from torcheer.graph.document import PassDocument
    else:
        __getattr__, __dir__ = lazy_imports(__name__)

At run time the same lines tell where each name lives. So `import torcheer` imports no torch, and whoever
reads a run imports nothing that writes one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy_imports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package. They also provide its `__all__`."""
    homes: dict[str, str] = {}  # the module of each name; read when a name is first asked for
    module = sys.modules[package]

    def read_homes() -> dict[str, str]:
        if not homes:
            homes.update(_homes_in(module))
        return homes

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(name for name, home in read_homes().items() if home != package)
        home = None if name.startswith("__") else read_homes().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:  # `from torcheer import features`: a package of its own
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(home), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *read_homes()})

    return get, names


def _homes_in(module: Any) -> dict[str, str]:
    """Read which module each name comes from, in the imports for type checkers."""
    import ast  # slow to import, and most programs have it by then

    source = module.__loader__.get_source(module.__name__)
    checked = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    )
    return {
        alias.name: str(node.module)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

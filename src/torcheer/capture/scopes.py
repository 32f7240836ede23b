"""Say which module is running, so that ops can be placed in the tree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

from torcheer.capture.drill import is_scripted
from torcheer.graph import Site


class Scope:
    """One call of a module, or of a torch function that was opened up. Filled on the hot path."""

    __slots__ = (
        "address",
        "depth",
        "drill",
        "first_op",
        "func",
        "name",
        "num_ops",
        "outputs",
        "parent",
        "pass_num",
        "seconds",
        "site",
        "started",
    )

    def __init__(
        self, parent: Scope | None, address: str | None, name: str, site: Site, first_op: int
    ) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.address = address  # None for a function
        self.name = name  # class or function
        self.func: Any = None
        self.site = site
        self.pass_num = 1
        self.first_op = first_op
        self.num_ops = -1  # filled when it ends
        self.outputs: tuple[int, ...] = ()
        self.started = 0.0  # while it runs
        self.seconds = 0.0
        self.drill: ExitStack | None = None  # closed when a scripted module ends

    @property
    def is_module(self) -> bool:
        return self.address is not None

    def close(self, num_ops_now: int) -> None:
        if self.started:
            self.seconds = perf_counter() - self.started
            self.num_ops = num_ops_now - self.first_op
            self.started = 0.0

    def end(self, num_ops_now: int) -> int:
        """One past its last op, so far."""
        return num_ops_now if self.num_ops < 0 else self.first_op + self.num_ops

    def module(self) -> Scope:
        """The module call that this scope is, or lies in."""
        scope = self
        while scope.address is None and scope.parent is not None:
            scope = scope.parent
        return scope

    def chain(self) -> list[Scope]:
        """From the model itself down to this scope."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return scopes[::-1]


class _Muted(threading.local):
    depth = 0


_muted = _Muted()


@contextmanager
def muted() -> Iterator[None]:
    """While a function of the user's runs that is no part of the model, its modules are not recorded."""
    _muted.depth += 1
    try:
        yield
    finally:
        _muted.depth -= 1


def is_muted() -> bool:
    return _muted.depth > 0


class ModuleNames:
    """Addresses of modules, and how often each has run."""

    def __init__(self, address_of: dict[int, str]) -> None:
        self.address_of = dict(address_of)
        self.calls: dict[str, list[Scope]] = {}
        self._made: list[nn.Module] = []  # kept, so that an id stays its module's own

    def address(self, module: nn.Module) -> str:
        address = self.address_of.get(id(module))
        if address is None:
            # Made inside forward, or outside the model: it has no place in the tree.
            self._made.append(module)
            address = self.address_of[id(module)] = f"{type(module).__name__}#{len(self._made)}"
        return address

    def forget_modules(self) -> None:
        self.address_of.clear()
        self._made.clear()


@contextmanager
def module_hooks(enter: Callable[..., bool], leave: Callable[..., Any]) -> Iterator[None]:
    """Call `enter` before and `leave` after every module that runs.

    Where `enter` says that it took the module up, `leave` comes after the module's own hooks: what they put
    in the place of its output is what the rest of the model is given.
    """
    hooked: dict[int, tuple[nn.Module, RemovableHandle]] = {}  # kept, so that an id stays its module's own

    def enter_first(module: nn.Module, args: Any) -> None:
        took_up = enter(module, args)
        if took_up and module._forward_hooks and id(module) not in hooked and not is_scripted(module):
            hooked[id(module)] = module, module.register_forward_hook(leave, always_call=True)

    def leave_unless_hooked(module: nn.Module, args: Any, output: Any) -> Any:
        return None if id(module) in hooked else leave(module, args, output)

    # always_call: a forward that raises must still leave its module.
    handles = [
        register_module_forward_pre_hook(enter_first),
        register_module_forward_hook(leave_unless_hooked, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in (*handles, *(own for _, own in hooked.values())):
            handle.remove()

"""What a tracer has beside its operations: the attributes and methods of tensors that speak of gradients.

They have the names and the meaning that torch's users know, and look into our node, not torch's autograd.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self, cast

from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import AutogradError, InputError

if TYPE_CHECKING:
    from torcheer.autograd.engine import Node

_DATA: Final[Any] = Tensor.data  # torch's own attribute, beneath ours
_NO_GRADIENT: Final = "this tensor wants no gradient: x.requires_grad_() first."


class GradientAttributes(Tensor):
    """The part of a tracer that asks its node; see engine.py for the part that makes it."""

    _node: Node | None = None  # of a tensor that wants a gradient, or was made from one that does
    _resting: Node | None = None  # that of a leaf that has stopped wanting one, and may begin again

    @property
    def grad(self) -> Tensor | None:
        """What backward() has brought here so far; None before that. It adds up until it is set to None."""
        node = self._node or self._resting
        return None if node is None else node.grad

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None and gradient.shape != self.shape:
            raise InputError(
                f"a gradient of shape {tuple(gradient.shape)} for a tensor of {tuple(self.shape)}."
            )
        node = self._node or self._resting
        if node is not None:
            node.grad = gradient
        elif gradient is not None:
            raise InputError("this tensor wants no gradient: x.requires_grad_() first.")

    @property
    def grad_fn(self) -> Node | None:  # type: ignore[override]
        """Where it came from; None for a leaf."""
        return None if self.is_leaf else self._node

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Whether it was made by hand, not by an op that was remembered."""
        return self._node is None or self._node.rule is None

    @property
    def data(self) -> Tensor:
        """The same memory as an ordinary tensor; writing into it is not noticed."""
        with as_plain():
            return cast(Tensor, _DATA.__get__(self)).as_subclass(Tensor)

    @data.setter
    def data(self, value: Tensor) -> None:
        with as_plain():
            _DATA.__set__(self, value)
            if self._node is not None:
                self._node.value = self.data

    def detach(self) -> Self:
        """The same values, of which nobody knows where they came from."""
        with as_plain():
            return Tensor._make_subclass(type(self), self)

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor, too, when the walk back comes by."""
        if self._node is None:
            raise AutogradError(
                "this tensor wants no gradient, so there is none to keep: x.requires_grad_() first."
            )
        self._node.keeps_grad = True

    @property
    def retains_grad(self) -> bool:  # type: ignore[override]
        """Whether a computed tensor keeps its gradient."""
        return not self.is_leaf and self._node is not None and self._node.keeps_grad

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call it with the gradient of this tensor when that is known; what it returns takes its place."""
        if self._node is None:
            raise AutogradError(
                "this tensor wants no gradient, so no hook is ever called: x.requires_grad_() first."
            )
        if self._node.hooks is None:
            self._node.hooks = []
        return Hook(self._node.hooks, hook)

    def explain(self, path: Any = None, **options: Any) -> Any:
        """Show how the gradients of this number come about, step by step, as a page; or write it to `path`.

        Names of tensors are those of the variables where this is called.
        """
        # The one call that points up: the page of a lesson stands above the engine.
        learning = importlib.import_module("torcheer.learn.explaining")
        caller = sys._getframe(1)
        return learning.explain(self, path, names={**caller.f_globals, **caller.f_locals}, **options)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        with as_plain():
            inside = repr(self.data)
        start = inside.index("(") + 1
        if self._node is None:
            of_graph = ""
        else:
            of_graph = ", requires_grad=True" if self.is_leaf else f", grad_fn={self._node}"
        return f"{type(self).__name__}({inside[start:-1]}{of_graph})"

    def __format__(self, spec: str) -> str:
        # torch writes a single number as a number, but only one of its own class.
        if self.dim() == 0:
            return format(self.item(), spec)
        return format(str(self), spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if not self.is_leaf:
            raise AutogradError("only leaves can be copied with all that they are: use x.detach().clone().")
        if id(self) not in memo:
            with as_plain():
                copied = Tensor._make_subclass(type(self), self.data.clone())
            if self._node is not None:
                copied.requires_grad_()
                copied.grad = None if self.grad is None else self.grad.clone()
            memo[id(self)] = copied
        return cast(Self, memo[id(self)])

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise AutogradError("a graph cannot be stored: use x.detach() to store the values.")
        return _again, (type(self), self.data, self._node is not None)


class Hook:
    """A function that is called with a gradient, until it is removed."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


def _again(kind: type[Tensor], value: Tensor, requires_grad: bool) -> Tensor:
    with as_plain():
        made = Tensor._make_subclass(kind, value)
    return made.requires_grad_(requires_grad)

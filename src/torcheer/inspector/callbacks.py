"""What of the user's own runs in the child: a function for each tensor, and one for the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torcheer.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """`on_run(name, step, tensor)` for each tensor that is seen, `on_closing()` when nothing more comes.

    Both are handed over together: two methods of one object are methods of one object there, too.
    """

    on_run: Callable[[str, int, Tensor], object] | None = None
    on_closing: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        for name in ("on_run", "on_closing"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise InputError(f"{name} is a {type(value).__name__}: give a function, or None.")

    @property
    def is_empty(self) -> bool:
        return self.on_run is None and self.on_closing is None

"""One number out of whatever holds one."""

from __future__ import annotations

import numbers
from typing import Any

from torcheer.errors import InputError


def single_number(value: Any) -> Any:
    """A number as it is; of a tensor or an array with one element, that element, still where it is."""
    if isinstance(value, numbers.Number) and (
        isinstance(value, numbers.Real) or not isinstance(value, numbers.Complex)
    ):
        return value
    size = getattr(value, "numel", None)
    count = size() if callable(size) else getattr(value, "size", None)
    if count == 1 and hasattr(value, "reshape"):
        return (value.detach() if hasattr(value, "detach") else value).reshape(())
    if count is not None and hasattr(value, "shape"):
        raise InputError(f"shape {tuple(value.shape)} is no single number: log x.mean(), or use add_tensor.")
    raise InputError(f"a {type(value).__name__} is no number: use add_text for text.")

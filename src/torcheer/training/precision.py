"""Half precision where it is enough: autocast, and the scaler that float16 needs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from torcheer.errors import InputError

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """In what precision the forward pass runs. The weights stay as they are."""

    def __init__(self, autocast: str | torch.dtype | None, device: torch.device) -> None:
        self.autocast: AbstractContextManager[object] = nullcontext()
        self.is_half = autocast is not None
        self.scaler: torch.amp.GradScaler | None = None
        if autocast is None:
            return
        dtype = _DTYPES.get(autocast) if isinstance(autocast, str) else autocast
        if dtype not in _DTYPES.values():
            raise InputError(f"autocast={autocast!r}: give 'bfloat16', 'float16' or None.")
        if not torch.amp.is_autocast_available(device.type):
            raise InputError(
                f"autocast={autocast!r}: torch has no autocast on {device.type!r}, so leave it out there."
            )
        self.autocast = torch.autocast(device.type, dtype=dtype)
        if dtype == torch.float16:
            # Its small gradients would vanish: the loss is made larger, and the gradients smaller again.
            self.scaler = torch.amp.GradScaler(device.type)

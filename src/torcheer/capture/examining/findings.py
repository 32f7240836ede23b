"""What a search for faults finds: the fault, and the ranges of what led to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch

from torcheer.capture.examining.readable import as_plain, chunks
from torcheer.graph import SourceLine, number_text, shape_text

if TYPE_CHECKING:
    from torcheer.capture.op import Op

What = Literal["nan", "inf"]
Origin = Literal["op", "input", "buffer", "source", "parameter", "memory", "loss", "between", "unseen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The numbers that a tensor holds, from the smallest to the largest finite one."""

    name: str  # a label, a parameter's address, or 'gradient of …'
    shape: tuple[int, ...]
    min: float | None  # of complex numbers the magnitude; None where nothing finite was seen
    max: float | None
    num_nan: int
    num_inf: int
    is_seen: bool  # False where the value was not saved

    @property
    def is_finite(self) -> bool:
        return not self.num_nan and not self.num_inf

    def __str__(self) -> str:
        if not self.is_seen:
            return f"{self.name} ({shape_text(self.shape)}): not saved"
        parts = []
        if self.min is not None and self.max is not None:
            parts.append(f"{number_text(self.min)} to {number_text(self.max)}")
        parts += [
            f"{count} {what}" for count, what in ((self.num_nan, "NaN"), (self.num_inf, "Inf")) if count
        ]
        return f"{self.name} ({shape_text(self.shape)}): {', '.join(parts) or 'empty'}"


def range_of(name: str, value: Any, shape: tuple[int, ...] = ()) -> Range:
    plain = as_plain(value)
    if plain is None:
        return Range(name=name, shape=shape, min=None, max=None, num_nan=0, num_inf=0, is_seen=False)
    lows, highs, num_nan, num_inf = [], [], 0, 0
    for part, times in chunks(plain):
        nan, inf = torch.isnan(part), torch.isinf(part)
        num_nan += times * int(nan.sum())
        num_inf += times * int(inf.sum())
        finite = (part.abs() if part.is_complex() else part)[~(nan | inf)]
        if finite.numel():
            lows.append(finite.min().item())
            highs.append(finite.max().item())
    return Range(
        name=name,
        shape=shape if value.is_nested else tuple(value.shape),
        min=min(lows, default=None),
        max=max(highs, default=None),
        num_nan=num_nan,
        num_inf=num_inf,
        is_seen=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Where the first NaN or Inf of a pass came from."""

    layer: str
    what: What
    phase: Literal["forward", "backward"]
    origin: Origin  # 'op': it was made here; else what it came in with
    name: str  # of the tensor that holds it: a label, a parameter's address, 'gradient of …'
    num_nan: int  # in that tensor
    num_inf: int
    num_values: int
    module: str  # the module in whose forward the op ran; "" for the model itself
    source_line: SourceLine | None
    inputs: tuple[Range, ...]
    num_unseen: int = 0  # ops that could not be looked at, since their values were not saved
    # Some of it, or what came of it, is in what the model returned; of a fault in backward, in the gradient
    # of a parameter or of an input.
    reaches_output: bool = True
    later: tuple[str, ...] = ()  # other layers that made NaN or Inf, forward or backward, or came in with it
    note: str = ""
    op: Op = field(repr=False, compare=False)

    @property
    def count(self) -> int:
        """How many elements are NaN, or Inf, whichever the fault is."""
        return self.num_nan if self.what == "nan" else self.num_inf

    def __str__(self) -> str:
        lines = [self._head()]
        if self.module:
            lines.append(f"    module  {self.module}")
        if self.source_line is not None:
            lines.append(f"    source  {self.source_line}")
        for number, one in enumerate(self.inputs):
            lines.append(f"    {'inputs' if number == 0 else '      '}  {one}")
        return "\n".join(lines + [f"    note    {note}" for note in self._notes()])

    def _notes(self) -> list[str]:
        notes = [self.note] if self.note else []
        if self.phase == "forward" and not self.reaches_output and self.origin != "parameter":
            notes.append("it does not reach an output: later ops leave it out")
        if self.phase == "backward" and not self.reaches_output:
            notes.append("it reaches no gradient of a parameter or of an input: later steps leave it out")
        if self.later:
            more = f" and {len(self.later) - 5} more" if len(self.later) > 5 else ""
            how = "made anew, later," if self.phase == "forward" else "made elsewhere, too,"
            notes.append(f"{how} by {', '.join(self.later[:5])}{more}")
        if self.num_unseen:
            notes.append(f"{self.num_unseen} ops could not be looked at: their values were not saved")
        return notes

    def _head(self) -> str:
        what = "NaN" if self.what == "nan" else "Inf"
        counts = [f"{self.count} of {self.num_values} elements"]
        if self.what == "nan" and self.num_inf:
            counts.append(f"and {self.num_inf} Inf")
        return f"{what} {self._came()}: {' '.join(counts)}."

    def _came(self) -> str:
        if self.origin == "op" and self.phase == "backward":
            return f"made by the backward of {self.layer}, in the {self.name}"
        if self.origin == "op":
            return f"made by {self.layer}"
        if self.origin == "between":
            return (
                f"came in between, in the {self.name}: those of all ops that read it are finite, so that a "
                "hook, the backward of a custom Function or a loss on this layer made it"
            )
        if self.origin == "loss":
            return f"came in with the loss, in the {self.name}"
        if self.origin == "unseen":
            return f"first seen in the {self.name}; the gradients after it were not saved"
        if self.origin == "parameter":
            return f"came in with the parameter {self.name}, first used by {self.layer}"
        if self.origin == "memory":
            return f"came from memory that was never written, read by {self.layer}"
        held = "" if self.name == self.layer else f" ({self.name})"
        return f"came in with {self.layer}{held}"

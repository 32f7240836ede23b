"""Numbers as they stand in a sentence: four digits, and a true minus sign as in cells. No torch in here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

MINUS: Final = "\N{MINUS SIGN}"
MAX_NUMBERS: Final = 16  # of a tensor in a line


def digits(value: float) -> str:
    """−1.234; whole numbers in full."""
    text = str(value) if isinstance(value, int) else f"{value + 0.0:.4g}"  # -0.0 is 0.0
    return text.replace("-", MINUS)


def numbers_text(values: Sequence[float], shape: Sequence[int]) -> str:
    """The numbers of a tensor in one line, a bracket for each row; of a large one, the first."""
    texts = [digits(one) for one in values[:MAX_NUMBERS]]
    is_whole = len(texts) == math.prod(shape)
    if len(shape) < 2 or not is_whole or not texts:
        return ", ".join(texts if is_whole else [*texts, "…"])
    across = shape[-1]
    rows = [texts[start : start + across] for start in range(0, len(texts), across)]
    return ", ".join(f"[{', '.join(row)}]" for row in rows)

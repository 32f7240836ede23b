"""Which of the numbers that a training gives is a loss: by its name."""

from __future__ import annotations

import re

_LOSS = re.compile(r"(?:^|[^a-z])(?:[a-z]*loss|losses|nll|cost|objective|perplexity)(?![a-z])")
_LONGEST = 1000


def is_loss(name: str) -> bool:
    """train/loss, trainLoss, val_loss_2 and nll, but not lossless."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:_LONGEST]).lower()
    return _LOSS.search(parted) is not None

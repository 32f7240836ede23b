"""Which scalars people look at first: the loss of a training, then its accuracy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORDS = re.compile(r"f1|top[0-9]|[a-z]+|[0-9]+")
_LONGEST = 1000
OUR_NUMBERS = "watch/"
_LOSS = frozenset(("loss", "losses", "nll", "cost", "objective", "perplexity"))
_ACCURACY = frozenset(
    ("acc", "accuracy", "f1", "auc", "map", "iou", "precision", "recall", "top1", "top5", "score")
)
_TRAINING = frozenset(("train", "training", "fit"))
_ASIDE = frozenset(("val", "valid", "validation", "test", "eval", "evaluation", "dev", "aux", "auxiliary"))
_FINE = frozenset(("step", "batch", "iter", "iteration", "epoch", "total", "all"))


def loss_of(names: Iterable[str]) -> str:
    """The scalar that looks most like the loss of a training; empty where none looks like a loss."""
    ranked = sorted((_loss_rank(name), index, name) for index, name in enumerate(names) if is_loss(name))
    return ranked[0][2] if ranked else ""


def looked_at_first(names: Iterable[str]) -> Sequence[str]:
    """Losses, then accuracies, then the rest, each in the order given; what a watcher says of itself last."""
    return sorted(names, key=_group)


def is_loss(name: str) -> bool:
    return not is_of_watcher(name) and not _LOSS.isdisjoint(_words(name))


def is_of_watcher(name: str) -> bool:
    """Whether a watcher says it of itself, such as its cost: nothing that a training is judged by."""
    return name.startswith(OUR_NUMBERS)


def _words(name: str) -> list[str]:
    # trainLoss and trainloss are two words, as train_loss is.
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:_LONGEST]).lower()
    return _WORDS.findall(re.sub(r"loss(?![a-z])", " loss ", parted))


def _group(name: str) -> int:
    if is_of_watcher(name):
        return 3
    words = _words(name)
    if not _LOSS.isdisjoint(words):
        return 0
    return 1 if not _ACCURACY.isdisjoint(words) else 2


def _loss_rank(name: str) -> tuple[int, int]:
    """The lower the better: is it a loss, of training rather than of a test, and of nothing in particular."""
    words = _words(name)
    if "loss" not in words:
        return 2, 0
    others = [word for word in words if word not in _TRAINING | _FINE and word != "loss"]
    if not _ASIDE.isdisjoint(words):
        return 1, len(others)
    is_training = not _TRAINING.isdisjoint(words)
    return 0, 2 * len(others) - (1 if is_training else 0)

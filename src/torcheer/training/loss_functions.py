"""What a loss is: a function of outputs and targets, or something that the model computes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from torch import Tensor, nn

from torcheer.errors import InputError

LossFunction = Callable[[Any, Any], Tensor]
LossKind = Literal["classes", "logits", "probabilities", "distance"]

# What a loss of torch's says about the outputs that it is given.
_KINDS: dict[LossKind, tuple[tuple[type[nn.Module], ...], tuple[str, ...]]] = {
    "classes": (
        (nn.CrossEntropyLoss, nn.NLLLoss, nn.MultiMarginLoss),
        ("cross_entropy", "nll_loss", "multi_margin_loss"),
    ),
    "logits": ((nn.BCEWithLogitsLoss,), ("binary_cross_entropy_with_logits",)),
    "probabilities": ((nn.BCELoss,), ("binary_cross_entropy",)),
    "distance": (
        (nn.MSELoss, nn.L1Loss, nn.SmoothL1Loss, nn.HuberLoss, nn.PoissonNLLLoss, nn.GaussianNLLLoss),
        ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss"),
    ),
}


def checked_function(loss: Any) -> LossFunction | None:
    """A function of outputs and targets, or None where the model computes its loss."""
    if isinstance(loss, type):
        name = str(loss.__name__)
        made = f"nn.{name}()" if getattr(nn, name, None) is loss else f"{name}()"
        raise InputError(f"the loss {name} is a class: give an object: {made}.")
    if loss is None or callable(loss):
        return loss  # type: ignore[no-any-return]
    what = f"{loss!r}" if isinstance(loss, str) else f"a {type(loss).__name__}"
    raise InputError(f"loss is {what}: give a function of outputs and targets, such as F.cross_entropy.")


def loss_in(outputs: Any) -> Any:
    """The loss that a model computed itself: `.loss`, what is named so, the first of several, or all."""
    if isinstance(outputs, Tensor):
        return outputs
    found = getattr(outputs, "loss", None)
    if found is None and isinstance(outputs, Mapping):
        found = outputs.get("loss")
    if found is None and isinstance(outputs, tuple | list) and outputs:
        found = outputs[0]
    if found is None:
        raise InputError(
            f"the model gives a {type(outputs).__name__} without a loss: give loss=..., a function of "
            "outputs and targets; or, where the model computes it, put targets into the batch as 'labels'."
        )
    return found


def check_loss(loss: Any) -> None:
    """Refuse what is not one number that the weights can be changed by."""
    if not isinstance(loss, Tensor):
        raise InputError(f"the loss is a {type(loss).__name__}: return a tensor of one number.")
    if loss.ndim and loss.numel() != 1:
        raise InputError(f"the loss has shape {tuple(loss.shape)}, and one number is wanted: take its mean.")
    if not loss.requires_grad:
        raise InputError(
            "the loss does not depend on any weight that is trained: the weights are frozen, or something on "
            "the way cuts the history (.detach(), .item(), torch.no_grad(), argmax)."
        )


def name_of(loss: LossFunction | None) -> str:
    """What to call it: `CrossEntropyLoss`, `cross_entropy`."""
    if loss is None:
        return "of the model"
    return getattr(loss, "__name__", None) or type(loss).__name__


def kind_of(loss: LossFunction | None) -> LossKind | None:
    """What the loss says about the outputs; None where it is no loss of torch's."""
    loss = getattr(loss, "func", loss)  # of a partial
    for kind, (modules, names) in _KINDS.items():
        if isinstance(loss, modules) or getattr(loss, "__name__", None) in names:
            return kind
    return None


def is_sum(loss: LossFunction | None) -> bool:
    """Whether it is the sum over the items of a batch, and not their mean."""
    keywords = getattr(loss, "keywords", {})
    return (keywords.get("reduction") or getattr(loss, "reduction", "mean")) == "sum"

"""Check what a training is given: model, loaders, optimizer, loss. Each error says what to do.

Step its scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CyclicLR, OneCycleLR, ReduceLROnPlateau
from torch.utils.data import Dataset

from torcheer.errors import InputError


def checked_model(model: Any) -> nn.Module:
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise InputError(f"the model {model.__name__} is a class: give an object, {model.__name__}(...).")
    if not isinstance(model, nn.Module):
        raise InputError(f"the model is a {type(model).__name__}: give a torch.nn.Module.")
    if any(isinstance(parameter, UninitializedParameter) for parameter in model.parameters()):
        raise InputError(
            "the model has lazy layers whose weights have no shape yet: run it once on a batch, and make the "
            "optimizer after that."
        )
    return model


def checked_loader(loader: Any, name: str, *, num_passes: int) -> Any:
    """Something that gives batches, as often as it is asked to."""
    if isinstance(loader, Dataset):
        raise InputError(
            f"{name} is a data set, and gives single items: put it into a loader that makes batches of them, "
            "torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)."
        )
    is_pair = isinstance(loader, tuple) and any(isinstance(part, Tensor) for part in loader)
    if isinstance(loader, Tensor | dict) or is_pair:
        raise InputError(
            f"{name} is the data themselves: give batches, such as [(inputs, targets)] for all of them in "
            "one, or DataLoader(TensorDataset(inputs, targets), batch_size=32, shuffle=True)."
        )
    if not isinstance(loader, Iterable) and not hasattr(loader, "__getitem__"):
        raise InputError(f"{name} is a {type(loader).__name__}: give a DataLoader, or a list of batches.")
    if num_passes > 1 and hasattr(loader, "__next__"):
        raise InputError(
            f"{name} is a {type(loader).__name__}, which is used up after one pass, and {num_passes} are "
            "wanted: give a DataLoader, or a list of batches."
        )
    if num_batches_of(loader) == 0:
        raise InputError(
            f"{name} has no batches: its data set is empty, or smaller than a batch with drop_last=True."
        )
    return loader


def num_batches_of(loader: Any) -> int | None:
    """None where the loader does not know."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def optimizer_of(given: Any, model: nn.Module) -> Optimizer:
    """An optimizer as it is, or what a function makes of the parameters of the model."""
    own = {id(parameter) for parameter in model.parameters()}
    if not own:
        raise InputError("the model has no parameters, so there is nothing to train.")
    is_made = callable(given) and not hasattr(given, "param_groups")
    optimizer = given(model.parameters()) if is_made else given
    if not all(hasattr(optimizer, name) for name in ("step", "zero_grad", "param_groups")):
        what = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
        raise InputError(
            f"optimizer is {what}: give an optimizer, or a function that makes one of parameters, such as "
            "torch.optim.Adam or functools.partial(torch.optim.SGD, lr=0.1)."
        )
    held = [one for group in optimizer.param_groups for one in group["params"]]
    if not any(id(one) in own for one in held):
        raise InputError(
            "the optimizer has none of the model's parameters: it was made for another model, or before "
            "the model was changed. Make it with this model's parameters()."
        )
    if not any(one.requires_grad for one in held):
        raise InputError(
            f"all {len(held)} parameters of the optimizer are frozen: set requires_grad of some to True."
        )
    return optimizer  # type: ignore[no-any-return]


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


#     scheduler=StepLR(optimizer, 10)                                    after each epoch
#     scheduler=OneCycleLR(optimizer, 0.1, total_steps=1000)             after each step: it is made for that
#     scheduler=tl.by_step(CosineAnnealingLR(optimizer, 1000))           after each step: you say so
#     scheduler=tl.by_epoch(ReduceLROnPlateau(optimizer), "test/loss")   by what became of a figure
#
# Where `fit` makes the optimizer, the scheduler is a function of it:
# `lambda optimizer: StepLR(optimizer, 10)`.

_BY_STEP = (OneCycleLR, CyclicLR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A scheduler, and when it is stepped."""

    scheduler: Any
    is_by_step: bool
    metric: str | None = None  # a figure of the epoch that it looks at


def by_step(scheduler: Any) -> Schedule:
    """Step it whenever the weights were changed, and not once an epoch."""
    if isinstance(scheduler, ReduceLROnPlateau):
        raise InputError("a plateau looks at a figure of an epoch: tl.by_epoch(scheduler, 'test/loss').")
    return Schedule(scheduler=scheduler, is_by_step=True)


def by_epoch(scheduler: Any, metric: str | None = None) -> Schedule:
    """Step it after each epoch; `metric` is the figure that a ReduceLROnPlateau looks at: "test/accuracy"."""
    return Schedule(scheduler=scheduler, is_by_step=False, metric=metric)


class Scheduling:
    """The scheduler of a training, stepped at the right times."""

    def __init__(self, given: Any, optimizer: Optimizer, figures: Sequence[str]) -> None:
        """`figures`: those that an epoch will have."""
        made = _made(given, optimizer)
        is_said = isinstance(made, Schedule)
        self.scheduler = _made(made.scheduler, optimizer) if is_said else made
        if self.scheduler is not None:
            _check_scheduler(self.scheduler, optimizer)
        self.is_by_step = made.is_by_step if is_said else isinstance(self.scheduler, _BY_STEP)
        self.metric: str | None = None  # the figure of an epoch that it looks at
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.metric = _looked_at(self.scheduler, made.metric if is_said else None, figures)

    def after_step(self, did_step: bool) -> None:
        """`did_step`: whether the weights were changed."""
        if did_step and self.is_by_step:
            self.scheduler.step()

    def after_epoch(self, values: Mapping[str, float]) -> None:
        if self.scheduler is None or self.is_by_step:
            return
        if self.metric is None:
            self.scheduler.step()
        else:
            self.scheduler.step(values[self.metric])


def _looked_at(scheduler: ReduceLROnPlateau, metric: str | None, figures: Sequence[str]) -> str:
    """The figure that decides whether it goes on getting better."""
    if metric is None:
        metric = "test/loss" if "test/loss" in figures else "train/loss"
        if scheduler.mode == "max":
            raise InputError(
                f"a ReduceLROnPlateau with mode='max' cannot look at {metric!r}, which should fall: say what "
                "it looks at, scheduler=tl.by_epoch(scheduler, 'test/accuracy')."
            )
    if metric not in figures:
        raise InputError(
            f"the scheduler looks at {metric!r}, and an epoch has {', '.join(figures)}: name one of these in "
            "tl.by_epoch(scheduler, ...)."
        )
    return metric


def _made(given: Any, optimizer: Optimizer) -> Any:
    """What a function makes of the optimizer; anything else as it is."""
    return given(optimizer) if callable(given) and not hasattr(given, "step") else given


def _check_scheduler(given: Any, optimizer: Optimizer) -> None:
    if isinstance(given, type) or not callable(getattr(given, "step", None)):
        raise InputError(
            f"scheduler is a {type(given).__name__}: give one of torch.optim.lr_scheduler, made with the "
            "optimizer, or a function of the optimizer that makes one."
        )
    if getattr(given, "optimizer", optimizer) is not optimizer:
        raise InputError("the scheduler was made for another optimizer: make it with the one given here.")

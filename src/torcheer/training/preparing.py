"""Check what a training is given, before anything is begun: each mistake with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.optim import Optimizer
from torch.utils.data import Dataset

from torcheer.errors import InputError


def checked_model(model: Any) -> nn.Module:
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise InputError(
            f"the model {model.__name__} is a class: give an object of it, {model.__name__}(...)."
        )
    if not isinstance(model, nn.Module):
        raise InputError(f"the model is a {type(model).__name__}: give a torch.nn.Module.")
    if any(isinstance(parameter, UninitializedParameter) for parameter in model.parameters()):
        raise InputError(
            "the model has lazy layers whose weights have no shape yet: run it once on a batch, and make the "
            "optimizer after that."
        )
    return model


def checked_epochs(epochs: Any) -> int:
    if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 0:
        raise InputError(f"epochs={epochs!r}: give a whole number, 0 or more.")
    return epochs


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
    if isinstance(given, list | tuple | dict):
        raise InputError(
            f"optimizer is a {type(given).__name__}, and fit steps one: give the parameters to one "
            "optimizer, in groups with settings of their own; or step several in a loop of yours, in "
            "tl.training_run."
        )
    if not _is_optimizer(given):
        if not callable(given):
            what = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
            raise InputError(
                f"optimizer is {what}: give an optimizer, or a function that makes one of parameters, such "
                "as torch.optim.Adam or functools.partial(torch.optim.SGD, lr=0.1)."
            )
        if next(model.parameters(), None) is None:
            raise InputError("the model has no parameters, so there is nothing to train.")
        given = given(model.parameters())
        if not _is_optimizer(given):
            raise InputError(
                f"the function given as optimizer makes a {type(given).__name__}, not an optimizer."
            )
    return checked_parameters(given, model)


def checked_parameters(optimizer: Optimizer, model: nn.Module) -> Optimizer:
    """Refuse an optimizer that could not change the model."""
    held = [one for group in optimizer.param_groups for one in group["params"]]
    own = {id(parameter) for parameter in model.parameters()}
    if not own:
        raise InputError("the model has no parameters, so there is nothing to train.")
    ours = [one for one in held if id(one) in own]
    if not ours:
        raise InputError(
            "the optimizer has none of the model's parameters: it was made for another model, or before "
            "the model was changed. Make it with this model's parameters()."
        )
    if not any(one.requires_grad for one in held):
        raise InputError(
            f"all {len(held)} parameters of the optimizer are frozen: set requires_grad to True for those "
            "that are to be trained."
        )
    return optimizer


def _is_optimizer(given: Any) -> bool:
    if isinstance(given, type):
        return False
    return isinstance(given, Optimizer) or all(
        hasattr(given, name) for name in ("step", "zero_grad", "param_groups")
    )

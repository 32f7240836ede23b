"""Run the model on some samples, keep what is wanted, and stop after the last of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from torcheer.capture import (
    ModelHistory,
    ModelWalk,
    Order,
    Selection,
    Treatment,
    capture,
    named_root,
    seed_everything,
)
from torcheer.errors import CaptureError, LayerNotFoundError
from torcheer.features.choosing import Choice, indices_in, modules_that_ran, some_names
from torcheer.features.samples import Samples
from torcheer.features.sharded import running, whole


def whole_pass(model: nn.Module, samples: Samples, seed: int) -> ModelHistory:
    """Every op, with its values."""
    return _captured(model, samples, Selection(everything=True), Selection(), seed)


def pass_without_values(model: nn.Module, samples: Samples, seed: int) -> ModelHistory:
    """Every op, but only what it is."""
    return _captured(model, samples, Selection(), Selection(), seed)


class WantedLayers:
    """The layers that are wanted of a model, batch by batch.

    What a module gives is taken at its call, wherever that is among the ops. An op that was asked for itself
    is taken by its number. Where a model takes another way, other ops have these numbers: then the pass is
    gone through once to find it, by the line of the source at which it stands.
    """

    def __init__(self, model: nn.Module, choices: Sequence[Choice]) -> None:
        self._model = model
        self._choices = choices
        self._ops = [choice for choice in choices if choice.place is not None]
        self._now = list(self._ops)  # with the numbers that they had in the last batch
        # In all passes that went to their end. Where one stops early, nobody knows what would have run.
        self._ran = choices[0].ran if choices else frozenset()
        # The interpreter of a script makes an error of its own of what leaves it.
        self._may_stop = not any(isinstance(module, torch.jit.ScriptModule) for module in model.modules())

    def values(self, samples: Samples, seed: int, batch: int) -> list[Tensor]:
        """One tensor for each choice. The pass ends when the last of them is there."""
        again = samples.copied()  # a model may write into what it is given
        try:
            return self.values_and_pass(samples, seed)[0]
        except LayerNotFoundError:
            history = pass_without_values(self._model, again.copied(), seed)
        self._ran &= frozenset(modules_that_ran(history))
        now = {}
        for choice, index in zip(self._choices, indices_in(history, self._choices), strict=True):
            if index is None:
                raise _not_there(choice, history, batch, self._ran)
            now[choice.name] = index
        self._now = [replace(choice, index=now[choice.name]) for choice in self._ops]
        del history
        try:
            return self.values_and_pass(again, seed)[0]
        except LayerNotFoundError:
            raise CaptureError(
                f"the model took another way each time that it was given batch {batch}: what it does must "
                "depend on its inputs and its random numbers alone."
            ) from None

    def values_and_pass(self, samples: Samples, seed: int) -> tuple[list[Tensor], ModelHistory]:
        """Raises LayerNotFoundError where one of them is elsewhere, or not there at all."""
        selected = _selected([*(one for one in self._choices if one.call), *self._now])
        stop = Selection(awaited={*selected.indices, *selected.addresses}) if self._may_stop else Selection()
        history = _captured(self._model, samples, selected, stop, seed)
        now = {choice.name: choice.index for choice in self._now}
        found = []
        for choice, index in zip(self._choices, indices_in(history, self._choices), strict=True):
            if index is None or now.get(choice.name, index) != index:
                raise LayerNotFoundError(f"{choice.name} is elsewhere.")
            found.append(whole(history._op(index).tensor_contents))
        return found, history


def _selected(choices: Sequence[Choice]) -> Selection:
    return Selection(
        indices={choice.index for choice in choices if not choice.call},
        addresses={choice.call for choice in choices if choice.call},
    )


def _not_there(choice: Choice, history: ModelHistory, batch: int, ran: Collection[str]) -> CaptureError:
    """`ran`: the modules that all data went through so far, which alone can be named instead."""
    modules = some_names([name for name in history.module_tree.addresses if name in ran and name])
    if choice.call:
        address, _, number = choice.call.rpartition(":")
        passes = history.module_tree.passes_of(address) or ()
        what = "was not called" if not passes else f"was called {len(passes)} times"
        if int(number) <= len(passes):
            what = "gave no tensor"
        return CaptureError(
            f"{choice.name} is missing in batch {batch}: the model takes other ways for other data, and the "
            f"module {address or 'itself'} {what} there. Name layers that run for all data, or leave out the "
            f"samples of which it does not run. All data so far went through {modules or 'no module'}."
        )
    address = choice.scope.rpartition(":")[0]
    instead = next((name for name in (*choice.modules, address) if name and name in ran), "")
    if instead:
        do = f"Name the module {instead!r} instead: modules are found by their calls"
    elif modules:
        do = f"Name a module instead, which is found by its call: all data so far went through {modules}"
    else:
        do = "Make a module of the step, such as nn.ReLU(), and name that: modules are found by their calls"
    return CaptureError(
        f"{choice.name} is missing in batch {batch}: the model takes other ways for other data, and the "
        f"{choice.layer_type} in {address or 'the model itself'} to which this label belongs in the first "
        f"batch is not there{_twice(choice, history)}. {do}."
    )


def _twice(choice: Choice, history: ModelHistory) -> str:
    """What bears the same label in this batch, and was not taken for it."""
    same = choice.label.rpartition("_")[0]  # mul_1_5: the label, and its place in the pass
    if not any(label.rpartition("_")[0] == same for label in history.layer_labels):
        return ""
    return f" (the {same} of this batch stands elsewhere in the source, or runs more than once)"


def _captured(
    model: nn.Module, samples: Samples, save: Selection, stop: Selection, seed: int
) -> ModelHistory:
    order = Order(save=save, stop=stop, treatment=Treatment(), keep_arguments=False, keep_unsaved=True)
    # A batch draws the same random numbers whoever works on it, and whenever.
    seed_everything(seed)
    with torch.no_grad(), running(model):
        return capture(model, ModelWalk(named_root(model)), order, samples.call)


def batch_seed(seed: int, number: int) -> int:
    """Of one batch: the same whoever works on it, and another for each."""
    return (seed * 1_000_003 + number * 7_919 + 1) % 2**31

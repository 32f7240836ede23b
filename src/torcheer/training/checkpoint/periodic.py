"""Checkpoints written while `fit` runs, and a training that goes on from the newest of them.

    tl.fit(model, loader, ..., checkpoints="checkpoints/digits")  # each epoch; the last three stay
    tl.fit(model, loader, ..., checkpoints=tl.Checkpoints(folder, every="10min", best="test/loss"))

The same call again goes on where the training was, and gives the losses that it would have had.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from torch import Tensor
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.graph import say
from torcheer.models import rank_of
from torcheer.training import distributed
from torcheer.training.checkpoint import save_load
from torcheer.training.checkpoint.save_load import Checkpoint, Stored, Tree, stored_in
from torcheer.training.checkpoint.state_tree import encoded
from torcheer.training.data_order import DataOrder
from torcheer.training.random_state import random_state
from torcheer.training.trainer.callbacks import INTERRUPTED, Callback, Training
from torcheer.training.trainer.fit_arguments import LossFunction, name_of
from torcheer.training.trainer.training_history import Mode, is_better, mode_of
from torcheer.training.training_warning import warn

_OF_SCHEDULER = "initial_lr"  # beside "lr", which says the same


def made_with(optimizer: Optimizer, loss: LossFunction | None) -> dict[str, Any]:
    """The name of the loss, and the settings of each group of the optimizer that are numbers or text."""
    groups = []
    for group in optimizer.param_groups:
        held = {
            name: one.item() if isinstance(one, Tensor) and one.numel() == 1 else one
            for name, one in group.items()
        }
        groups.append({name: value for name, value in held.items() if _is_plain(value)})
    return {"loss": name_of(loss), "groups": groups}


def settings_in_use(made: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Of the optimizer, by name; where its groups have several, `lr/0`, `lr/1` and so on."""
    found: dict[str, Any] = {}
    for name in names:
        values = [_value(group, name) for group in made["groups"] if name in group]
        if values and all(value == values[0] for value in values):
            found[name] = values[0]
        else:
            found |= {f"{name}/{number}": value for number, value in enumerate(values)}
    return found


def differences(was: Mapping[str, Any], given: Mapping[str, Any], optimizer: Optimizer) -> Iterator[str]:
    """Where settings that are given are others than those of the checkpoint, which `optimizer` has by now."""
    in_use = made_with(optimizer, None)["groups"]
    groups = list(zip(was["groups"], given["groups"], in_use, strict=True))
    for number, (before, now, current) in enumerate(groups):
        of_group = f" of group {number}" if len(groups) > 1 else ""
        # Schedulers that cycle change these, so that an optimizer that was trained with already has others.
        moved = {"momentum", "betas"} if "max_momentum" in now else set()
        for name in sorted((before.keys() & now.keys()) - {_OF_SCHEDULER} - moved):
            was_given, is_given = _value(before, name), _value(now, name)
            if is_given not in (was_given, current.get(name)):
                yield f"{name}{of_group} was {was_given!r} and is {is_given!r}"


def _value(group: Mapping[str, Any], name: str) -> Any:
    """As it was given: a scheduler may have changed the learning rate already."""
    return group.get(_OF_SCHEDULER, group[name]) if name == "lr" else group[name]


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(one) for one in value)
    return isinstance(value, bool | int | float | str | None)


_OF_EACH_RANK = ("random", "data", "training", "callbacks")


def own_states(training: Training, but: Callback) -> Tree:
    """What each process has of its own: its numbers, its data, and what came of them."""
    others = (one for one in training.callbacks if one is not but)
    return {
        "random": random_state(training.train_loader, training.model, training.test_loader),
        "data": training.order.state(),
        "training": training.state_dict(),
        "callbacks": [[type(one).__name__, one.state_dict()] for one in others],
    }


def _parts(training: Training) -> dict[str, Any]:
    return save_load.parts_of(*(getattr(training, name) for name in save_load.PARTS))


def load_training(training: Training, checkpoint: Checkpoint, tree: Tree) -> None:
    """Put the training back to where it was. InputError where it is another training."""
    if "training" not in tree:
        raise InputError(
            f"{checkpoint.path} was not written by fit, which cannot go on from it: load it first, with "
            "load_checkpoint(path, model=model)."
        )
    parts = _parts(training)
    if "scaler" not in tree:  # begins anew where autocast was turned on since
        parts.pop("scaler", None)
    with save_load.all_or_nothing(checkpoint, training.train_loader, training.model, training.test_loader):
        save_load.check_fits(checkpoint.path, tree, parts)
        if "scheduler" in tree and "scheduler" not in parts:
            kind = tree["kinds"]["scheduler"]
            raise InputError(f"{checkpoint.path} was written with a scheduler, {kind}: give fit the same.")
        save_load.put_back_random(
            checkpoint, training.order, training.model, training.test_loader, goes_on=True
        )
        rank = rank_of() if rank_of() in tree["training"] else 0
        training.load_state_dict(tree["training"][rank])
        _load_callbacks(training, tree["callbacks"][rank])
        save_load.load_parts(tree, parts)  # last: what it does it takes back where something fails
    was = tree["training"][rank].get("made_with")
    if was:
        _take_settings(training, was, checkpoint.path)


def _load_callbacks(training: Training, stored: list[list[Any]]) -> None:
    """By class, in their order: there may be others now."""
    left = list(stored)
    for callback in training.callbacks:
        found = next((one for one in left if one[0] == type(callback).__name__), None)
        if found is not None:
            left.remove(found)
            if found[1]:
                callback.load_state_dict(found[1])


def checkpoints_of(given: Any) -> Checkpoints | None:
    """Checkpoints as they are; a folder means those of every epoch."""
    if given is None or isinstance(given, Checkpoints):
        return given
    if isinstance(given, str | os.PathLike):
        return Checkpoints(given)
    raise InputError(f"checkpoints is a {type(given).__name__}: give a folder, or tl.Checkpoints(folder).")


def _take_settings(training: Training, was: Mapping[str, Any], path: Path) -> None:
    """Those of the checkpoint hold; say where others are given now."""
    given = training.made_with
    training.made_with = {**was, "loss": given["loss"]}
    if not distributed.is_main():
        return
    changed = "; ".join(differences(was, given, training.optimizer))
    if changed:
        warn(
            f"other settings are given than {path} was made with: {changed}. Those of the checkpoint hold. "
            "For others, change optimizer.param_groups in a callback's on_begin, or take another folder."
        )
    if was["loss"] != given["loss"]:
        warn(f"{path} was made with the loss {was['loss']}, and {given['loss']} is given: it is used now.")


def say_going_on(path: Path | None, training: Training) -> None:
    """Where it goes on, or that there is nothing to do. Said also where no progress is shown."""
    if path is None or not distributed.is_main():
        return
    done, wanted = training.epochs_done, training.num_epochs
    if done >= wanted:
        epochs = f"{done} of {wanted} epochs" if done == wanted else f"{done} epochs, and {wanted} are wanted"
        say(f"finished already: {epochs}; with more epochs it goes on")
    elif training.stopped_by is not None:
        say(f"stopped already, after {done} of {wanted} epochs: {training.stopped_by}")
    else:
        say(f"going on from step {training.steps_done}, epoch {done + 1} of {wanted}: {path}")


EPOCH: Final = "epoch"
_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Checkpoints(Callback):
    """Keeps a training in a folder, and takes it up again from there.

    - `every`: "epoch", a number of steps, or a time such as "10min". One more is written at the end, also
      where Ctrl-C ends the training, or a callback that raises.
    - `keep_last`: how many to keep; None for all. None is removed before a newer one is safe.
    - `best`: a figure of the history, such as "test/loss": the best checkpoint is kept as well. `mode` says
      whether "min" or "max" is best, where the name does not.
    - `resume`: go on from the newest whole checkpoint. False: begin anew; what is there is set aside.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every: str | int = EPOCH,
        keep_last: int | None = 3,
        best: str | None = None,
        mode: Mode | None = None,
        resume: bool = True,
    ) -> None:
        if not isinstance(folder, str | os.PathLike) or os.path.isfile(folder):
            raise InputError(f"{folder!r} is no folder: name one, such as 'checkpoints', to keep them in.")
        if keep_last is not None and (not isinstance(keep_last, int) or keep_last < 1):
            raise InputError(f"keep_last={keep_last!r}: give how many to keep, 1 or more, or None for all.")
        self.folder = Path(folder)
        self.every = every
        self.keep_last = keep_last
        self.best = best
        self.mode: Mode = "min" if best is None else mode_of(best, mode)
        self._may_resume = resume
        self._seconds = _seconds_of(every)
        self._written_at = time.monotonic()
        self._written: tuple[int, int] | None = None  # steps and epochs done in the newest one
        self._best_value: float | None = None

    def resume(self, training: Training) -> Path | None:
        """Put the training back to the newest checkpoint: which. None where there is none: it begins anew."""
        training.order = DataOrder(training.train_loader)
        self._written, self._best_value = None, None
        found = distributed.from_main(self._prepared() if distributed.is_main() else None)
        if not found:
            return None
        read = save_load.read_newest(self.folder, "newest") if distributed.is_main() else None
        path = distributed.from_main(None if read is None else read[0].path)
        checkpoint, tree = save_load.read_tree(str(path)) if read is None else read
        try:
            load_training(training, checkpoint, tree)
        except InputError as error:
            do = "To begin anew, name another folder, or give tl.Checkpoints(folder, resume=False)."
            raise InputError(f"{error} {do}") from None
        self._written = (training.steps_done, training.epochs_done)
        self._written_at = time.monotonic()
        if distributed.is_main():
            # What is newer could not be read; it must not be taken for the newest again.
            newer = [one for one in stored_in(self.folder) if one.step > checkpoint.step or one.problem]
            if newer:
                save_load.set_aside(newer, self.folder, "damaged")
        best = self._best_of(stored_in(self.folder))
        self._best_value = distributed.from_main(best[0].value if best else None)
        return checkpoint.path

    def _prepared(self) -> bool:
        """A folder to write to. Whether there is something to go on from."""
        self.folder.mkdir(parents=True, exist_ok=True)
        save_load.remove_unfinished(self.folder)
        stored = stored_in(self.folder)
        if stored and not self._may_resume:
            save_load.set_aside(stored, self.folder, "earlier")
        return bool(stored) and self._may_resume

    def _best_of(self, stored: list[Stored]) -> list[Stored]:
        """The best one, if there is one, in a list."""
        alike = [one for one in stored if (one.measure, one.mode) == (self.best, self.mode)]
        return save_load.best_first(alike)[:1]

    def on_begin(self, training: Training) -> None:
        if training.order is None:
            raise InputError("Checkpoints are no ordinary callback: give them to fit as checkpoints=...")
        if self.best is not None and self.best not in training.figures:
            raise InputError(
                f"Checkpoints keeps the best {self.best!r}, and an epoch has {', '.join(training.figures)}: "
                "name one of these, or give fit a test_loader and the metric."
            )
        # What cannot be kept shows now, and not after the first hour.
        encoded(self._tree(training, [own_states(training, self)]))
        self._written_at = time.monotonic()

    def on_step(self, training: Training) -> None:
        if self._seconds is not None:
            is_due = time.monotonic() - self._written_at >= self._seconds
            if distributed.from_main(is_due):
                self._write(training)
        elif self.every != EPOCH and training.steps_done % int(self.every) == 0:
            self._write(training)

    def on_epoch(self, training: Training) -> None:
        value = math.nan if self.best is None else float(training.history[self.best][-1])
        is_best = distributed.from_main(is_better(value, self._best_value, self.mode))
        if (is_best or self.every == EPOCH) and self._write(training) and is_best:
            self._best_value = value

    def on_end(self, training: Training) -> None:
        if not training.is_between_steps or training.steps_done == 0:
            return  # half a step is no state to go on from
        # Ctrl-C does not reach all processes at the same step, and an exception is one process's own: to wait
        # for the others would be for ever.
        is_ended = training.error is not None or training.stopped_by == INTERRUPTED
        is_alone = distributed.is_connected() and is_ended
        if self._written != (training.steps_done, training.epochs_done) and not is_alone:
            self._write(training)

    def _write(self, training: Training) -> bool:
        """False where the disk did not take it."""
        states = distributed.gathered(own_states(training, self))
        problem: Exception | None = None
        if distributed.is_main():
            try:
                path = self.folder / save_load.file_name(training.steps_done)
                save_load.write_tree(path, self._tree(training, states))
                save_load.write_index(self.folder, self._without_old())
            except (OSError, InputError) as error:
                problem = error
        problem = distributed.from_main(problem)
        self._written_at = time.monotonic()
        if isinstance(problem, InputError):
            raise problem
        if problem is None:
            self._written = (training.steps_done, training.epochs_done)
        elif distributed.is_main():
            warn(
                f"the checkpoint of step {training.steps_done} was not written to {self.folder}: {problem}. "
                "The training goes on, and older checkpoints are as they were."
            )
        return problem is None

    def _without_old(self) -> list[Stored]:
        """Remove what is not kept, now that the new one is safe; what is left."""
        stored = [one for one in stored_in(self.folder) if not one.problem]
        best = self._best_of(stored)
        old = [] if self.keep_last is None else [one for one in stored[self.keep_last :] if one not in best]
        for one in old:
            one.path.unlink(missing_ok=True)
        return [one for one in stored if one not in old]

    def _tree(self, training: Training, states: list[Tree]) -> Tree:
        """`states`: what `own_states` gave in each process."""
        history = training.history
        # Then the figures of the last epoch are those of the weights as they are now.
        is_end_of_epoch = len(history) > 0 and int(history["step"][-1]) == training.step
        if is_end_of_epoch:
            figures = {name: float(history[name][-1]) for name in history.names}
        else:
            steps, last = history.steps, len(history.steps) - 1
            figures = {name: float(steps.tail(name, last)[0]) for name in steps.names if last >= 0}
        best = figures.get(self.best or "") if is_end_of_epoch else None
        done = {"step": training.steps_done, "epoch": training.epochs_done, "batch": training.batches_done}
        return {
            **save_load.tree_of(_parts(training)),
            "position": done,
            "metrics": figures,
            "extra": None,
            "keeping": {"measure": self.best or "", "mode": self.mode, "value": best},
            **{name: dict(enumerate(state[name] for state in states)) for name in _OF_EACH_RANK},
        }


def _seconds_of(every: Any) -> float | None:
    """None where it is no time."""
    if every == EPOCH or (isinstance(every, int) and not isinstance(every, bool) and every > 0):
        return None
    match = _TIME.fullmatch(every.strip()) if isinstance(every, str) else None
    if match is None or float(match[1]) == 0:
        raise InputError(f"every={every!r}: give 'epoch', a number of steps, or a time such as '10min'.")
    return float(match[1]) * _SECONDS[match[2]]

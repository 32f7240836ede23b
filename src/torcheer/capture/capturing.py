"""Put the parts of a capture together: walk, tape, recorder, saver; and make a history of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from torcheer.capture.history import ModelHistory, PassFacts
from torcheer.capture.inputs import Call, copy_of_containers
from torcheer.capture.numbering import Numbering
from torcheer.capture.op import Op
from torcheer.capture.recorder import Recorder
from torcheer.capture.rerunning import as_before_the_pass
from torcheer.capture.saving import Saver, Selection, StopPass, Treatment
from torcheer.capture.state import attributes_of, changed_attributes, random_state
from torcheer.capture.tape import Tape
from torcheer.capture.walk import ModelWalk, num_elements, num_param_bytes
from torcheer.errors import LayerNotFoundError


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be kept, and where the pass may end."""

    save: Selection
    stop: Selection
    treatment: Treatment
    keep_arguments: bool
    keep_unsaved: bool


def capture(model: nn.Module, walk: ModelWalk, order: Order, call: Call) -> ModelHistory:
    """Run the model once and record it."""
    first = Capture(model, walk, order)
    history = first.run(call)
    if not first.surprises:
        return history
    # Something that no call shows wrote into kept values: run once more, and copy every value at once.
    with as_before_the_pass(history, model) as same_call:
        again = Capture(model, ModelWalk(walk.root), order, copy_all=True).run(same_call)
    labels = ", ".join(history._label(op) for op in first.surprises[:3])
    again._tape.warnings.append(
        f"the outputs of {labels} were written by something that no torch call in Python shows: the pass was "
        "run a second time, and every value copied as soon as it was there."
    )
    return again


class Capture:
    """One pass of one model."""

    def __init__(self, model: nn.Module, walk: ModelWalk, order: Order, *, copy_all: bool = False) -> None:
        self.surprises: list[int] = []
        self._model = model
        self._walk = walk
        self._was_lazy = walk.is_lazy
        self._order = order
        # Everything by reference, nothing to decide: the way that costs least.
        treatment = order.treatment
        self._keeps_all = order.save.everything and not treatment.changes_values and not treatment.detach
        self._tape = Tape(walk, keep_all=self._keeps_all, copy_all=copy_all)
        with_params: list[frozenset[str]] = []

        def has_params(address: str) -> bool:
            if not with_params:
                with_params.append(walk.addresses_with_params())
            return address in with_params[0]

        self._numbering = Numbering(self._tape, has_params)
        self._saver: Saver | None = None
        if not self._keeps_all or not order.stop.is_empty:
            save = Selection() if self._keeps_all else order.save
            self._saver = Saver(
                self._tape, self._numbering, save, order.stop, treatment, order.keep_arguments, self._op_now
            )
            self._tape.on_commit = self._saver.on_commit
        self._recorder = Recorder(
            model,
            walk,
            self._tape,
            fast=self._saver is None and not copy_all and not walk.is_lazy,
            on_module_exit=None if self._saver is None else self._saver.on_module_exit,
        )
        self._history: ModelHistory | None = None

    def run(self, call: Call) -> ModelHistory:
        self._start_state = random_state() if self._keeps_all else None
        self._attributes = attributes_of(self._walk.modules) if self._keeps_all else []
        self._call = copy_of_containers(call) if self._keeps_all else None
        self._seed = torch.initial_seed()
        try:
            self._recorder.run(call)
        except StopPass:
            return self._finish()
        except BaseException as error:
            # The model's own exception stays what it is, with the pass so far on it.
            history = self._finish(f"{type(error).__name__}: {error}")
            try:
                error.history = history  # type: ignore[attr-defined]
                where = history.layer_labels[-1] if len(history) else "the start"
                error.add_note(f"torcheer: the pass up to {where} is on this exception, as .history")
            except AttributeError:
                pass
            raise
        if self._keeps_all:
            self.surprises = self._tape.memory.surprises()
        history = self._finish()
        self._check_keys(history)
        return history

    def _finish(self, error: str = "") -> ModelHistory:
        tape, recorder = self._tape, self._recorder
        if self._saver is not None:
            self._saver.settle()
        if self._was_lazy:
            self._walk = ModelWalk(self._walk.root)  # the pass has made its parameters
        history = self._make_history(error)
        tape.finish()
        # From here on nothing of ours holds the model.
        self._numbering.has_params = self._walk.addresses_with_params().__contains__
        recorder.names.forget_modules()
        return history

    def _make_history(self, error: str = "") -> ModelHistory:
        params = [param for _, param in self._walk.params.values()]
        saver = self._saver
        facts = PassFacts(
            model_name=type(self._walk.root).__name__,
            random_seed=self._seed,
            elapsed_seconds=self._recorder.elapsed_seconds,
            num_param_tensors=len(params),
            num_params=sum([num_elements(p) for p in params]),
            num_param_bytes=sum([num_param_bytes(p) for p in params]),
            keep_unsaved_layers=self._order.keep_unsaved,
            has_treated_values=self._order.treatment.changes_values,
            stopped_at=None if saver is None else saver.stopped_at,
            error=error,
            notes=tuple(self._walk.fast_path_notes()),
            start_state=self._start_state,
            call=self._call,
            old_attributes=tuple(changed_attributes(self._attributes)),
        )
        return ModelHistory(
            self._tape,
            self._numbering,
            self._walk.without_model(self._recorder.names),
            facts,
            None if self._keeps_all or saver is None else saver.saved,
            {} if saver is None else saver.treated,
            self._model,
        )

    def _op_now(self, index: int) -> Op:
        """An op of the pass that is still running, for a predicate to look at."""
        if self._history is None:
            self._history = self._make_history()
        for name in ("_all_labels", "_structure", "_lookup", "_visible", "_exits"):
            self._history.__dict__.pop(name, None)
        self._history.__dict__["_numbered"] = self._numbering  # it follows the pass
        return Op(self._history, index)

    def _check_keys(self, history: ModelHistory) -> None:
        """Every key that was asked for must have met a layer."""
        for label in sorted(self._order.save.labels | self._order.stop.labels):
            history[label]
        for address in sorted(self._order.save.addresses | self._order.stop.addresses):
            history[address]
        for part in sorted(self._order.save.parts | self._order.stop.parts):
            history._lookup.find_all(part)
        num_ops = history.num_tensors_total
        for index in (
            *self._order.save.indices,
            *self._order.stop.indices,
            *([-self._order.save.num_last] if self._order.save.num_last else []),
        ):
            if not -num_ops <= index < num_ops:
                raise LayerNotFoundError(f"there is no op {index}: this pass has {num_ops}.")

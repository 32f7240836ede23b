"""`log_forward_pass`: every operation of a forward pass, in one line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torcheer.capture.history import ModelHistory, PassFacts
from torcheer.capture.inputs import Call, bind, check_model, copy_of_containers, named_root
from torcheer.capture.modules import addresses_with_params, fast_path_notes, read_tree
from torcheer.capture.numbering import Numbering
from torcheer.capture.op import Op
from torcheer.capture.recorder import Recorder
from torcheer.capture.rerunning import as_before_the_pass
from torcheer.capture.saving import Saver, Selection, StopPass, Treatment, select
from torcheer.capture.state import attributes_of, changed_attributes, random_state, seed_everything
from torcheer.capture.tape import Tape
from torcheer.errors import InputError, LayerNotFoundError

_VIS_OPTIONS = ("none", "rolled", "unrolled")


def log_forward_pass(
    model: nn.Module,
    input_args: Any,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    layers_to_save: Any = "all",
    keep_unsaved_layers: bool = True,
    output_device: str | torch.device = "same",
    activation_postfunc: Callable[[torch.Tensor], Any] | None = None,
    detach_saved_tensors: bool = False,
    save_function_args: bool = False,
    vis_opt: str = "none",
    random_seed: int | None = None,
    stop_after: int | str | None = None,
) -> ModelHistory:
    """Run a forward pass and return every operation of it.

    - `model`: any `nn.Module`, as it is. Its result, random draws and buffers are those of a plain forward.
    - `input_args`, `input_kwargs`: what forward takes: a tensor, a list or tuple of arguments, a dict of
      named ones, nested as you like.
    - `layers_to_save`: `'all'`, `'none'`, a list of labels, module addresses, indices or parts of labels, or
      a function of an op. Only what is chosen is kept alive.
    - `keep_unsaved_layers`: False leaves ops without a saved value out of the listing.
    - `output_device`: where saved values go; `'same'` leaves them where they are.
    - `activation_postfunc`: applied to each value before it is kept.
    - `detach_saved_tensors`: True cuts saved values from the autograd graph.
    - `save_function_args`: keep the inputs of each saved op too.
    - `vis_opt`: `'none'`, `'rolled'` or `'unrolled'`.
    - `random_seed`: seeds torch, NumPy and Python before the pass.
    - `stop_after`: end the pass as soon as this layer is there.
    """
    check_model(model)
    if vis_opt not in _VIS_OPTIONS:
        raise InputError(f"vis_opt must be one of {', '.join(map(repr, _VIS_OPTIONS))}, not {vis_opt!r}.")
    root = named_root(model)
    call = bind(model, input_args, input_kwargs)
    addresses = frozenset(address for address, _ in root.named_modules(remove_duplicate=False) if address)
    save = select(layers_to_save, addresses, "layers_to_save")
    stop = select(stop_after, addresses, "stop_after") if stop_after is not None else Selection()
    treatment = Treatment(
        postfunc=activation_postfunc, detach=detach_saved_tensors, device=str(output_device)
    )
    if random_seed is not None:
        seed_everything(random_seed)
    order = _Order(
        save=save,
        stop=stop,
        treatment=treatment,
        keep_arguments=save_function_args,
        keep_unsaved=keep_unsaved_layers,
    )
    capture = _Capture(model, root, order)
    history = capture.run(call)
    if capture.surprises:
        history = _capture_again(model, root, order, history, capture.surprises)
    if vis_opt != "none":
        warnings.warn(
            "this version draws no pictures yet: vis_opt is accepted and the history is complete.",
            stacklevel=2,
        )
    return history


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What is to be kept, and where the pass may end."""

    save: Selection
    stop: Selection
    treatment: Treatment
    keep_arguments: bool
    keep_unsaved: bool


def _capture_again(
    model: nn.Module, root: nn.Module, order: _Order, first: ModelHistory, surprises: list[int]
) -> ModelHistory:
    """Something that no call shows wrote into kept values: run once more, and copy every value at once."""
    with as_before_the_pass(first, model) as call:
        again = _Capture(model, root, order, copy_all=True).run(call)
    labels = ", ".join(first._label(op) for op in surprises[:3])
    again._tape.warnings.append(
        f"the outputs of {labels} were written by something that no torch call in Python shows: the pass was "
        "run a second time, and every value copied as soon as it was there."
    )
    return again


class _Capture:
    """The parts of one capture, put together."""

    def __init__(self, model: nn.Module, root: nn.Module, order: _Order, copy_all: bool = False) -> None:
        save, stop, treatment = order.save, order.stop, order.treatment
        self._model = model
        self._root = root
        self._save = save
        self._stop = stop
        self._treatment = treatment
        self._keep_unsaved = order.keep_unsaved
        self._copy_all = copy_all
        self.surprises: list[int] = []
        # Everything by reference, nothing to decide: the way that costs least.
        plain = save.everything and not treatment.changes_values and not treatment.detach
        self._tape = Tape(root, keep_all=plain, copy_all=copy_all)
        self._keeps_all = plain
        with_params: list[frozenset[str]] = []

        def has_params(address: str) -> bool:
            if not with_params:
                with_params.append(addresses_with_params(root))
            return address in with_params[0]

        self._numbering = Numbering(self._tape, has_params)
        self._saver: Saver | None = None
        if not plain or not stop.is_empty:
            self._saver = Saver(
                self._tape,
                self._numbering,
                save if not plain else Selection(),
                stop,
                treatment,
                order.keep_arguments,
                self._op_now,
            )
            self._tape.on_commit = self._saver.on_commit
        self._recorder = Recorder(
            model,
            root,
            self._tape,
            fast=self._saver is None and not copy_all,
            on_module_exit=None if self._saver is None else self._saver.on_module_exit,
        )
        self._history: ModelHistory | None = None

    def run(self, call: Call) -> ModelHistory:
        self._start_state = random_state() if self._keeps_all else None
        self._attributes = attributes_of(self._root) if self._keeps_all else []
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
        history = self._make_history(error)
        tape.finish()
        # From here on nothing of ours holds the model.
        holding = frozenset(info.address for info in history.module_tree.modules.values() if info.num_params)
        self._numbering.has_params = holding.__contains__
        recorder.names.forget_modules()
        return history

    def _make_history(self, error: str = "") -> ModelHistory:
        params = list(self._root.parameters())
        saver = self._saver
        facts = PassFacts(
            model_name=type(self._root).__name__,
            random_seed=self._seed,
            elapsed_seconds=self._recorder.elapsed_seconds,
            training=self._root.training,
            num_param_tensors=len(params),
            num_params=sum(p.numel() for p in params),
            num_param_bytes=sum(p.numel() * p.element_size() for p in params),
            keep_unsaved_layers=self._keep_unsaved,
            has_treated_values=self._treatment.changes_values,
            stopped_at=None if saver is None else saver.stopped_at,
            error=error,
            notes=tuple(fast_path_notes(self._root)),
            start_state=self._start_state,
            call=self._call,
            old_attributes=tuple(changed_attributes(self._attributes)),
        )
        return ModelHistory(
            self._tape,
            self._numbering,
            read_tree(self._root, self._recorder.names),
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
        for label in sorted(self._save.labels | self._stop.labels):
            history[label]
        for address in sorted(self._save.addresses | self._stop.addresses):
            history[address]
        for part in sorted(self._save.parts | self._stop.parts):
            history._lookup.find_all(part)
        num_ops = history.num_tensors_total
        for index in (
            *self._save.indices,
            *self._stop.indices,
            *([-self._save.num_last] if self._save.num_last else []),
        ):
            if not -num_ops <= index < num_ops:
                raise LayerNotFoundError(f"there is no op {index}: this pass has {num_ops}.")

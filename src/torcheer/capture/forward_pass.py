"""`log_forward_pass`: one capture from start to end, from the options to the history.

Also the way back to where a pass began, for as long as a second forward takes.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import Tensor, nn

from torcheer.capture.aliasing import private_copy, storage_key
from torcheer.capture.analysis.edits import WAY_CHANGED, Editor, Edits, Place, Rule, read_edits
from torcheer.capture.backward.grad_graph import EdgesTaken
from torcheer.capture.history import ModelHistory, PassFacts
from torcheer.capture.inputs import (
    Call,
    bind,
    call_with_copied_tensors,
    check_model,
    copied_call,
    copy_of_input,
    input_tensors,
    map_tensors,
)
from torcheer.capture.layer_numbers import Numbering
from torcheer.capture.model_state import (
    RandomState,
    held_by,
    is_sharded,
    note_written,
    random_state,
    restore_random_state,
    same_model_after,
    same_random_state_after,
    seed_everything,
    torch_modes,
    under,
)
from torcheer.capture.model_walk import ModelWalk, Selection, num_elements, num_param_bytes, select
from torcheer.capture.module_scopes import Recorder, is_scripted, muted
from torcheer.capture.op import Op, is_torchs
from torcheer.capture.tape import BUFFER, Tape
from torcheer.errors import CaptureError, InputError, LayerNotFoundError
from torcheer.models import unwrapped_model

if TYPE_CHECKING:
    from torcheer.graph import Drawing, DrawingOptions


_LEVELS = ("op", "aten")
_VIS_OPTIONS = ("none", "rolled", "unrolled")


def log_forward_pass(
    model: nn.Module,
    input_args: Any = None,
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
    save_gradients: Any = False,
    level: str = "op",
    edit: Edits | None = None,
    **drawing_options: Unpack[DrawingOptions],
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
    - `vis_opt`: `'rolled'` or `'unrolled'` also draws the pass; `vis_outpath`, `vis_nesting_depth`,
      `vis_direction` and the other options of `history.draw` say where and how.
    - `random_seed`: seeds torch, NumPy and Python before the pass, as if you had done so yourself.
    - `stop_after`: end the pass as soon as this layer is there.
    - `save_gradients`: True keeps, after any `backward()` through the pass, the gradient of every op; or
      name layers as in `layers_to_save`.
    - `level`: `'aten'` also records the ATen calls below each op and below each autograd node.
    - `edit`: `{layer: function}` replaces the output of a layer on its way by what the function makes of it.
      A list of pairs will do too, and a tensor in the place of a function.
    """
    check_model(model)
    drawing = _drawing_wanted(vis_opt, drawing_options)
    if level not in _LEVELS:
        raise InputError(f"level must be one of {', '.join(map(repr, _LEVELS))}, not {level!r}.")
    _check_options(input_kwargs, output_device, activation_postfunc, random_seed)
    call = bind(model, input_args, input_kwargs)
    walk = ModelWalk(unwrapped_model(model))
    inputs = [name for name, _ in input_tensors(walk.root, call)]
    save = select(layers_to_save, walk, inputs, "layers_to_save")
    stop = select(stop_after, walk, inputs, "stop_after")
    gradients = Selection(everything=save_gradients is True)
    if not isinstance(save_gradients, bool):
        gradients = select(save_gradients, walk, inputs, "save_gradients")
    treatment = ValueTreatment(
        postfunc=activation_postfunc, detach=detach_saved_tensors, device=str(output_device)
    )
    if random_seed is not None:
        seed_everything(random_seed)
    order = Order(
        save=save,
        stop=stop,
        treatment=treatment,
        keep_arguments=save_function_args,
        keep_unsaved=keep_unsaved_layers,
        gradients=gradients,
        aten=level == "aten",
        edits=() if edit is None else tuple(read_edits(edit, walk, inputs)),
    )
    history = capture(model, walk, order, call)
    if drawing is not None:
        from torcheer.capture.draw_pass import draw_and_show

        draw_and_show(history, drawing)
    return history


def _drawing_wanted(vis_opt: str, options: DrawingOptions) -> Drawing | None:
    """What is to be drawn, checked before the model runs; None for nothing."""
    if vis_opt not in _VIS_OPTIONS:
        raise InputError(f"vis_opt must be one of {', '.join(map(repr, _VIS_OPTIONS))}, not {vis_opt!r}.")
    if vis_opt == "none" and not options:
        return None
    from torcheer.graph import read_options

    drawing = read_options("unrolled" if vis_opt == "none" else vis_opt, options)
    if vis_opt == "none":
        text = f"{', '.join(options)}: nothing is drawn unless vis_opt is 'unrolled' or 'rolled'."
        warnings.warn(text, stacklevel=3)
        return None
    return drawing


def _check_options(input_kwargs: Any, output_device: Any, activation_postfunc: Any, random_seed: Any) -> None:
    """Say what is wrong before the model runs."""
    if input_kwargs is not None and not isinstance(input_kwargs, Mapping):
        raise InputError(f"input_kwargs must be a dict of named arguments, not {input_kwargs!r}.")
    if activation_postfunc is not None and not callable(activation_postfunc):
        raise InputError(f"activation_postfunc must be a function of a tensor, not {activation_postfunc!r}.")
    if random_seed is not None and (isinstance(random_seed, bool) or not isinstance(random_seed, int)):
        raise InputError(f"random_seed must be a whole number, not {random_seed!r}.")
    if output_device != "same":
        try:
            torch.device(output_device)
        except RuntimeError as error:
            raise InputError(
                f"output_device must be 'same' or a device such as 'cpu' or 'cuda:0', not {output_device!r}."
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTreatment:
    """What is done to a value before it is kept."""

    postfunc: Callable[[Tensor], Any] | None = None
    detach: bool = False
    device: str = "same"

    @property
    def changes_values(self) -> bool:
        return self.postfunc is not None or self.device != "same"

    def apply(self, tensor: Tensor) -> Any:
        # A postfunc may write into what it is given, which must not be the model's own.
        value: Any = private_copy(tensor) if self.postfunc is not None else tensor
        value = value.detach() if self.detach else value
        if self.device != "same":
            value = value.to(self.device)
        if self.postfunc is not None:
            value = self.postfunc(value)
        if isinstance(value, Tensor) and storage_key(value) == storage_key(tensor):
            value = private_copy(value)  # a later in-place op must not reach it
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be kept, and where the pass may end."""

    save: Selection = field(default_factory=Selection)
    stop: Selection = field(default_factory=Selection)
    treatment: ValueTreatment = field(default_factory=ValueTreatment)
    keep_arguments: bool = False
    keep_unsaved: bool = True
    gradients: Selection = field(default_factory=Selection)
    aten: bool = False
    edits: tuple[Rule, ...] = ()


def capture(model: nn.Module, walk: ModelWalk, order: Order, call: Call) -> ModelHistory:
    """Run the model once and record it."""
    writes_unseen = False
    if any(rule.needs_plan for rule in order.edits):
        writes_unseen = plan_edits(model, walk, order, call)
    # The memory of gathered parameters is let go before the pass ends.
    has_shards = any(is_sharded(module) for _, module in walk.modules)
    first = Capture(model, walk, order, copy_all=writes_unseen or has_shards)
    history = first.run(call)
    if first.surprises:
        # Something that no call shows wrote into kept values: run once more, and copy every value at once.
        names = ", ".join(history._label(op) for op in first.surprises[:3])
        with as_before_the_pass(history, model) as same_call:
            history = Capture(model, ModelWalk(walk.root), order, copy_all=True).run(same_call)
    elif writes_unseen:
        names = "some ops"
    else:
        return history
    history._tape.warnings.append(
        f"the outputs of {names} were written by something that no torch call in Python shows: the pass was "
        "run a second time, and every value copied as soon as it was there."
    )
    return history


def plan_edits(model: nn.Module, walk: ModelWalk, order: Order, call: Call) -> bool:
    """Find out, in a pass of its own, which ops the labels name that are to be edited.

    Returns whether something that no call shows wrote into values, which must be copied at once then.
    """
    if walk.is_lazy:
        raise InputError("a lazy model must have run once before a layer of it can be edited by its label.")
    everything = Order(save=Selection(everything=True))
    copy_all = False
    # A script is compiled anew when it has run once, and may show other ops then.
    num_runs = 2 if any(is_scripted(module) for _, module in walk.modules) else 1
    while num_runs:
        planning = Capture(model, ModelWalk(walk.root), everything, copy_all=copy_all)
        with same_random_state_after(), same_model_after(model):
            history = planning.run(call_with_copied_tensors(call))
        num_runs -= 1
        if planning.surprises and not copy_all:
            copy_all, num_runs = True, max(num_runs, 1)
    records = history._tape.records
    for rule in order.edits:
        if rule.needs_plan:
            check_selection(rule.selection, history, rule.from_end)
            rule.planned = {op: Place.of(records[op]) for op in sorted(rule.ops_in(history))}
    return copy_all


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
        if not order.gradients.is_empty and (copy_all or not self._keeps_all):
            self._tape.edges = EdgesTaken()
        if order.aten:
            self._tape.aten = {}
        is_plain = not copy_all and not walk.is_lazy and not order.aten and not order.edits
        self._numbering = Numbering(self._tape, lambda address: address in walk.addresses_with_params)
        self._saver: Saver | None = None
        if not self._keeps_all or not order.stop.is_empty:
            save = Selection() if self._keeps_all else order.save
            self._saver = Saver(self._tape, self._numbering, save, order, self._op_now)
            self._tape.on_commit = self._saver.on_commit
            self._tape.on_replace = self._saver.save_again
        self._recorder = Recorder(
            model,
            walk,
            self._tape,
            fast=self._saver is None and is_plain,
            on_module_exit=None if self._saver is None else self._saver.on_module_exit,
        )
        if order.edits:
            self._tape.editor = Editor(list(order.edits), self._tape, self._numbering, self._op_now)
            self._tape.edits = self._tape.editor.done
        self._history: ModelHistory | None = None

    def run(self, call: Call) -> ModelHistory:
        tape = self._tape
        tape.modes = torch_modes()
        tape.start = PassStart(self._walk, call) if self._keeps_all else None
        self._seed = torch.initial_seed()
        try:
            tape.output = self._recorder.run(call)
        except StopPass:
            history = self._finish()
            self._check_edits(history)
            return self._followed(history)
        except BaseException as error:
            # The model's own exception stays what it is, with the pass so far on it.
            history = self._followed(self._finish(what_was_raised(error, self._walk)))
            try:
                error.history = history  # type: ignore[attr-defined]
                where = history.layer_labels[-1] if len(history) else "the start"
                error.add_note(
                    f"torcheer: the pass up to {where} is on this exception: .history, .history.draw()"
                )
            except AttributeError:
                pass
            raise
        if self._keeps_all:
            self.surprises = tape.memory.surprises()
        history = self._finish()
        for selection in (self._order.save, self._order.stop, self._order.gradients):
            check_selection(selection, history)
        self._check_edits(history)
        return self._followed(history)

    def _followed(self, history: ModelHistory) -> ModelHistory:
        if not self._order.gradients.is_empty:
            history._follow_gradients(self._order.gradients)
        return history

    def _finish(self, error: str = "") -> ModelHistory:
        tape = self._tape
        if self._saver is not None:
            self._saver.settle()
        if self._was_lazy:
            self._walk = ModelWalk(self._walk.root)  # the pass has made its parameters
        if tape.start is not None:
            tape.start.held.only_changes()  # from here on no model is kept
        history = self._make_history(error)
        for index, value in tape.param_values.items():
            note_written(tape.params[-index - 1][1], value)
        tape.finish()
        # A history must be freed as soon as nobody holds it, and nothing of ours may hold the model.
        self._saver = self._history = None
        self._recorder.let_go()
        self._numbering.has_params = self._walk.addresses_with_params.__contains__
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
            notes=(*self._walk.fast_path_notes(), *_note_of_output(self._tape.output)),
            device=self._order.treatment.device,
        )
        return ModelHistory(
            self._tape,
            self._numbering,
            self._walk.without_model(self._recorder.calls),
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

    def _check_edits(self, history: ModelHistory) -> None:
        """Every edit must have found its layers: all that bear its name now, and no others."""
        for rule in self._order.edits:
            done = {op for op, other in history._tape.edits if other is rule}
            if not done and rule.selection.predicate is not None:
                history._tape.warnings.append(
                    f"nothing was edited by {rule.name}: its key answered to no op."
                )
            elif not done:
                if history.stopped_after is None:
                    check_selection(rule.selection, history, rule.from_end)
                until = f", which was stopped after {history.stopped_after}" if history.stopped_after else ""
                raise LayerNotFoundError(f"nothing was edited: {rule.key!r} did not run in this pass{until}.")
            # An added node shifts full labels, which are those of a pass without edits.
            is_plain = not rule.selection.addresses and not history._tape.extras
            if rule.needs_plan and is_plain and history.stopped_after is None:
                named = rule.ops_in(history)
                for op in sorted(named ^ (done - rule.selection.indices)):
                    how = "answers to" if op in named else "no longer answers to"
                    was = "was not edited" if op in named else "was edited"
                    raise CaptureError(f"{history._label(op)} {how} {rule.key!r}, and {was}. {WAY_CHANGED}")


def _note_of_output(output: Any) -> list[str]:
    if not isinstance(output, Iterator | Coroutine):
        return []
    return [
        f"forward returned a {type(output).__name__}, of which nothing has run yet: what it does later is "
        "not in this pass. Capture a module that uses it up, such as one that returns list(…)."
    ]


def check_selection(selection: Selection, history: ModelHistory, from_end: tuple[int, ...] = ()) -> None:
    """Raise LayerNotFoundError for a key that no layer of a pass answers to."""
    for key in (*sorted(selection.labels), *sorted(selection.addresses), *sorted(selection.names)):
        history._lookup.find(key)
    for part in sorted(selection.parts):
        history._lookup.find_all(part)
    num_ops = history.num_tensors_total
    for index in (*selection.indices, *([-selection.num_last] if selection.num_last else []), *from_end):
        if not -num_ops <= index < num_ops:
            raise LayerNotFoundError(f"there is no op {index}: this pass has {num_ops}.")


_OUR_HOME = str(Path(__file__).parents[1])


def what_was_raised(error: BaseException, walk: ModelWalk) -> str:
    """`RuntimeError: …`, and in a second line the module and the line of source that it came from."""
    frames = [
        (frame, line)
        for frame, line in walk_tb(error.__traceback__)
        if not frame.f_code.co_filename.startswith(_OUR_HOME)
    ]
    module = next(filter(None, (_module_of(frame, walk) for frame, _ in reversed(frames))), "")
    own = [(frame, line) for frame, line in frames if not is_torchs(frame.f_code.co_filename)]
    place = ""
    if own:
        frame, number = own[-1]
        file = frame.f_code.co_filename
        place = f"{file}:{number} in {frame.f_code.co_qualname}: {linecache.getline(file, number).strip()}"
    where = ", ".join(filter(None, (module, place)))
    said = f"{type(error).__name__}: {error}"
    return f"{said}\nin {where}" if where else said


def _module_of(frame: FrameType, walk: ModelWalk) -> str:
    """`m.0 (Linear)`, where the frame is a method of a module of the model."""
    holder = frame.f_locals.get("self")
    if not isinstance(holder, nn.Module) or id(holder) not in walk.address_of:
        return ""
    address = walk.address_of[id(holder)]
    return f"{address} ({type(holder).__name__})" if address else type(holder).__name__


class PassStart:
    """What a forward began with: a second one that begins with the same gives the same."""

    def __init__(self, walk: ModelWalk, call: Call) -> None:
        self.random: RandomState = random_state()
        self.call = copied_call(call)
        self.held = held_by([module for _, module in walk.modules])


@contextmanager
def as_before_the_pass(history: ModelHistory, model: nn.Module) -> Iterator[Call]:
    """Gives the call as it was; afterwards model, generators and modes are as they are now."""
    start: PassStart = history._tape.start
    root = unwrapped_model(model)
    with same_random_state_after(), same_model_after(model):
        start.held.put_back()  # left to us to take it from the modules again
        modules = history.module_tree.modules
        for address, module in root.named_modules():
            if address in modules and module.training != modules[address].training:
                module.training = not module.training
        _put_buffers_back(history, root)
        restore_random_state(start.random)
        with _parameters_as_they_were(history), under(history._tape.modes):
            yield _call_as_it_was(history)


@contextmanager
def _parameters_as_they_were(history: ModelHistory) -> Iterator[None]:
    """Lend parameters that the pass wrote into other memory, with the values from before."""
    tape = history._tape
    written = [(tape.params[-index - 1][1], value) for index, value in tape.param_values.items()]
    now = [param.data for param, _ in written]
    try:
        for param, value in written:
            param.data = value.detach().clone()
        yield
    finally:
        for (param, _), data in zip(written, now, strict=True):
            param.data = data


def _put_buffers_back(history: ModelHistory, root: nn.Module) -> None:
    """Give the model copies of its buffers as they were when the pass first used them."""
    tape = history._tape
    seen: set[str] = set()
    for op, record in enumerate(tape.records):
        address = tape.addresses.get(op)
        if record.trait is not BUFFER or address is None or address in seen:
            continue
        seen.add(address)
        owner_address, _, name = address.rpartition(".")
        value = tape.unedited.get(op, tape.values[op])
        owner: Any = root
        for part in filter(None, owner_address.split(".")):
            owner = getattr(owner, part, None)
        if not isinstance(owner, nn.Module):
            continue  # a module that is no part of the model
        if value is not None and not isinstance(owner, torch.jit.ScriptModule):
            owner._buffers[name] = value.detach().clone()


def _call_as_it_was(history: ModelHistory) -> Call:
    """The input as it was before the pass, also where the model wrote into it."""
    tape = history._tape
    call: Call = history._tape.start.call
    originals = {
        id(tensor): tape.unedited.get(op, tape.values[op]) for op, tensor in tape.input_tensors.items()
    }

    def fresh(tensor: Tensor) -> Tensor:
        value = originals.get(id(tensor))
        if value is None or value is tensor:
            return tensor  # it was not written into
        if value.requires_grad:
            return value.clone()  # it hangs on the input itself
        # A pass that writes into its input must not write into what was saved.
        return copy_of_input(value, tensor)

    again = copied_call(call)  # the kept one must stay as it is
    return Call(*map_tensors((again.args, again.kwargs), fresh, into_objects=True))


class StopPass(BaseException):
    """Leaves the model once the last wanted layer is there. No `except Exception` of a model catches it."""


class Saver:
    """Told of each op as it is recorded; keeps what is wanted and ends the pass where asked."""

    def __init__(
        self,
        tape: Tape,
        numbering: Numbering,
        save: Selection,
        order: Order,
        view: Callable[[int], Any],
    ) -> None:
        self._tape = tape
        self._numbering = numbering
        self._save = save
        self._stop = order.stop
        self._treatment = order.treatment
        self._keep_arguments = order.keep_arguments
        self._view = view
        self._needs_labels = save.needs_labels or order.stop.needs_labels
        self._awaited = set(order.stop.awaited)
        self.treated: dict[int, Any] = {}
        self.saved: set[int] = set()
        self._chosen: set[int] = set()
        self._undecided: set[int] = set()
        self._by_module: set[int] = set()
        self.stopped_at: int | None = None

    def on_commit(self, index: int, tensor: Tensor) -> None:
        names: tuple[str, ...] = ()
        if self._needs_labels:
            self._numbering.follow()
            names = self._numbering.names_of(index)
        uncertain = self._needs_labels and not self._numbering.is_certain
        if self._is_wanted(self._save, index, names):
            self._chosen.add(index)
            self.save(index, tensor)
        elif uncertain and (self._save.may_match(names) or self._stop.may_match(names)):
            self._undecided.add(index)
            self.save(index, tensor)
        elif self._save.num_last:
            self.save(index, tensor)
            # Only the last few ops are held until the end is known.
            old = index - self._save.num_last
            if old in self.saved and old not in self._chosen and old not in self._undecided:
                self._drop(old)
        if not self._stop.is_empty:
            self._end_if_there(index, tensor, names)

    def on_module_exit(self, address: str, pass_num: int, outputs: Iterable[tuple[int, Tensor]]) -> None:
        names = {address, f"{address}:{pass_num}"}
        wanted = not self._save.addresses.isdisjoint(names)
        ends = not self._stop.addresses.isdisjoint(names)
        for index, tensor in outputs if wanted or ends else ():
            self._chosen.add(index)
            self._by_module.add(index)
            if index not in self.saved:
                self.save(index, tensor)
        if ends or self._was_last_awaited(*names):
            self.stopped_at = max((index for index, _ in outputs), default=None)
            raise StopPass

    def save(self, index: int, tensor: Tensor) -> None:
        self.saved.add(index)
        if self._keep_arguments:
            self._save_arguments(index)
        if self._treatment.changes_values:
            self._treat(index, tensor)
        elif self._treatment.detach:
            self._tape.keep(index, tensor.detach())
        else:
            self._tape.keep(index, tensor)

    def _treat(self, index: int, tensor: Tensor) -> None:
        try:
            with muted(), torch.set_grad_enabled(torch.is_grad_enabled() and not self._treatment.detach):
                self.treated[index] = self._treatment.apply(tensor)
        except Exception as error:
            kind, shape = self._tape.records[index].trait.type, tuple(tensor.shape)
            error.add_note(
                f"torcheer: raised by activation_postfunc on the output of a {kind}, shape {shape}"
            )
            raise

    def _save_arguments(self, index: int) -> None:
        for parent in self._tape.records[index].parents:
            tensor = self._tape.memory.live(parent)
            # An in-place op has written over its own input: the tensor is another op's by now.
            is_unchanged = tensor is not None and self._tape.owner.get(id(tensor)) == parent
            if parent >= 0 and tensor is not None and is_unchanged and self._tape.values[parent] is None:
                self._tape.keep(parent, tensor.detach() if self._treatment.detach else tensor)

    def _is_wanted(self, selection: Selection, index: int, names: tuple[str, ...]) -> bool:
        if selection.everything:
            return True
        if selection.predicate is not None:
            with muted():
                return bool(selection.predicate(self._view(index)))
        return selection.matches(index, names, self._tape.addresses.get(index))

    def save_again(self, index: int, tensor: Tensor) -> None:
        """Another tensor goes on in the place of one that was saved."""
        if index in self.saved:
            self.save(index, tensor)

    def settle(self) -> None:
        """After the pass, when all labels are certain: keep what they mean, drop what was only possible."""
        if not self._needs_labels:
            return
        self._numbering.finish()
        names_of, addresses = self._numbering.names_of, self._tape.addresses
        by_label = {op for op in self.saved if self._save.matches(op, names_of(op), addresses.get(op))}
        sure = self._chosen if self._save.predicate else self._chosen & (by_label | self._by_module)
        num_first = len(self._tape.records) - self._save.num_last
        last = {self.stopped_at, *(op for op in self.saved if op >= num_first)}
        for op in self.saved - sure - by_label - last:
            self._drop(op)

    def _drop(self, op: int) -> None:
        self.saved.discard(op)
        self.treated.pop(op, None)
        self._tape.drop(op)

    def _was_last_awaited(self, *there: int | str) -> bool:
        """Whether nothing is left to wait for, now that these have been there."""
        if self._awaited.isdisjoint(there):
            return False
        self._awaited.difference_update(there)
        return not self._awaited

    def _end_if_there(self, index: int, tensor: Tensor, names: tuple[str, ...]) -> None:
        if self._was_last_awaited(index):
            self._end(index, tensor)
        if not self._stop.labels or self._numbering.is_certain:
            if self._is_wanted(self._stop, index, names):
                self._end(index, tensor)
        elif self._stop.may_match(names):
            # Loops are being recognised: which layer this is may only be clear now, a little later.
            now = self._numbering.as_of_now()
            for op in range(index, -1, -1):
                if self._stop.matches(op, now.names_of(op)):
                    self.stopped_at = op
                    raise StopPass

    def _end(self, index: int, tensor: Tensor) -> None:
        if index not in self.saved:
            self.save(index, tensor)
        self.stopped_at = index
        raise StopPass

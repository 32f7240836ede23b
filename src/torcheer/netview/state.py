"""`State`: record what you name inside of forward, and show it."""

from __future__ import annotations

import os
import sys
import weakref
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torcheer.capture import collect_tensors, undisturbed
from torcheer.errors import InputError
from torcheer.netview.batching import checked_items
from torcheer.netview.matching import Matching
from torcheer.netview.metlayers import MetLayers, gradient_name, split_name
from torcheer.netview.recording import NetRecording
from torcheer.netview.showing import Shown
from torcheer.netview.weightkeeping import WeightKeeper, check_settings
from torcheer.run import Connection, NetScene, Run


class State(Shown):
    """What a forward pass names, kept until `update()` makes a moment of it.

    `est = tl.State(model)`, `est.rec(x, "Image.Act")` in forward, `est.update()` after it. A name is that of
    the layer and, behind its last dot, the variable; a new name makes its layer.

    - `record`: False switches it off, and `rec` costs next to nothing.
    - `trace`: True prints the name and shape of all that is recorded.
    """

    def __init__(
        self,
        model: nn.Module | None = None,
        *,
        run: Run | str | os.PathLike[str] | None = None,
        items: int = 8,
        weights: str | None = "auto",
        optimizer: Any = None,
    ) -> None:
        self.trace = False
        self._is_on = True
        self._told: set[str] = set()
        self._model: weakref.ref[nn.Module] | None = None
        self._run_given = run
        self._items = checked_items(items)
        check_settings(weights, optimizer)
        self._settings = (weights, optimizer)
        self._recording: NetRecording | None = None
        self._keeper: WeightKeeper | None = None
        self._values: dict[str, Tensor] = {}  # of the moment to be
        self._layers = MetLayers()
        self._connections: dict[tuple[str, str], Connection] = {}
        self._num_moments = 0
        self._grad_hooks: dict[str, RemovableHandle] = {}  # by series
        self._matching = Matching()
        self._num_known = 0  # updates since a new name was met
        if model is not None:
            self.init_net(model)

    def init_net(self, *given: Any, **options: Any) -> None:
        """Say which model it is; also, if you like, `run=`, `items=`, `weights=` and `optimizer=`."""
        for value in (*given, *options.values()):
            if isinstance(value, nn.Module):
                self._model = weakref.ref(value)
            elif isinstance(value, Run) and self._recording is None:
                self._run_given = value
        if self._recording is None:
            self._run_given = options.get("run", self._run_given)
        self._items = checked_items(options.get("items", self._items))
        weights, optimizer = self._settings
        weights, optimizer = options.get("weights", weights), options.get("optimizer", optimizer)
        check_settings(weights, optimizer)
        self._settings = (weights, optimizer)
        self._keeper = None

    @property
    def record(self) -> bool:
        return self._is_on

    @record.setter
    def record(self, is_on: bool) -> None:
        self._is_on = bool(is_on)
        if not is_on:
            self._matching.stop()
            for handle in self._grad_hooks.values():
                handle.remove()
            self._grad_hooks.clear()

    # --- in forward -----------------------------------------------------------------------------------

    def rec(self, x: Any, name: str) -> Any:
        """Keep a tensor under `Layer.Variable`, as it is now. Returns `x`, and never raises."""
        # The truth of a tensor is not asked: it may stand where the name should.
        if (
            self._is_on
            and name not in ("", None)
            and not (torch.compiler.is_compiling() and _may_not_break())
        ):
            self._rec(x, name)
        return x

    def _rec(self, x: Any, name: str) -> None:
        try:
            if torch._C._get_tracing_state() is None:  # a trace must not hold what only looks
                keep: Any = self._keep
                if "torch._dynamo" in sys.modules:  # nothing in here is worth compiling
                    keep = torch.compiler.disable(keep)  # type: ignore[no-untyped-call]
                keep(x, name)
        except Exception as error:  # what only looks must not break what it looks at
            self._tell(str(x if _are_swapped(x, name) else name), error)

    _rec._torchdynamo_disable = True  # type: ignore[attr-defined]  # torch.compile leaves it to Python

    def _tell(self, name: str, error: Exception) -> None:
        if name not in self._told:
            self._told.add(name)
            sys.stderr.write(f"torcheer: {name} was not recorded: {error}\n")

    def _keep(self, x: Any, given_name: Any) -> None:
        if _are_swapped(x, given_name):
            raise InputError(f"what is recorded comes first, then its name: est.rec(x, {str(x)!r}).")
        name = str(given_name)
        found = collect_tensors(x)
        if not found:
            return
        tensor = found[0]
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise InputError("inside of torch.vmap and torch.func a tensor ends with their call.")
        layer, variable = split_name(name)
        series = f"{layer}.{variable}"
        with undisturbed():
            if self.trace:
                sys.stdout.write(f"{name} {tuple(tensor.shape)}\n")
            kept = tensor.detach()
            kept = (kept[: self._items] if kept.dim() > 1 else kept).to("cpu", copy=True)
        if series == next(iter(self._values), None):
            self._matching.forget()  # the model runs again, and nobody made a moment of the pass before
        self._values[series] = kept
        self._values.pop(f"{layer}.{gradient_name(variable)}", None)  # which was of another pass
        self._know(layer, variable, kept)
        self._matching.met(layer, tensor)
        self._follow_grad(series, tensor, layer, variable)

    def _follow_grad(self, series: str, tensor: Tensor, layer: str, variable: str) -> None:
        """Of what is recorded again, only the last counts. A parameter would gather hooks, pass by pass."""
        before = self._grad_hooks.pop(series, None)
        if before is not None:
            before.remove()
        if tensor.requires_grad and torch.is_grad_enabled():
            self._grad_hooks[series] = tensor.register_hook(  # type: ignore[no-untyped-call]
                partial(_keep_grad, weakref.ref(self), self._num_moments, layer, gradient_name(variable))
            )

    def _take_grad(self, moment: int, layer: str, variable: str, kept: Tensor) -> None:
        """It belongs to the moment of its own pass, which may have been made before the backward pass."""
        is_new = not self._layers.has(layer, variable)
        self._know(layer, variable, kept)
        if moment == self._num_moments:
            self._values[f"{layer}.{variable}"] = kept
        elif moment == self._num_moments - 1 and self._recording is not None:
            self._recording.put(f"{layer}.{variable}", kept)
            if is_new:
                self._recording.show(self._known_scene())

    def _know(self, name: str, variable: str, kept: Tensor) -> None:
        """A layer that is met for the first time, or has a new variable or shape."""
        if not self._layers.meet(name, variable, kept):
            return
        self._num_known = 0
        model = None if self._model is None else self._model()
        if model is not None:
            self._matching.start(model)

    # --- after forward --------------------------------------------------------------------------------

    def update(self, *, name: str = "", **counters: Any) -> int:
        """Make a moment of what was recorded since the last one. Returns its step, or that of the last one
        where there is nothing new; -1 where there is none, or the run is closed.

        Counters are shown as text: `est.update(epoch=3, trial=17)`.
        """
        if self._recording is not None and self._recording.is_closed():
            self._values = {}
            return -1
        if not self._values:
            return self._recording.step if self._recording is not None else -1
        self._match()
        recording = self._writable()
        step = recording.begin()
        recording.show(self._known_scene())
        for series, value in self._values.items():
            recording.put(series, value)
        self._values = {}
        self._num_moments += 1
        keeper = self._weight_keeper()
        if keeper is not None:
            keeper.put(recording.put)
        recording.end({**({"name": name} if name else {}), **counters})
        return step

    def _known_scene(self) -> NetScene:
        return NetScene(layers=self._layers.copies(), connections=list(self._connections.values()))

    def _match(self) -> None:
        """Learn the connections from the first pass; the second one was hooked from its beginning."""
        if not self._matching.is_on:
            return
        for connection in self._matching.connections(self._layers.all):
            self._connections[connection.source, connection.target] = connection
        self._matching.forget()
        self._num_known += 1
        if self._num_known > 1:
            self._matching.stop()

    def _weight_keeper(self) -> WeightKeeper | None:
        model = None if self._model is None else self._model()
        if self._keeper is None and model is not None:
            self._keeper = WeightKeeper(model, *self._settings)
            recording = self._writable()
            if recording.step > 0:
                self._keeper.go_on(recording.last_tensor)
        return self._keeper

    # --- the run ---------------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """Where it is recorded."""
        return self._writable().run

    def _writable(self) -> NetRecording:
        if self._recording is None:
            self._recording = NetRecording(self._run_given, is_growing=True)
        return self._recording

    def close(self) -> None:
        """Take the last hooks away and write what is left. A run that you opened yourself stays open."""
        self.record = False
        if self._recording is not None:
            self._recording.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        """A copy of a model has a state of its own, which is off and knows no run."""
        twin = State(items=self._items, weights=self._settings[0])
        twin.record = False
        memo[id(self)] = twin
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _asleep, (self._items, self._settings[0])

    def __repr__(self) -> str:
        return f"<State of {len(self._layers)} layers, {'on' if self.record else 'off'}>"


def _are_swapped(x: Any, name: Any) -> bool:
    return isinstance(x, str) and not isinstance(name, str)


def _may_not_break() -> bool:
    """Whether what torch.compile is at may not be left for Python: then nothing is recorded. Asked by it."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        return bool(InstructionTranslator.current_tx().one_graph)
    except Exception:
        return True


_may_not_break._dynamo_marked_constant = True  # type: ignore[attr-defined]  # run while it compiles


def _keep_grad(state: weakref.ref[State], moment: int, layer: str, variable: str, grad: Tensor) -> None:
    alive = state()
    if alive is None or not alive.record:
        return
    try:
        with undisturbed():
            kept = grad.detach()
            kept = (kept[: alive._items] if kept.dim() > 1 else kept).to("cpu", copy=True)
        alive._take_grad(moment, layer, variable, kept)
    except Exception as error:  # nor must it break a backward pass
        alive._tell(f"{layer}.{variable}", error)


def _asleep(items: int, weights: str | None) -> State:
    state = State(items=items, weights=weights)
    state.record = False
    return state

"""`State`: record what you name inside of forward, and show it."""

from __future__ import annotations

import copy
import sys
import weakref
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from torcheer.capture.nesting import collect_tensors
from torcheer.capture.undisturbed import undisturbed
from torcheer.errors import InputError
from torcheer.netview.grids import grid_of
from torcheer.netview.matching import Matching
from torcheer.netview.recording import NetRecording
from torcheer.netview.showing import Shown
from torcheer.netview.weightkeeping import WeightKeeper
from torcheer.run.netscene import Connection, NetLayer, NetScene, Place
from torcheer.run.run import Run

_DEFAULT_VARIABLE = "Act"


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
        run: Run | str | None = None,
        items: int = 8,
        weights: str | None = "auto",
        optimizer: Any = None,
    ) -> None:
        self.trace = False
        self._is_on = True
        self._told: set[str] = set()
        self._model: weakref.ref[nn.Module] | None = None
        self._run_given = run
        self._items = items
        self._settings = (weights, optimizer)
        self._recording: NetRecording | None = None
        self._keeper: WeightKeeper | None = None
        self._values: dict[str, Tensor] = {}  # of the moment to be
        self._layers: dict[str, NetLayer] = {}
        self._connections: dict[tuple[str, str], Connection] = {}
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
        self._items = int(options.get("items", self._items))
        weights, optimizer = self._settings
        self._settings = (options.get("weights", weights), options.get("optimizer", optimizer))
        self._keeper = None

    @property
    def record(self) -> bool:
        return self._is_on

    @record.setter
    def record(self, is_on: bool) -> None:
        self._is_on = bool(is_on)
        if not is_on:
            self._matching.stop()

    # --- in forward -----------------------------------------------------------------------------------

    def rec(self, x: Any, name: str) -> Any:
        """Keep a tensor under `Layer.Variable`, as it is now. Returns `x`, and never raises."""
        if self._is_on and name and not (torch.compiler.is_compiling() and _may_not_break()):
            self._rec(x, name)
        return x

    def _rec(self, x: Any, name: str) -> None:
        try:
            if torch._C._get_tracing_state() is None:  # a trace must not hold what only looks
                keep: Any = self._keep
                if "torch._dynamo" in sys.modules:  # nothing in here is worth compiling
                    keep = torch.compiler.disable(keep)  # type: ignore[no-untyped-call]
                keep(x, str(name))
        except Exception as error:  # what only looks must not break what it looks at
            if name not in self._told:
                self._told.add(name)
                sys.stderr.write(f"torcheer: {name} was not recorded: {error}\n")

    _rec._torchdynamo_disable = True  # type: ignore[attr-defined]  # torch.compile leaves it to Python

    def _keep(self, x: Any, name: str) -> None:
        found = collect_tensors(x)
        if not found:
            return
        tensor = found[0]
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise InputError("inside of torch.vmap and torch.func a tensor ends with their call.")
        layer, variable = split_name(name)
        with undisturbed():
            if self.trace:
                sys.stdout.write(f"{name} {tuple(tensor.shape)}\n")
            kept = tensor.detach()
            kept = (kept[: self._items] if kept.dim() > 1 else kept).to("cpu", copy=True)
        if f"{layer}.{variable}" in self._values:
            self._matching.forget()  # the model runs again, and nobody made a moment of the pass before
        self._values[f"{layer}.{variable}"] = kept
        self._know(layer, variable, kept)
        self._matching.met(layer, tensor)
        if tensor.requires_grad and torch.is_grad_enabled():
            what = "Grad" if variable == _DEFAULT_VARIABLE else f"{variable}.Grad"
            tensor.register_hook(  # type: ignore[no-untyped-call]
                partial(_keep_grad, weakref.ref(self), layer, what)
            )

    def _know(self, name: str, variable: str, kept: Tensor) -> None:
        """A layer that is met for the first time, or has a new variable or shape."""
        has_items = kept.dim() > 1
        shape = list(kept.shape[1:] if has_items else kept.shape)
        known = self._layers.get(name)
        if known is not None and known.shape == shape:
            if variable not in known.variables:
                known.variables.append(variable)
            return
        is_first = not self._layers
        self._layers[name] = NetLayer(
            name=name,
            module="",
            shape=shape,
            grid=grid_of(shape, is_picture=is_first),
            variables=[variable] if known is None else list(dict.fromkeys([*known.variables, variable])),
            place=Place(),
            is_input=is_first if known is None else known.is_input,
            has_items=has_items,
        )
        self._num_known = 0
        model = None if self._model is None else self._model()
        if model is not None:
            self._matching.start(model)

    # --- after forward --------------------------------------------------------------------------------

    def update(self, *, name: str = "", **counters: Any) -> int:
        """Make a moment of what was recorded since the last one. Returns its step, -1 where there is nothing.

        Counters are shown as text: `est.update(epoch=3, trial=17)`.
        """
        if not self._values:
            return self._recording.step if self._recording is not None else -1
        self._match()
        if self._recording is None:
            self._recording = NetRecording(self._run_given)
        recording = self._recording
        step = recording.begin()
        recording.show(NetScene(layers=_copied(self._layers), connections=list(self._connections.values())))
        for series, value in self._values.items():
            recording.put(series, value)
        self._values = {}
        keeper = self._weight_keeper()
        if keeper is not None:
            keeper.put(recording.put)
        recording.end({**({"name": name} if name else {}), **counters})
        return step

    def _match(self) -> None:
        """Learn the connections from the first pass; the second one was hooked from its beginning."""
        if not self._matching.is_on:
            return
        for connection in self._matching.connections(self._layers.values()):
            self._connections[connection.source, connection.target] = connection
        self._matching.forget()
        self._num_known += 1
        if self._num_known > 1:
            self._matching.stop()

    def _weight_keeper(self) -> WeightKeeper | None:
        model = None if self._model is None else self._model()
        if self._keeper is None and model is not None:
            self._keeper = WeightKeeper(model, *self._settings)
        return self._keeper

    # --- the run ---------------------------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """Where it is recorded."""
        if self._recording is None:
            self._recording = NetRecording(self._run_given)
        return self._recording.run

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


def split_name(name: str) -> tuple[str, str]:
    """`Layer.Var`, at the last dot; without one it is the variable Act."""
    layer, dot, variable = name.rpartition(".")
    if not dot:
        return name, _DEFAULT_VARIABLE
    if not layer or not variable:
        raise InputError(f"{name!r} names no layer and variable: give a name such as 'Image.Act'.")
    return layer, variable


def _may_not_break() -> bool:
    """Whether what torch.compile is at may not be left for Python: then nothing is recorded. Asked by it."""
    try:
        from torch._dynamo.symbolic_convert import InstructionTranslator

        return bool(InstructionTranslator.current_tx().one_graph)
    except Exception:
        return True


_may_not_break._dynamo_marked_constant = True  # type: ignore[attr-defined]  # run while it compiles


def _keep_grad(state: weakref.ref[State], layer: str, variable: str, grad: Tensor) -> None:
    alive = state()
    if alive is not None and alive.record:
        with undisturbed():
            kept = grad.detach()
            kept = (kept[: alive._items] if kept.dim() > 1 else kept).to("cpu", copy=True)
        alive._values[f"{layer}.{variable}"] = kept
        alive._know(layer, variable, kept)


def _copied(layers: dict[str, NetLayer]) -> list[NetLayer]:
    """Their lists of variables may still grow."""
    return [copy.deepcopy(layer) for layer in layers.values()]


def _asleep(items: int, weights: str | None) -> State:
    state = State(items=items, weights=weights)
    state.record = False
    return state

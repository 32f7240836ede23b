"""`State`: record what you name inside of forward, show it, and find out what connects it."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torcheer.capture import collect_tensors, undisturbed
from torcheer.errors import InputError
from torcheer.models import unwrapped_model
from torcheer.netview.connections import fits, front_padding
from torcheer.netview.layers_of_pass import checked_items
from torcheer.netview.moment_recorder import NetRecorder, WeightKeeper, check_settings
from torcheer.netview.scene import gradient_name, grid_of
from torcheer.netview.view import NetworkOfRun
from torcheer.run import Connection, Form, NetLayer, NetScene, Place, Run

ACT: Final = "Act"  # the variable of a name that names none


def split_name(name: str) -> tuple[str, str]:
    """`Layer.Var`, at the last dot; without one it is the variable Act."""
    layer, dot, variable = name.rpartition(".")
    if not dot:
        return name, ACT
    if not layer or not variable:
        raise InputError(f"{name!r} names no layer and variable: give a name such as 'Image.Act'.")
    return layer, variable


def _meet(layers: dict[str, NetLayer], name: str, variable: str, kept: Tensor) -> bool:
    """Enter a variable. True where its layer is new, or has a new shape. The first layer is the input."""
    has_items = kept.dim() > 1
    shape = list(kept.shape[1:] if has_items else kept.shape)
    known = layers.get(name)
    variables = list(dict.fromkeys([*(known.variables if known else []), variable]))
    if known is not None:
        # A layer has the shape of its Act, or else of its first variable; others may have one of their own.
        main = ACT if ACT in known.variables else known.variables[0]
        if known.shape == shape or variable not in (main, ACT):
            layers[name] = msgspec.structs.replace(known, variables=variables)
            return False
    is_input = known.is_input if known is not None else not layers
    layers[name] = NetLayer(
        name=name,
        module="",
        shape=shape,
        grid=grid_of(shape, is_picture=is_input),
        variables=variables,
        place=Place(),
        is_input=is_input,
        has_items=has_items,
    )
    return True


_HANDING_ON: Final = (nn.Identity, nn.Flatten, nn.Unflatten, nn.modules.dropout._DropoutNd)
_FORMS: Final[tuple[tuple[Form, tuple[type[nn.Module], ...]], ...]] = (
    ("linear", (nn.Linear,)),
    ("embedding", (nn.Embedding,)),
    ("conv", (nn.Conv1d, nn.Conv2d, nn.Conv3d)),
    ("transposed_conv", (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)),
)


def _form_of(weight: str, module: Any, source: NetLayer, target: NetLayer) -> Connection | None:
    """`weight` names its series. None where the form is not known, or does not fit the two layers."""
    form = next((form for form, kinds in _FORMS if isinstance(module, kinds)), None)
    own = module._parameters.get("weight")  # one that is computed is no parameter
    is_padded = getattr(module, "padding_mode", "zeros") != "zeros"
    if form is None or own is None or is_padded or source.has_items != target.has_items:
        return None
    geometry: dict[str, Any] = {}
    if "conv" in form:
        geometry = {name: list(getattr(module, name)) for name in ("stride", "dilation")}
        geometry["padding"] = list(front_padding(module.padding, module.kernel_size, module.dilation))
        geometry["groups"] = module.groups
    bias = "" if getattr(module, "bias", None) is None else None  # else found by the name of the weight
    found = Connection(
        source=source.name, target=target.name, form=form, weight=weight, bias=bias, **geometry
    )
    return found if fits(found, own.shape, source.shape, target.shape) else None


_MOST_HELD: Final = 4096  # calls, and tensors that were recorded


class _Call(NamedTuple):
    """One call of a module. The tensors are held, so that their memory is nobody else's meanwhile."""

    address: str
    module: nn.Module
    read: tuple[Tensor, ...]
    gave: tuple[Tensor, ...]


class _Met(NamedTuple):
    layer: str
    tensor: Tensor


class ModuleMatcher:
    """Hooks on the modules of a model for a pass or two, until it is known what reads what."""

    def __init__(self) -> None:
        self._handles: list[RemovableHandle] = []
        self._names: dict[int, str] = {}  # of parameters, by their id: one that is shared has its first
        self._events: list[_Call | _Met] = []  # in their order

    @property
    def is_on(self) -> bool:
        return bool(self._handles)

    def start(self, model: nn.Module) -> None:
        if self._handles:
            return
        self._names = {id(param): name for name, param in unwrapped_model(model).named_parameters()}
        for address, module in unwrapped_model(model).named_modules():
            if not isinstance(module, torch.jit.ScriptModule) and not any(True for _ in module.children()):
                hook = _Hook(weakref.ref(self), address)
                self._handles.append(module.register_forward_hook(hook))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self.forget()

    def forget(self) -> None:
        """Let go of the tensors of a pass."""
        self._events.clear()

    def _note(self, event: _Call | _Met) -> None:
        # A model that runs on and on without a moment must not pile up its tensors.
        if len(self._events) >= _MOST_HELD:
            self.forget()
        self._events.append(event)

    def see(self, address: str, module: nn.Module, args: Any, output: Any) -> None:
        self._note(_Call(address, module, tuple(collect_tensors(args)), tuple(collect_tensors(output))))

    def met(self, layer: str, tensor: Tensor) -> None:
        if self._handles:
            self._note(_Met(layer, tensor))

    def connections(self, shapes: Mapping[str, NetLayer]) -> list[Connection]:
        found: dict[tuple[str, str], Connection] = {}
        for place, call in enumerate(self._events):
            if not isinstance(call, _Call) or not call.read:
                continue
            # As which layer its result was recorded, before another module wrote over it.
            later = (event for event in self._events[place + 1 :] if isinstance(event, _Met))
            same = (event for event in later if any(_is_same(event.tensor, gave) for gave in call.gave))
            target = next((event.layer for event in same), "")
            source, is_exact = self._source(call.read[0], place)
            if source is None or source == target or source not in shapes or target not in shapes:
                continue
            connection = Connection(source=source, target=target, form="other")
            if is_exact:
                # The name of the series: tied weights are recorded once.
                own = f"{call.address}.weight" if call.address else "weight"
                weight = self._names.get(id(call.module._parameters.get("weight")), own)
                connection = _form_of(weight, call.module, shapes[source], shapes[target]) or connection
            found.setdefault((source, target), connection)
        return list(found.values())

    def _source(self, tensor: Tensor, before: int) -> tuple[str | None, bool]:
        """The layer that a tensor was recorded as: itself, or what it was made of. Are these its values?"""
        is_exact = True
        while True:
            maker: tuple[int, _Call] | None = None
            for place in range(before - 1, -1, -1):
                event = self._events[place]
                if isinstance(event, _Met):
                    if _is_same(event.tensor, tensor):
                        return event.layer, is_exact
                elif maker is None and any(_is_same(gave, tensor) for gave in event.gave):
                    maker = place, event
            if maker is None or not maker[1].read:
                return None, False
            before, call = maker
            is_exact = is_exact and isinstance(call.module, _HANDING_ON)
            tensor = call.read[0]


class _Hook:
    """On one module. A model that is copied or saved meanwhile takes one along that only removes itself."""

    def __init__(self, matching: weakref.ref[ModuleMatcher] | None = None, address: str = "") -> None:
        self._matching = matching
        self._address = address

    def __call__(self, module: nn.Module, args: Any, output: Any) -> None:
        if self._matching is None:
            for number in [number for number, hook in module._forward_hooks.items() if hook is self]:
                del module._forward_hooks[number]
            return
        alive = self._matching()
        if alive is not None and not torch.compiler.is_compiling():
            alive.see(self._address, module, args, output)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Hook, ()


# What models that were saved by an earlier torcheer ask for.
_for_a_copy, remove_itself = _Hook, _Hook()


def _is_same(one: Tensor, other: Tensor) -> bool:
    """The same numbers in the same memory; a view in another shape will do, one in another order will not."""
    if one is other:
        return True
    try:
        return (
            one.numel() == other.numel()
            and one.data_ptr() == other.data_ptr()
            and one.data_ptr() != 0
            and one.is_contiguous() == other.is_contiguous()
            and (one.is_contiguous() or one.stride() == other.stride())
        )
    except RuntimeError:  # a tensor without memory of its own
        return False


class State(NetworkOfRun):
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
        self._recording: NetRecorder | None = None
        self._keeper: WeightKeeper | None = None
        self._values: dict[str, Tensor] = {}  # of the moment to be
        self._layers: dict[str, NetLayer] = {}  # in the order in which they were met
        self._connections: dict[tuple[str, str], Connection] = {}
        self._num_moments = 0
        self._grad_hooks: dict[str, RemovableHandle] = {}  # by series
        self._matching = ModuleMatcher()
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
        self._settings = options.get("weights", weights), options.get("optimizer", optimizer)
        check_settings(*self._settings)
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
        if self.trace:
            sys.stdout.write(f"{name} {tuple(tensor.shape)}\n")
        kept = self._kept(tensor)
        if series == next(iter(self._values), None):
            self._matching.forget()  # the model runs again, and nobody made a moment of the pass before
        self._values[series] = kept
        self._values.pop(f"{layer}.{gradient_name(variable)}", None)  # which was of another pass
        self._know(layer, variable, kept)
        self._matching.met(layer, tensor)
        self._follow_grad(series, tensor, layer, variable)

    def _kept(self, tensor: Tensor) -> Tensor:
        with undisturbed():
            kept = tensor.detach()
            return (kept[: self._items] if kept.dim() > 1 else kept).to("cpu", copy=True)

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
        is_new = layer not in self._layers or variable not in self._layers[layer].variables
        self._know(layer, variable, kept)
        if moment == self._num_moments:
            self._values[f"{layer}.{variable}"] = kept
        elif moment == self._num_moments - 1 and self._recording is not None:
            self._recording.put(f"{layer}.{variable}", kept)
            if is_new:
                self._recording.show(self._known_scene())

    def _know(self, name: str, variable: str, kept: Tensor) -> None:
        """A layer that is met for the first time, or has a new variable or shape."""
        if not _meet(self._layers, name, variable, kept):
            return
        self._num_known = 0
        model = None if self._model is None else self._model()
        if model is not None:
            self._matching.start(model)

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
        if self._matching.is_on:  # the second pass was hooked from its beginning
            for connection in self._matching.connections(self._layers):
                self._connections[connection.source, connection.target] = connection
            self._matching.forget()
            self._num_known += 1
            if self._num_known > 1:
                self._matching.stop()
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
        return NetScene(layers=list(self._layers.values()), connections=list(self._connections.values()))

    def _weight_keeper(self) -> WeightKeeper | None:
        model = None if self._model is None else self._model()
        if self._keeper is None and model is not None:
            self._keeper = WeightKeeper(model, *self._settings)
            recording = self._writable()
            if recording.step > 0:
                self._keeper.go_on(recording.last_tensor)
        return self._keeper

    @property
    def run(self) -> Run:
        """Where it is recorded."""
        return self._writable().run

    def _writable(self) -> NetRecorder:
        if self._recording is None:
            self._recording = NetRecorder(self._run_given, is_growing=True)
        return self._recording

    def close(self) -> None:
        """Take the last hooks away and write what is left. A run that you opened yourself stays open."""
        self.record = False
        if self._recording is not None:
            self._recording.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        """A copy of a model has a state of its own, which is off and knows no run."""
        memo[id(self)] = twin = _asleep(self._items, self._settings[0])
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
        alive._take_grad(moment, layer, variable, alive._kept(grad))
    except Exception as error:  # nor must it break a backward pass
        alive._tell(f"{layer}.{variable}", error)


def _asleep(items: int, weights: str | None) -> State:
    state = State(items=items, weights=weights)
    state.record = False
    return state

"""`NetView`: a network in three dimensions, without a line of code in the model."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.capture import (
    ModelHistory,
    bind,
    call_with_copied_tensors,
    check_model,
    collect_tensors,
    log_forward_pass,
    same_model_after,
    same_random_state_after,
)
from torcheer.errors import InputError
from torcheer.models import unwrapped_model
from torcheer.netview.flow import Flow
from torcheer.netview.layers_of_pass import NetPlan, checked_items, gradient_of, plan_of, signature_of
from torcheer.netview.moment_recorder import NetRecorder, WeightKeeper
from torcheer.netview.network_reader import (
    Array,
    FoundScene,
    found_scene,
    values_of,
    weights_of,
    why_no_weights,
)
from torcheer.netview.scene import check_name, gradient_name
from torcheer.run import NetScene, Run, SavedRun, WarningsOnce, open_run, reader_of

Loss = Callable[[Any], Tensor]


class Look(NamedTuple):
    """A pass, and the gradients of parameters by name."""

    history: ModelHistory
    param_grads: dict[str, Tensor]


def looked_at(model: nn.Module, x: Any, loss: Loss | None) -> Look:
    """A pass, and with a loss its gradients. Buffers, generators, gradients and flags stay as they were."""
    if any(is_lazy(param) for param in unwrapped_model(model).parameters()):
        raise InputError("the model has lazy parameters: run it once before it is looked at.")
    if any(tensor.is_nested for tensor in collect_tensors(x)):
        raise InputError("a nested tensor has no shape to be shown in: give x.to_padded_tensor(0.0).")
    with same_random_state_after(), same_model_after(unwrapped_model(model)):
        if loss is None:
            call = call_with_copied_tensors(bind(model, x, None))
            return Look(log_forward_pass(model, list(call.args), call.kwargs), {})
        # Somebody may look from inside of no_grad or inference_mode.
        with torch.inference_mode(False), torch.enable_grad():
            return _with_gradients(model, x, loss)


def _with_gradients(model: nn.Module, x: Any, loss: Loss) -> Look:
    leaves: list[Tensor] = []

    def followed(tensor: Tensor) -> Tensor:
        copy = tensor.detach().clone()
        if copy.is_floating_point() or copy.is_complex():
            leaves.append(copy.requires_grad_())
            copy = copy.clone()  # forward may write into what it is given, but not into a leaf
        return copy

    call = call_with_copied_tensors(bind(model, x, None), followed)
    history = log_forward_pass(model, list(call.args), call.kwargs, save_gradients=True)
    try:
        value = loss(history.output)
    except TypeError as error:  # most losses want targets, too
        raise InputError(
            f"the loss cannot be called with the output of the model alone ({error}): give a function of the "
            "output, such as loss=lambda output: loss(output, y)."
        ) from error
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.requires_grad:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise InputError(
            f"the loss gave {shape}: it must make one number of what the model returns, which hangs on it "
            "and is not detached."
        )
    params = {name: p for name, p in unwrapped_model(model).named_parameters() if p.requires_grad}
    # Not backward(): nothing is added to any .grad, and no hook of an optimizer runs.
    found = torch.autograd.grad(value.reshape(()), [*params.values(), *leaves], allow_unused=True)
    grads = dict(zip(params, found, strict=False))
    return Look(history, {name: grad for name, grad in grads.items() if grad is not None})


class NetworkOfRun:
    """A network that is shown from its run."""

    _recording: NetRecorder | None
    _teller: WarningsOnce | None = None
    _looked: tuple[Mapping[Any, Any], FoundScene] | None = None  # the series of the run, and what they show

    @property
    def run(self) -> Run | SavedRun:
        raise NotImplementedError

    @property
    def scene(self) -> NetScene:
        """The layers, how they lie, and what connects them."""
        return self._found().scene

    def _found(self) -> FoundScene:
        recording = self._recording
        if recording is not None and recording.scene.layers:
            return FoundScene(scene=recording.scene, source="netview", series={})
        reader = reader_of(self.run)
        series = reader.series()  # another object where there is news
        if self._looked is None or self._looked[0] is not series:
            self._looked = series, found_scene(reader)
        return self._looked[1]

    def place(
        self,
        layer: str,
        *,
        above: str | None = None,
        below: str | None = None,
        rightof: str | None = None,
        leftof: str | None = None,
        infront: str | None = None,
        behind: str | None = None,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        scale: float = 1.0,
    ) -> None:
        """Put a layer somewhere: in relation to another one, moved by `offset`, and `scale` times as large.

        The offset is to the right, up and to the front, in widths of a plate. It is kept with the run.
        """
        recording, scene = self._to_arrange(layer)
        relations = {
            "above": above,
            "below": below,
            "rightof": rightof,
            "leftof": leftof,
            "infront": infront,
            "behind": behind,
        }
        names = [each.name for each in scene.layers]
        recording.arrangement.place(layer, names, relations, offset, scale)
        recording.show_again(scene)

    def reshape(self, layer: str, shape: Sequence[int]) -> None:
        """Lay the units of a layer out: rows and columns, or tiles down and across, and the rows and columns
        of each tile. It is kept with the run."""
        recording, scene = self._to_arrange(layer)
        recording.arrangement.reshape(layer, shape, scene.layers)
        recording.show_again(scene)

    def _to_arrange(self, layer: str) -> tuple[NetRecorder, NetScene]:
        recording, found = self._writable(), self._found()
        check_name(layer, [each.name for each in found.scene.layers])
        if found.source != "netview":
            raise InputError(
                "the layers of this run are known by the names of its tensors only, and places are kept with "
                "a network: tl.NetView(model, x, run=…) or tl.State record one."
            )
        return recording, found.scene

    def _writable(self) -> NetRecorder:
        if self._recording is None:
            raise InputError(
                "this view only looks at a run: places and shapes are kept by the one that records it. "
                "tl.NetView(tl.Run(path)) opens a run to write."
            )
        return self._recording

    def show(self) -> str | None:
        """Show it: in a notebook between the cells, as it is now, up to 4 MB; else in the browser, where the
        page goes on as the run does. Returns the address of that page."""
        address: str | None = self._page().show_net(self.run.path)
        return address

    def write_html(self, path: str | os.PathLike[str], *, max_bytes: int = 20_000_000) -> str:
        """Write it, as it is now, to one HTML file that needs no server and no network. Returns where it is.

        Values go in as they are where all of them have room in `max_bytes`. Else they are rounded, and the
        last moments and the first items go in; the page says so, and where none has room, a warning. A file
        has no Analysis.
        """
        written: str = self._page().write_net_page(self.run.path, path, max_bytes=max_bytes)
        return written

    def _page(self) -> Any:
        """The one seam upwards: the app stands above this room. It reads the run, so all is written first."""
        if self._recording is not None:
            self._recording.run.flush()
        return importlib.import_module("torcheer.app")

    def values(self, name: str, step: int | None = None, item: int = 0) -> Array:
        """A variable of a layer, `conv1.Act`, as it was at a moment, or as it is."""
        return values_of(self.run, self._found(), name, step, item)

    def weights(
        self,
        layer: str,
        unit: int | Sequence[int],
        direction: Literal["received", "sent"] = "received",
        step: int | None = None,
        *,
        item: int = 0,
        variable: str = "Wt",
    ) -> dict[str, Array]:
        """The weights of one unit, laid on the units of the layers at their other end; NaN: not connected.

        `unit` is a number, or an index into the tensor of one item. `variable` may be Grad, Delta, exp_avg…
        Where there are none, a warning says why.
        """
        found = self._found()
        weights = weights_of(self.run, found, layer, unit, direction, step, item=item, variable=variable)
        if not weights:
            self._teller = self._teller or WarningsOnce()
            self._teller.tell(why_no_weights(found, layer, direction))
        return weights


def scene_to_write(plan: NetPlan, keeper: WeightKeeper, *, has_gradients: bool) -> NetScene:
    """The scene of a plan, with the variables that are recorded, and why weights are missing."""
    missing: dict[str, str] = {}
    for connection in plan.scene.connections:
        if connection.weight and connection.form != "attention":
            missing[connection.target] = keeper.why_not(connection.weight)
    layers = []
    for layer, planned in zip(plan.scene.layers, plan.layers, strict=True):
        gradients = [gradient_name(variable) for variable in planned.gradients]
        note = "; ".join(filter(None, (layer.note, missing.get(layer.name, ""))))
        variables = [*layer.variables, *(gradients if has_gradients else [])]
        layers.append(msgspec.structs.replace(layer, variables=variables, note=note))
    return NetScene(layers=layers, connections=plan.scene.connections)


_Path = str | os.PathLike[str]


class NetView(NetworkOfRun):
    """The layers of a model as plates of units, recorded at moments of your choice.

    - `model`, `x`: what is run, as it is: its buffers, random numbers, gradients and mode stay as they are.
      `x` is what forward takes: a tensor, several in a list, or a dict of named ones.
    - `run`: a folder or a `tl.Run` to record into; left out, a run that goes with the program. One that has
      moments of the same layers goes on.
    - `loss`: a function of what the model returns, which gives one number. With it there are gradients.
    - `items`: how many items of the batch are kept.
    - `layers`: `'all'`, or names, patterns, types, modules or rules, as in `tl.watch`.
    - `weights`: `'auto'` keeps parameters of up to 16 MB, 64 MB together; `'all'` all of them; None none.
    - `optimizer`: keeps what it keeps for each parameter, too.

    `tl.NetView(run)`, with a folder, a `tl.Run` or what `tl.open_run` gave, only looks at a run.
    """

    def __init__(
        self,
        model: nn.Module | Run | SavedRun | _Path,
        x: Any = None,
        *,
        run: Run | _Path | None = None,
        loss: Loss | None = None,
        items: int = 8,
        layers: Any = "all",
        weights: str | None = "auto",
        optimizer: Any = None,
    ) -> None:
        self._plan: NetPlan | None = None
        self._saved: SavedRun | None = None
        self._recording: NetRecorder | None = None
        if isinstance(model, Run | SavedRun | str | os.PathLike):
            if x is not None or run is not None:
                raise InputError("a run is only looked at: leave x and run out, or give a model.")
            if isinstance(model, Run):
                self._recording = NetRecorder(model)
            else:
                self._saved = model if isinstance(model, SavedRun) else open_run(model)
            return
        if not isinstance(model, nn.Module | type) or x is None:
            raise InputError(
                f"a {type(model).__name__} and {'no input' if x is None else 'an input'} cannot be shown as "
                "a network: give a torch.nn.Module and what its forward takes, tl.NetView(model, x), or a "
                "run, tl.NetView('runs/a')."
            )
        check_model(model)
        if loss is not None and not callable(loss):
            raise InputError(f"the loss is {loss!r}: give a function of what the model returns, or none.")
        self.model: nn.Module = model
        self.loss: Loss | None = loss  # may be set anew before an update
        self._x = x
        self._items = checked_items(items)
        self._layers = layers
        self._keeper = WeightKeeper(model, weights, optimizer)
        self._run_given = run
        self.update()

    def update(self, x: Any = None, *, name: str = "", **counters: Any) -> int:
        """Run the model on `x`, or on what it ran on before, and record that as a moment. Returns its step,
        -1 where the run is closed.

        Counters are shown as text: `view.update(x, epoch=3, trial=17, name="cat")`.
        """
        if not hasattr(self, "model"):
            raise InputError("this view only looks at a run: tl.NetView(model, x) records.")
        if self._recording is not None and self._recording.is_closed():
            return -1
        x = self._x if x is None else x
        look = looked_at(self.model, x, self.loss)
        flow = Flow(look.history)
        plan = self._plan
        if plan is None or signature_of(flow) != plan.signature:  # the model went another way
            plan = self._plan = plan_of(flow.history, self.model, self._layers)
            self._keeper.look_at(self.model)
        self._x = x
        is_first = self._recording is None
        recording = self._recording = self._recording or NetRecorder(self._run_given)
        step = recording.begin()
        recording.show(scene_to_write(plan, self._keeper, has_gradients=self.loss is not None))
        if is_first and step:
            self._keeper.go_on(recording.last_tensor)
        self._put(flow, plan, recording)
        self._keeper.put(recording.put, look.param_grads)
        recording.end({**({"name": name} if name else {}), **counters})
        return step

    def _put(self, flow: Flow, plan: NetPlan, recording: NetRecorder) -> None:
        for layer in plan.layers:
            num_items = self._items if layer.has_items else None
            values = {name: reader(flow, num_items) for name, reader in layer.values.items()}
            if self.loss is not None:
                for variable in layer.gradients:
                    values[gradient_name(variable)] = gradient_of(flow, layer, variable, num_items)
            for variable, value in values.items():
                if value is not None:
                    recording.put(f"{layer.name}.{variable}", value)

    @property
    def run(self) -> Run | SavedRun:
        """Where it is recorded: `view.run.tensors("conv1.Act")`."""
        if self._recording is not None:
            return self._recording.run
        assert self._saved is not None
        return self._saved

    def close(self) -> None:
        """Write what is left. A run that you opened yourself stays open."""
        if self._saved is not None:
            self._saved.close()
        elif self._recording is not None:
            self._recording.close()

    def __enter__(self) -> NetView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        scene = self.scene
        num_units = sum(layer.grid.num_units for layer in scene.layers)
        return f"<NetView of {len(scene.layers)} layers, {num_units:,} units: {self.run.path}>"

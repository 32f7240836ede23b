"""`NetView`: a network in three dimensions, without a line of code in the model."""

from __future__ import annotations

import os
from typing import Any

from torch import Tensor, nn

from torcheer.capture import check_model
from torcheer.errors import InputError
from torcheer.netview.batching import checked_items
from torcheer.netview.capturing import plan_of, signature_of
from torcheer.netview.flow import Flow
from torcheer.netview.planning import NetPlan, gradient_of
from torcheer.netview.recording import NetRecording
from torcheer.netview.running import Loss, looked_at
from torcheer.netview.showing import Shown, scene_to_write
from torcheer.netview.weightkeeping import WeightKeeper
from torcheer.run import Run, SavedRun, open_run

_Path = str | os.PathLike[str]


class NetView(Shown):
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
        self._recording: NetRecording | None = None
        if isinstance(model, Run | SavedRun | str | os.PathLike):
            if x is not None or run is not None:
                raise InputError("a run is only looked at: leave x and run out, or give a model.")
            self._look(model)
            return
        _check_given(model, loss)
        if x is None:
            raise InputError("there is no input: tl.NetView(model, x), with what forward takes.")
        self.model: nn.Module = model
        self.loss: Loss | None = loss  # may be set anew before an update
        self._x = x
        self._items = checked_items(items)
        self._layers = layers
        self._keeper = WeightKeeper(model, weights, optimizer)
        self._run_given = run
        self.update()

    def _look(self, run: Run | SavedRun | _Path) -> None:
        if isinstance(run, Run):
            self._recording = NetRecording(run)
        else:
            self._saved = run if isinstance(run, SavedRun) else open_run(run)

    # --- recording -----------------------------------------------------------------------------------

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
        plan = self._planned(flow)
        self._x = x
        is_first = self._recording is None
        recording = self._recording = self._recording or NetRecording(self._run_given)
        step = recording.begin()
        recording.show(scene_to_write(plan, self._keeper, has_gradients=self.loss is not None))
        if is_first and step:
            self._keeper.go_on(recording.last_tensor)
        self._put(flow, plan, recording)
        self._keeper.put(recording.put, look.param_grads)
        recording.end({**({"name": name} if name else {}), **counters})
        return step

    def _planned(self, flow: Flow) -> NetPlan:
        """Anew where the model went another way than last time."""
        if self._plan is None or signature_of(flow) != self._plan.signature:
            self._plan = plan_of(flow.history, self.model, self._layers)
            self._keeper.look_at(self.model)
        return self._plan

    def _put(self, flow: Flow, plan: NetPlan, recording: NetRecording) -> None:
        for layer in plan.layers:
            for variable, reader in layer.values.items():
                _put(recording, f"{layer.name}.{variable}", reader(flow, self._items))
            if self.loss is not None:
                for variable in layer.gradients:
                    name = "Grad" if variable == "Act" else f"{variable}.Grad"
                    _put(recording, f"{layer.name}.{name}", gradient_of(flow, layer, variable, self._items))

    # --- the run --------------------------------------------------------------------------------------

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


def _check_given(model: Any, loss: Any) -> None:
    if not isinstance(model, nn.Module | type):
        raise InputError(
            f"a {type(model).__name__} cannot be shown as a network: give a torch.nn.Module and what its "
            "forward takes, tl.NetView(model, x), or a run, tl.NetView('runs/a')."
        )
    check_model(model)
    if loss is not None and not callable(loss):
        raise InputError(f"the loss is {loss!r}: give a function of what the model returns, or none.")


def _put(recording: NetRecording, name: str, value: Tensor | None) -> None:
    if value is not None:
        recording.put(name, value)

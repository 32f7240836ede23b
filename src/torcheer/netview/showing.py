"""What NetView and State have in common: places, shapes, the page, and arrays read back from the run."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from torcheer.errors import InputError
from torcheer.netview.looking import Array, values_of, weights_of, why_no_weights
from torcheer.netview.placing import check_name
from torcheer.netview.planning import NetPlan
from torcheer.netview.recording import NetRecording
from torcheer.netview.runscenes import Extents, FoundScene, found_scene
from torcheer.netview.weightkeeping import WeightKeeper
from torcheer.run import NetScene, Run, SavedRun, Teller


class Shown:
    """A network that is shown from its run."""

    _recording: NetRecording | None
    _extents: Extents | None = None
    _teller: Teller | None = None
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
        reader = self.run._reader()
        series = reader.series()  # another object where there is news
        if self._looked is None or self._looked[0] is not series:
            self._extents = self._extents or Extents()
            self._looked = series, found_scene(reader, self._extents)
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

    def _to_arrange(self, layer: str) -> tuple[NetRecording, NetScene]:
        recording, found = self._writable(), self._found()
        check_name(layer, [each.name for each in found.scene.layers])
        if found.source != "netview":
            raise InputError(
                "the layers of this run are known by the names of its tensors only, and places are kept with "
                "a network: tl.NetView(model, x, run=…) or tl.State record one."
            )
        return recording, found.scene

    def _writable(self) -> NetRecording:
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
            self._teller = self._teller or Teller()
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
        gradients = ["Grad" if name == "Act" else f"{name}.Grad" for name in planned.gradients]
        note = "; ".join(filter(None, (layer.note, missing.get(layer.name, ""))))
        variables = [*layer.variables, *(gradients if has_gradients else [])]
        layers.append(msgspec.structs.replace(layer, variables=variables, note=note))
    return NetScene(layers=layers, connections=plan.scene.connections)

"""Write the moments of a network into a run: its scene, its values, its weights, counters beside them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from torcheer.capture import has_data, undisturbed
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.models import unwrapped_model
from torcheer.netview.flow import are_same_numbers
from torcheer.netview.network_reader import is_known, last_scene, written_scenes
from torcheer.netview.scene import Arrangement
from torcheer.run import NETVIEW, NetScene, Run, RunAccess, reader_of

Put = Callable[[str, Tensor], None]

_MOST_EACH: Final = 16 << 20  # bytes of one parameter, unless all are wanted
_MOST_TOGETHER: Final = 64 << 20


class WeightKeeper:
    """Puts a parameter into the run where it has changed since it was last put there.

    `weights`: `'auto'` keeps each up to 16 MB, and 64 MB together, the smaller ones first; `'all'` keeps all
    of them, None none.
    """

    def __init__(self, model: nn.Module, weights: str | None, optimizer: Any = None) -> None:
        check_settings(weights, optimizer)
        self._weights = weights
        self._optimizer = optimizer
        self._last: dict[str, Tensor] = {}  # as they were put, to see what has changed
        self._moved: set[str] = set()  # those whose last recorded change is not zero
        self.look_at(model)

    def look_at(self, model: nn.Module) -> None:
        """The model may have other parameters than before."""
        self._params = parameters_of(model)
        self.kept = _kept(self._params, self._weights)

    def go_on(self, last_of: Callable[[str], Tensor | None]) -> None:
        """A change is that since the last moment, which may be of another session."""
        for name in self.kept:
            last, param = last_of(name), self._params[name]
            if last is not None and last.shape == param.shape and last.dtype == param.dtype:
                self._last[name] = last
                delta = last_of(f"{name}.Delta")
                if delta is not None and bool(delta.any()):
                    self._moved.add(name)

    def why_not(self, name: str) -> str:
        """Why a parameter is not kept; empty where it is."""
        if name in self.kept or name not in self._params:
            return ""
        if self._weights is None:
            return "weights are not kept (weights=None)"
        size = readable_bytes(_num_bytes(self._params[name]))
        return f"its weights ({size}) are not kept: weights='all' keeps them"

    def put(self, put: Put, gradients: Mapping[str, Tensor] | None = None) -> None:
        with undisturbed():
            for name in self.kept:
                param = self._params[name].detach()
                if has_data(param):
                    self._put_changed(put, name, param)
                    gradient = None if gradients is None else gradients.get(name)
                    if gradient is not None:
                        put(f"{name}.Grad", gradient)
        self._put_moments(put)

    def _put_changed(self, put: Put, name: str, param: Tensor) -> None:
        last = self._last.get(name)
        if last is not None and last.shape == param.shape and last.dtype == param.dtype:
            now = param.to("cpu")
            wide = torch.promote_types(now.dtype, torch.float32)
            if are_same_numbers(now, last):
                if (
                    name in self._moved
                ):  # a change holds until the next one: the first moment without any says so
                    self._moved.discard(name)
                    put(f"{name}.Delta", torch.zeros_like(last, dtype=wide))
                return
            put(f"{name}.Delta", now.to(wide) - last.to(wide))
            self._moved.add(name)
            last.copy_(now)
        else:
            # A copy of its own, in any case: `.cpu()` gives a parameter of the processor itself.
            self._last[name] = param.to("cpu", copy=True)
        put(name, self._last[name])

    def _put_moments(self, put: Put) -> None:
        if self._optimizer is None:
            return
        names = {id(self._params[name]): name for name in self.kept}
        with undisturbed():
            for param, state in self._optimizer.state.items():
                name = names.get(id(param))
                if name is None or not isinstance(state, dict):
                    continue
                for key, value in state.items():
                    if isinstance(value, Tensor) and value.shape == param.shape and value.dim() > 0:
                        put(f"{name}.{key}", value)


def check_settings(weights: Any, optimizer: Any) -> None:
    if weights not in ("auto", "all", None):
        raise InputError(f"weights is {weights!r}: give 'auto', 'all' or None.")
    if optimizer is not None and not isinstance(optimizer, Optimizer):
        raise InputError(
            f"a {type(optimizer).__name__} is no optimizer: give a torch.optim.Optimizer, or none."
        )


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """By the name that torch gives; one that is shared has its first."""
    return {name: param for name, param in unwrapped_model(model).named_parameters() if not is_lazy(param)}


def _kept(params: Mapping[str, Tensor], weights: str | None) -> list[str]:
    if weights != "auto":
        return list(params) if weights == "all" else []
    left, kept = _MOST_TOGETHER, set()
    for name in sorted(params, key=lambda name: _num_bytes(params[name])):
        size = _num_bytes(params[name])
        if size <= min(left, _MOST_EACH):
            kept.add(name)
            left -= size
    return [name for name in params if name in kept]


def _num_bytes(param: Tensor) -> int:
    return param.numel() * param.element_size()


# The writer of a run drops what it cannot write in time. Half a moment is no use, so it is waited for.
_MOST_WAITING_BYTES: Final = 48 << 20
_MOST_WAITING_RECORDS: Final = 400


class NetRecorder:
    """One run to which moments are added, one after the other.

    `is_growing`: layers are met one by one, so that a network may be shown with some of them.
    """

    def __init__(self, run: Run | str | os.PathLike[str] | None, *, is_growing: bool = False) -> None:
        self.run, self._is_own = _opened(run)
        self._is_growing = is_growing
        self.arrangement = Arrangement()
        self.step = -1  # of the last moment
        self._scene: NetScene | None = None  # as it was last written
        self._wanted: NetScene | None = None  # without what somebody wants otherwise
        self._waiting_bytes = self._waiting_records = 0
        # In a run that has moments already, places hold and steps go on.
        if not self._is_own or any(self.run.path.glob("*.sqlite")):
            reader = reader_of(self.run)  # with all that was logged until now
            scene = last_scene(reader)
            if scene is not None:
                self.arrangement = Arrangement.of(scene)
            self.step = max((entry.step for entry in reader.records("moment", NETVIEW)), default=-1)

    @property
    def scene(self) -> NetScene:
        return NetScene(layers=[], connections=[]) if self._scene is None else self._scene

    def is_closed(self) -> bool:
        """Then the run says so, once, and nothing can be kept."""
        return not RunAccess(self.run).is_running()

    def begin(self) -> int:
        """The step of the moment that comes now."""
        self.step += 1
        return self.step

    def show(self, scene: NetScene) -> None:
        """What there is from now on; written where it is not what there was."""
        if self._wanted is None and self.step > 0:
            self._check_goes_on(scene)
        self._wanted = scene
        laid = self.arrangement.laid_over(scene)
        if laid != self._scene:
            self._scene = laid
            self.run.log_netview(max(self.step, 0), laid)

    def _check_goes_on(self, scene: NetScene) -> None:
        """A run is of one network: in a second session it goes on, and another one is a mistake."""
        if not is_known(scene, written_scenes(reader_of(self.run)), is_growing=self._is_growing):
            self.close()
            raise InputError(
                f"the run {self.run.path} has moments of another network, with other layers: give another "
                "folder, or remove that one."
            )
        sys.stderr.write(
            f"torcheer: the run {self.run.path} has moments already, and goes on at step {self.step}. "
            "Another folder begins anew.\n"
        )

    def last_tensor(self, name: str) -> Tensor | None:
        """As the run has it, from before."""
        if name not in self.run.names("tensor"):
            return None
        record = self.run.tensors(name)[-1]
        dtype = getattr(torch, record.dtype, None)
        if not isinstance(dtype, torch.dtype):
            return None
        return torch.from_numpy(record.array.copy()).to(dtype)

    def show_again(self, scene: NetScene) -> None:
        """After somebody has placed or shaped a layer of a scene: of this recording, or another's."""
        if self._wanted is not None:
            self.show(self._wanted)
        else:
            self.run.log_netview(max(self.step, 0), self.arrangement.laid_over(scene))

    def put(self, name: str, tensor: Tensor) -> None:
        num_bytes = tensor.numel() * tensor.element_size()
        if (
            self._waiting_bytes + num_bytes > _MOST_WAITING_BYTES
            or self._waiting_records >= _MOST_WAITING_RECORDS
        ):
            self.run.flush()
            self._waiting_bytes = self._waiting_records = 0
        self._waiting_bytes += num_bytes
        self._waiting_records += 1
        self.run.log_tensor(self.step, name, tensor)

    def end(self, counters: Mapping[str, Any]) -> None:
        plain = dict(counters)
        for name, value in counters.items():
            if isinstance(value, Tensor) and value.numel() == 1:  # as that number, for people to read
                number = value.item()
                plain[name] = f"{number:.6g}" if isinstance(number, float) else number
        self.run.log_moment(self.step, plain)

    def close(self) -> None:
        """A run that somebody else opened stays open."""
        if self._is_own:
            self.run.close()


def _opened(run: Run | str | os.PathLike[str] | None) -> tuple[Run, bool]:
    if isinstance(run, Run):
        return run, False
    if run is not None:
        return Run(run), True
    folder = Path(tempfile.mkdtemp(prefix="torcheer-netview-"))
    made = Run(folder / "netview")
    atexit.register(_remove, made, folder)
    return made, True


def _remove(run: Run, folder: Path) -> None:
    """A run of which nobody said where to keep it goes with the program."""
    run.close()
    shutil.rmtree(folder, ignore_errors=True)

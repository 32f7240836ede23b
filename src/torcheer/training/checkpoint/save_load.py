"""Save a training to one file, and go on with it later: model, optimizer, scheduler, random state, position.

    tl.save_checkpoint("last.safetensors", model=model, optimizer=optimizer, position={"step": 1200})
    checkpoint = tl.load_checkpoint("last.safetensors", model=model, optimizer=optimizer)

The file is a safetensors file with JSON in its metadata. Nothing in it is pickled, so nothing in it can run.
"""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import numpy
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from torcheer.capture import FILE_TYPES, Piece, TensorFile, write_tensors
from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.models import num_ranks
from torcheer.tensorfile import ITEM_BYTES, FileKind, NamedTwice, unique, write_atomically
from torcheer.training import distributed
from torcheer.training.checkpoint.state_tree import TensorTable, decoded, encoded, file_shape, file_tensor
from torcheer.training.checkpoint.training_parts import Parts, check_fits, load_parts, tree_of
from torcheer.training.data_order import DataOrder
from torcheer.training.random_state import random_state, set_random_state
from torcheer.training.training_warning import warn
from torcheer.version import RELEASE

# --- one file -----------------------------------------------------------------------------------------------
#
# Tensors by name and one JSON text, as a safetensors file that anybody can open. The text stands in the
# metadata as `torcheer.checkpoint`. Names of tensors that share their memory with another stand beside it
# (`"model.head.weight": "model.embed.weight"`), as the safetensors library writes them. The last tensor,
# `torcheer.checksums`, has a sum for each of the others in the order of their names, and one for the header:
# damage shows when the file is read. It is no signature.

DOCUMENT = "torcheer.checkpoint"
VERSION = 1  # raised by whoever changes what a field means

CHECKPOINT = FileKind(
    name="a checkpoint",
    ordinary="Name a file that save_checkpoint wrote.",
    other="Name a file that save_checkpoint wrote; files of torch.save are opened by torch.load.",
    damaged="It may be damaged or half copied: copy it again, or take an older checkpoint.",
    has_header_sum=True,
)
_TORCH_TYPES = {theirs: ours for ours, theirs in FILE_TYPES.items()}


class NewerFormatError(FileFormatError):
    """It is whole, but this torcheer is too old for it. Nobody should go on from an older one instead."""


def broken(path: str, what: str, do: str = "") -> FileFormatError:
    return FileFormatError(f"{path} cannot be opened as a checkpoint: {what}. {do or CHECKPOINT.damaged}")


def write_checkpoint(path: str | os.PathLike[str], document: Mapping[str, Any], table: TensorTable) -> str:
    """Write a file that is there once it is whole and on the disk; until then an older one stays."""
    text = msgspec.json.encode(document).decode()
    # "pt": who reads such files asks which library wrote the tensors.
    metadata = {"format": "pt", DOCUMENT: text, **table.aliases}
    pieces = [_piece(name, tensor) for name, tensor in table.tensors.items()]
    return write_atomically(
        path,
        "a checkpoint",
        lambda file: write_tensors(file, pieces, metadata, has_header_sum=True),
        example="step-1200.safetensors",
    )


def _piece(name: str, tensor: Tensor) -> Piece:
    file_type, shape = file_shape(tensor)
    size = ITEM_BYTES[file_type] * math.prod(shape)
    make = partial(file_tensor, tensor)
    return Piece(name=name, file_type=file_type, shape=shape, num_bytes=size, make=make)


def read_document(path: str) -> dict[str, Any]:
    """The JSON text alone: quick, and enough to know which checkpoint it is."""
    return _document(TensorFile(path, CHECKPOINT))


def read_checkpoint(path: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The text, and all tensors, each held against its checksum."""
    file = TensorFile(path, CHECKPOINT)
    document = _document(file)
    file.check_sums()
    return document, {name: _read_tensor(file, name) for name in file.names}


def _document(file: TensorFile) -> dict[str, Any]:
    if DOCUMENT not in file.metadata:
        raise file.broken("it is a safetensors file, but none that save_checkpoint wrote")
    try:
        document = json.loads(file.metadata[DOCUMENT], object_pairs_hook=unique)
        version = document["version"]
    except (ValueError, TypeError, KeyError, RecursionError, NamedTwice):
        raise file.broken("its text is no JSON of a checkpoint") from None
    if type(version) is not int or version < 1 or not isinstance(document, dict):
        raise file.broken("its text is no JSON of a checkpoint")
    if version > VERSION:
        raise NewerFormatError(
            f"{file.path} cannot be opened as a checkpoint: its format is {version}, newer than {VERSION}, "
            "the newest known here. Update torcheer to read it."
        )
    return document


def _read_tensor(file: TensorFile, name: str) -> Tensor:
    file_type, shape = file.types[name]
    tensor = torch.empty(0, dtype=_TORCH_TYPES[file_type], device="cpu")
    try:
        return tensor.set_(file.read(name).untyped_storage(), 0, shape)  # type: ignore[call-overload, no-any-return]
    except RuntimeError:  # of no elements, but with sizes that torch cannot count
        raise file.broken(f"its header says of {name[:80]!r} what cannot be") from None


# --- a folder -----------------------------------------------------------------------------------------------
#
# The files decide. `checkpoints.json` is written for people, and never read.

INDEX = "checkpoints.json"
_FILE = re.compile(r"step-(\d{8,18})\.safetensors")
_UNFINISHED = re.compile(r"(step-\d{8,18}\.safetensors|checkpoints\.json)\.[0-9a-f]+\.partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One file, as far as its header tells."""

    path: Path
    step: int
    epoch: int | None = None
    saved_at: str = ""
    metrics: dict[str, Any]
    measure: str = ""  # by which metric the best one is kept; empty where none is
    mode: str = "min"
    value: float | None = None  # of that metric, where it was measured with just this state
    problem: str = ""  # what keeps it from being opened

    @property
    def rank(self) -> float:
        """The smaller, the better. A value that is no number is worse than all."""
        if self.value is None or self.value != self.value:
            return float("inf")
        return self.value if self.mode == "min" else -self.value


def file_name(step: int) -> str:
    return f"step-{step:08d}.safetensors"


def stored_in(folder: str | os.PathLike[str]) -> list[Stored]:
    """Those that are there, the newest first."""
    names = [match for name in os.listdir(folder) if (match := _FILE.fullmatch(name))]
    found = [_look(Path(folder) / match[0], int(match[1])) for match in names]
    return sorted(found, key=lambda one: -one.step)


def _look(path: Path, step: int) -> Stored:
    try:
        document = read_document(str(path))
        state = {name: document["state"].get(name) for name in ("position", "metrics", "keeping")}
        tree = decoded(state, {})
        keeping = tree["keeping"] or {}
        return Stored(
            path=path,
            step=step,
            epoch=tree["position"].get("epoch"),
            saved_at=str(document.get("saved_at", "")),
            metrics=dict(tree["metrics"] or {}),
            measure=str(keeping.get("measure", "")),
            mode=str(keeping.get("mode", "min")),
            value=keeping.get("value"),
        )
    except FileFormatError as error:
        return Stored(path=path, step=step, metrics={}, problem=str(error))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return Stored(path=path, step=step, metrics={}, problem=f"{path} cannot be read: {error}")


def best_first(stored: Sequence[Stored]) -> list[Stored]:
    """Those that were measured, the best first; of equals the oldest, which needed least."""
    measured = [one for one in stored if one.value is not None and not one.problem]
    return sorted(measured, key=lambda one: (one.rank, one.step))


def write_index(folder: Path, stored: Sequence[Stored]) -> None:
    """List what is there, for whoever looks into the folder."""
    best = next(iter(best_first(stored)), None)
    rows = [
        {
            "file": one.path.name,
            "step": one.step,
            "epoch": one.epoch,
            "saved_at": one.saved_at,
            "metrics": one.metrics,
            "is_best": one is best,
        }
        for one in stored
    ]
    head = {} if best is None else {"best": best.path.name, "best_by": f"{best.mode} of {best.measure}"}
    text = msgspec.json.format(msgspec.json.encode({**head, "checkpoints": rows}), indent=2)

    def write(file: BinaryIO) -> None:
        file.write(text + b"\n")

    write_atomically(folder / INDEX, "a list of checkpoints", write, example=INDEX)


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed while it wrote has left."""
    for name in os.listdir(folder):
        if _UNFINISHED.fullmatch(name):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def set_aside(stored: Sequence[Stored], folder: Path, reason: str) -> Path:
    """Move files out of the way, into a new folder beside them: nothing that somebody made is deleted."""
    number = 1
    while (place := folder / f"{reason}-{number}").exists():
        number += 1
    place.mkdir()
    for one in stored:
        os.replace(one.path, place / one.path.name)
    return place


_STAYS_ON_CPU = ("random.", "data.")  # generators take their state from there

_DICTS = (
    *("kinds", "model", "model_versions", "optimizer", "scheduler", "scaler"),
    *("position", "metrics", "random", "data", "training", "callbacks", "keeping"),
)
_LISTS = ("parameters",)

Tree = dict[str, Any]
PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is in a checkpoint. The states are there to be looked at, also without a model to load them into.

    `position` is what was given when it was saved, with `step` and `epoch` in it where they were.
    """

    path: Path
    step: int
    epoch: int
    position: Tree
    metrics: Tree
    extra: Any
    saved_at: datetime
    versions: dict[str, str]  # of torcheer, torch, NumPy and Python
    model: Tree | None = None  # as model.state_dict() gives it, by plain names
    optimizer: Tree | None = None
    scheduler: Tree | None = None
    scaler: Tree | None = None
    training: dict[int, Tree] | None = None  # what `fit` itself remembers, by rank
    random: dict[int, Tree] = field(default_factory=dict)  # by rank
    data: dict[int, Tree] = field(default_factory=dict)  # where the data are, by rank

    def __repr__(self) -> str:
        parts = ("model", "optimizer", "scheduler", "scaler")
        held = ", ".join(name for name in parts if getattr(self, name) is not None)
        return f"<Checkpoint {self.path.name}: step {self.step}, epoch {self.epoch}, {held or 'no parts'}>"


# --- saving -------------------------------------------------------------------------------------------------


def save_checkpoint(
    path: PathLike,
    *,
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
    scheduler: Any = None,
    scaler: Any = None,
    position: Mapping[str, Any] | int | None = None,
    metrics: Mapping[str, Any] | None = None,
    extra: Any = None,
    loader: Any = None,
) -> Path:
    """Write all that a training needs to go on. What was at `path` stays until the new file is whole.

    - `position`: where it is, `{"step": 1200, "epoch": 3}`, or the step alone.
    - `metrics`, `extra`: what else to keep: numbers, text, tensors, arrays and containers of them.
    - `loader`: its generators are kept. Give a `DataOrder` of it to go on in the middle of an epoch.

    The random state of this process is kept in any case.
    """
    parts = Parts(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
    rank = distributed.rank()
    tree = {
        **tree_of(parts),
        "position": _position_of(position),
        "metrics": dict(metrics or {}),
        "extra": extra,
        "random": {rank: random_state(_loader_in(loader), model)},
        "data": {rank: loader.state()} if isinstance(loader, DataOrder) else {},
    }
    return write_tree(path, tree)


def write_tree(path: PathLike, tree: Mapping[str, Any]) -> Path:
    """Write a checkpoint whose tree is complete."""
    json, table = encoded(tree)
    document = {
        "version": VERSION,
        "saved_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "versions": {
            "torcheer": RELEASE,
            "torch": str(torch.__version__),
            "numpy": numpy.__version__,
            "python": platform.python_version(),
        },
        "state": json,
    }
    return Path(write_checkpoint(path, document, table))


def _position_of(position: Mapping[str, Any] | int | None) -> Tree:
    given = {"step": position} if isinstance(position, int) else position or {}
    try:
        found = dict(given)
        return found | {name: operator.index(found[name]) for name in ("step", "epoch") if name in found}
    except (TypeError, ValueError):
        raise InputError(
            f"position is {position!r}: give a step, or a dict such as {{'step': 1200, 'epoch': 3}}."
        ) from None


def _loader_in(loader: Any) -> Any:
    return loader.loader if isinstance(loader, DataOrder) else loader


# --- loading ------------------------------------------------------------------------------------------------


def load_checkpoint(
    path: PathLike,
    *,
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    restore_random: bool = True,
    device: str | torch.device | None = None,
    which: Literal["newest", "best"] = "newest",
) -> Checkpoint:
    """Read a checkpoint, and load it into what is given: all of it or, where something does not fit, nothing.

    - `path`: a file, or a folder of `Checkpoints`, of which the newest whole one is taken, or `which="best"`.
    - `loader`: as it was given to `save_checkpoint`; a `DataOrder` goes on where it was.
    - `restore_random`: put the random state of this process back, too.
    - `device`: where the tensors of the states are put; by default on the CPU. A model keeps its own device.
    """
    parts = Parts(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
    checkpoint, tree = read_newest(path, which, device) if os.path.isdir(path) else read_tree(path, device)
    if isinstance(loader, DataOrder) and not checkpoint.data:
        raise InputError(
            f"{checkpoint.path} does not say where the data were: it was saved without a DataOrder. Give the "
            "loader itself, and begin an epoch, or save with loader=DataOrder(loader)."
        )
    with all_or_nothing(checkpoint, _loader_in(loader), model):
        check_fits(str(checkpoint.path), tree, parts)
        if restore_random:
            put_back_random(checkpoint, loader, model, goes_on=optimizer is not None or loader is not None)
        load_parts(tree, parts)
    return checkpoint


@contextmanager
def all_or_nothing(checkpoint: Checkpoint, *holders: Any) -> Iterator[None]:
    """Where something fails, the random state is as it was, too, and the error says of which file."""
    before = random_state(*holders)
    try:
        yield
    except BaseException as error:
        set_random_state(before, *holders)
        if isinstance(error, TorcheerError) or not isinstance(error, Exception):
            raise
        reason = f"{type(error).__name__}: {error}"
        raise broken(
            str(checkpoint.path), f"its state was refused ({reason}), and nothing was loaded"
        ) from error


def read_newest(folder: PathLike, which: str, device: Any = None) -> tuple[Checkpoint, Tree]:
    """The newest, or the best, that is whole."""
    found = stored_in(folder) if which == "newest" else best_first(stored_in(folder))
    if which not in ("newest", "best"):
        raise InputError(f"which={which!r}: give 'newest' or 'best'.")
    for stored in found:
        try:
            return read_tree(stored.path, device)
        except NewerFormatError:
            raise
        except FileFormatError as error:
            warn(f"{error} It is passed over.")
    kept = "was kept as the best: Checkpoints(..., best='test/loss') does" if which == "best" else "is whole"
    raise InputError(f"no checkpoint in the folder {os.fspath(folder)} {kept}.")


def read_tree(path: PathLike, device: Any = None) -> tuple[Checkpoint, Tree]:
    """One file as an object, and as the tree that was written."""
    name = os.fsdecode(path)
    document, tensors = read_checkpoint(name)
    if device is not None:
        tensors = {
            name: one if name.startswith(_STAYS_ON_CPU) else one.to(device) for name, one in tensors.items()
        }
    try:
        tree = decoded(document["state"], tensors)
        for names, kind in ((_DICTS, dict), (_LISTS, list)):
            for part in names:
                if not isinstance(tree.get(part, kind()), kind):
                    raise TypeError(f"'{part}' is a {type(tree[part]).__name__}")
        return _checkpoint_of(Path(name), document, tree), tree
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise broken(name, f"its text is not that of a checkpoint ({error})") from None


def _checkpoint_of(path: Path, document: Tree, tree: Tree) -> Checkpoint:
    position = tree["position"]
    names = ("model", "optimizer", "scheduler", "scaler", "training")
    return Checkpoint(
        path=path,
        step=int(position.get("step", 0)),
        epoch=int(position.get("epoch", 0)),
        position=position,
        metrics=tree["metrics"],
        extra=tree["extra"],
        saved_at=datetime.fromisoformat(document["saved_at"]),
        versions=dict(document["versions"]),
        random=dict(tree["random"]),
        data=dict(tree["data"]),
        **{name: tree.get(name) for name in names},
    )


def put_back_random(checkpoint: Checkpoint, loader: Any, *others: Any, goes_on: bool) -> None:
    """The random state of this process; of a training that goes on, say so where there is none for it."""
    rank, world_size = distributed.rank(), num_ranks()
    if rank not in checkpoint.random or (goes_on and world_size != len(checkpoint.random)):
        if goes_on:
            warn(
                f"{checkpoint.path} has the random state of {len(checkpoint.random)} processes, and there "
                f"are {world_size} now: random numbers and the order of the data will differ from those of "
                "an uninterrupted training."
            )
        return
    set_random_state(checkpoint.random[rank], _loader_in(loader), *others)
    if isinstance(loader, DataOrder) and rank in checkpoint.data:
        loader.load_state(checkpoint.data[rank])

"""Save a training to one file, and go on with it later: model, optimizer, scheduler, random state, position.

    tl.save_checkpoint("last.safetensors", model=model, optimizer=optimizer, position={"step": 1200})
    checkpoint = tl.load_checkpoint("last.safetensors", model=model, optimizer=optimizer)

The file is a safetensors file with JSON in its metadata. Nothing in it is pickled, so nothing in it can run.
"""

from __future__ import annotations

import copy
import json
import math
import operator
import os
import platform
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from torcheer.capture import FILE_TYPES, Piece, TensorFile, write_tensors
from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.models import num_ranks, rank_of
from torcheer.tensorfile import ITEM_BYTES, FileKind, NamedTwice, unique, write_atomically
from torcheer.training.checkpoint.state_tree import decoded, encoded, file_shape, file_tensor
from torcheer.training.data_order import DataOrder
from torcheer.training.random_state import random_state, set_random_state
from torcheer.training.training_warning import warn
from torcheer.version import RELEASE

Tree = dict[str, Any]
PathLike = str | os.PathLike[str]

# --- a model under plain names ------------------------------------------------------------------------------


def state_of(model: nn.Module) -> tuple[Tree, Tree]:
    """What is in `model.state_dict()` by plain name, and the versions of its modules, as torch wants them."""
    plain, state = _plain_names(model), model.state_dict()
    versions = {plain(address): one for address, one in getattr(state, "_metadata", {}).items()}
    return {plain(name): value for name, value in state.items()}, versions


def load_state(model: nn.Module, state: Mapping[str, Any], versions: Mapping[str, Any]) -> None:
    """Load what `state_of` gave, also where other things are wrapped around the model now."""
    plain, own = _plain_names(model), model.state_dict()
    renamed = OrderedDict((name, state[plain(name)]) for name in own)
    addresses = getattr(own, "_metadata", {})
    renamed._metadata = {address: versions.get(plain(address), {}) for address in addresses}  # type: ignore[attr-defined]
    model.load_state_dict(renamed)


def _model_differences(model: nn.Module, state: Mapping[str, Any]) -> list[str]:
    """What keeps a state from being loaded into this model, in words."""
    own, _ = state_of(model)
    found = [
        f"'{name}' has shape {_shape(state[name])} in the checkpoint and {_shape(value)} here"
        for name, value in own.items()
        if name in state and isinstance(value, Tensor) and not is_lazy(value)
        if value.shape != getattr(state[name], "shape", None)
    ]
    missing = [f"'{name}' is missing in the checkpoint" for name in own if name not in state]
    more = [f"'{name}' is in the checkpoint only" for name in state if name not in own]
    # In turn: of a name that was changed, both show.
    return found + [one for pair in zip_longest(missing, more) for one in pair if one is not None]


def _plain_names(model: nn.Module) -> Callable[[str], str]:
    """Leaves out what torch.compile and data parallelism put into a name: `module.conv._orig_mod.weight`."""
    wrapped = set()
    for address, module in model.named_modules(remove_duplicate=False):
        inner = _inner_name(module)
        if inner:
            wrapped.add(f"{address}.{inner}" if address else inner)

    def plain(name: str) -> str:
        parts = name.split(".")
        kept = [part for count, part in enumerate(parts, 1) if ".".join(parts[:count]) not in wrapped]
        return ".".join(kept)

    return plain if wrapped else lambda name: name


def _inner_name(module: nn.Module) -> str:
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return "module"
    # By its name: to import the class would import the compiler.
    return "_orig_mod" if type(module).__name__ == "OptimizedModule" else ""


def _shape(value: Any) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else f"none, as a {type(value).__name__}"


_MOST_NAMED = 5


PARTS = ("model", "optimizer", "scheduler", "scaler")


def parts_of(*parts: Any) -> dict[str, Any]:
    """Those of `PARTS` that there are, by name."""
    given = {name: part for name, part in zip(PARTS, parts, strict=True) if part is not None}
    if not isinstance(given.get("model"), nn.Module | None):
        raise InputError(f"model is a {type(given['model']).__name__}: give a torch.nn.Module.")
    for name, part in given.items():
        if not all(callable(getattr(part, method, None)) for method in ("state_dict", "load_state_dict")):
            raise InputError(
                f"{name} is a {type(part).__name__}, which has no state_dict and load_state_dict: give "
                f"torch's own {name}, or one with these two methods."
            )
    return given


def tree_of(parts: Mapping[str, Any]) -> Tree:
    """The state of each part by its name, and beside it what tells whether it fits when it is loaded."""
    tree: Tree = {"kinds": {name: kind_of(part) for name, part in parts.items()}}
    for name, part in parts.items():
        if name == "model":
            tree["model"], tree["model_versions"] = state_of(part)
            continue
        tree[name] = part.state_dict()
        if name == "optimizer":
            tree["parameters"] = _outlines(part, parts.get("model"))
        elif (
            name == "scheduler"
            and isinstance(tree[name], dict)
            and type(part).__module__.startswith("torch.")
        ):
            # Without the functions that its classes choose when they are made, and keep in their state.
            tree[name] = {key: value for key, value in tree[name].items() if not callable(value)}
    return tree


def kind_of(part: Any) -> str:
    """Its class, and those of the schedulers in it: SequentialLR(LinearLR, CosineAnnealingLR)."""
    if isinstance(part, nn.Module):
        return type(part).__name__
    inner = [kind_of(one) for one in getattr(part, "_schedulers", ())]
    return type(part).__name__ + (f"({', '.join(inner)})" if inner else "")


def _outlines(optimizer: Optimizer, model: nn.Module | None) -> list[list[Any]]:
    """Name and shape of each parameter, group by group: its state is stored by number only."""
    names = {}
    if model is not None:
        plain = _plain_names(model)
        names = {id(parameter): plain(name) for name, parameter in model.named_parameters()}
    return [
        [[names.get(id(one)), list(one.shape)] for one in group["params"]] for group in optimizer.param_groups
    ]


# --- putting back -------------------------------------------------------------------------------------------


def check_fits(path: Path, tree: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Raise where one of the parts is another than that whose state is in the checkpoint."""
    for name, part in parts.items():
        if name not in tree:
            raise InputError(f"{path} has no {name}: it was saved without one. Leave out {name}=.")
        stored = tree["kinds"][name]
        if name == "model":
            found = _model_differences(part, tree["model"])
        elif stored != kind_of(part):
            found = [f"the checkpoint has the state of {stored}"]
        else:
            is_by_number = name == "optimizer"
            found = (
                _parameter_differences(tree["parameters"], part, parts.get("model")) if is_by_number else []
            )
        if found:
            shown = "; ".join(found[:_MOST_NAMED])
            more = f"; and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
            raise InputError(
                f"{path} does not fit this {name}, {kind_of(part)}: {shown}{more}. Nothing was loaded. Build "
                f"it as it was when the checkpoint was saved, or take what you need from "
                f"load_checkpoint(path).{name}."
            )


def _parameter_differences(
    stored: list[list[Any]], optimizer: Optimizer, model: nn.Module | None
) -> list[str]:
    here = _outlines(optimizer, model)
    if [len(group) for group in stored] != [len(group) for group in here]:
        sizes = [" + ".join(str(len(group)) for group in groups) or "no" for groups in (stored, here)]
        return [f"it was saved with {sizes[0]} parameters (by group), and has {sizes[1]} here"]
    found = []
    pairs = [pair for groups in zip(stored, here, strict=True) for pair in zip(*groups, strict=True)]
    for number, ((name, shape), (own_name, own_shape)) in enumerate(pairs):
        if shape != own_shape:
            was, now = tuple(shape), tuple(own_shape)
            found.append(f"its parameter {number} ({name}) has shape {was} in the checkpoint and {now} here")
        elif name and own_name and name != own_name:
            found.append(f"its parameter {number} is '{name}' in the checkpoint and '{own_name}' here")
    return found


def load_parts(tree: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Load each part. Where one of them refuses, those before it are put back as they were."""
    loaders: dict[str, Callable[[Any], None]] = {
        "model": lambda model: load_state(model, tree["model"], tree["model_versions"]),
        "optimizer": lambda optimizer: _load_optimizer(optimizer, tree["optimizer"]),
        "scheduler": lambda scheduler: scheduler.load_state_dict(_copied(tree["scheduler"])),
        # Empty: it was off when it was saved, and has nothing to say.
        "scaler": lambda scaler: scaler.load_state_dict(_copied(tree["scaler"])) if tree["scaler"] else None,
    }
    before = {name: _copied(part.state_dict()) for name, part in parts.items()}
    try:
        for name, part in parts.items():
            loaders[name](part)
    except BaseException:
        for name, part in parts.items():
            # One that cannot go back must not keep the others from it.
            with suppress(Exception):
                part.load_state_dict(before[name])
        raise


def _load_optimizer(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    own = _copied(state)
    optimizer.load_state_dict(own)
    # torch gives all floats of a state the type of their parameter. Some have another (NAdam's mu_product
    # beside a bfloat16 weight), and would lose digits.
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    for number, parameter in zip(numbers, parameters, strict=True):
        if number in own["state"] and parameter in optimizer.state:
            optimizer.state[parameter] = _typed(optimizer.state[parameter], own["state"][number])


def _typed(loaded: Any, stored: Any) -> Any:
    if isinstance(loaded, Tensor) and isinstance(stored, Tensor):
        return loaded if loaded.dtype is stored.dtype else stored.to(loaded.device)
    if isinstance(loaded, dict):
        return {key: _typed(value, stored[key]) if key in stored else value for key, value in loaded.items()}
    if type(loaded) in (list, tuple) and len(loaded) == len(stored):
        return type(loaded)(_typed(*pair) for pair in zip(loaded, stored, strict=True))
    return loaded


def _copied(state: Any) -> Any:
    """Memory of its own: torch takes over what it is given, and some schedulers empty it."""
    with torch.no_grad():
        return copy.deepcopy(state)


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


def file_name(step: int) -> str:
    return f"step-{step:08d}.safetensors"


def stored_in(folder: str | os.PathLike[str]) -> list[Stored]:
    """Those that are there, the newest first."""
    names = [match for name in os.listdir(folder) if (match := _FILE.fullmatch(name))]
    found = [_look(Path(folder) / match[0], int(match[1])) for match in names]
    return sorted(found, key=lambda one: -one.step)


def _look(path: Path, step: int) -> Stored:
    try:
        document = _document(TensorFile(str(path), CHECKPOINT))
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

    def order(one: Stored) -> tuple[float, int]:
        assert one.value is not None
        value = -one.value if one.mode == "max" else one.value
        return (math.inf if value != value else value), one.step  # NaN is worse than all

    return sorted((one for one in stored if one.value is not None and not one.problem), key=order)


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
    path = folder / INDEX
    write_atomically(
        path, "a list of checkpoints", lambda file: file.writelines([text, b"\n"]), example=INDEX
    )


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed while it wrote has left."""
    for name in os.listdir(folder):
        if _UNFINISHED.fullmatch(name):
            with suppress(OSError):
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


_DICTS = (
    *("kinds", "model", "model_versions", "optimizer", "scheduler", "scaler"),
    *("position", "metrics", "random", "data", "training", "callbacks", "keeping"),
)


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
        held = ", ".join(name for name in PARTS if getattr(self, name) is not None)
        return f"<Checkpoint {self.path.name}: step {self.step}, epoch {self.epoch}, {held or 'no parts'}>"


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
    parts = parts_of(model, optimizer, scheduler, scaler)
    rank = rank_of()
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
    """Write a checkpoint whose tree is complete. Until it is whole and on the disk, an older one stays."""
    state, table = encoded(tree)
    document = {
        "version": VERSION,
        "saved_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "versions": {
            "torcheer": RELEASE,
            "torch": str(torch.__version__),
            "numpy": numpy.__version__,
            "python": platform.python_version(),
        },
        "state": state,
    }
    # "pt": who reads such files asks which library wrote the tensors.
    metadata = {"format": "pt", DOCUMENT: msgspec.json.encode(document).decode(), **table.aliases}
    pieces = [_piece(name, tensor) for name, tensor in table.tensors.items()]
    written = write_atomically(
        path,
        "a checkpoint",
        lambda file: write_tensors(file, pieces, metadata, has_header_sum=True),
        example="step-1200.safetensors",
    )
    return Path(written)


def _piece(name: str, tensor: Tensor) -> Piece:
    file_type, shape = file_shape(tensor)
    size = ITEM_BYTES[file_type] * math.prod(shape)
    make = partial(file_tensor, tensor)
    return Piece(name=name, file_type=file_type, shape=shape, num_bytes=size, make=make)


def _position_of(position: Mapping[str, Any] | int | None) -> Tree:
    given = {"step": position} if isinstance(position, int) else position or {}
    try:
        found = dict(given)
        return found | {name: operator.index(found[name]) for name in ("step", "epoch") if name in found}
    except (TypeError, ValueError):
        raise InputError(f"position is {position!r}: give a step, or {{'step': 1200, 'epoch': 3}}.") from None


def _loader_in(loader: Any) -> Any:
    return loader.loader if isinstance(loader, DataOrder) else loader


def load_checkpoint(
    path: PathLike,
    *,
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
    scheduler: Any = None,
    scaler: Any = None,
    loader: Any = None,
    restore_random: bool = True,
    which: Literal["newest", "best"] = "newest",
) -> Checkpoint:
    """Read a checkpoint, and load it into what is given: all of it or, where something does not fit, nothing.

    - `path`: a file, or a folder of `Checkpoints`, of which the newest whole one is taken, or `which="best"`.
    - `loader`: as it was given to `save_checkpoint`; a `DataOrder` goes on where it was.
    - `restore_random`: put the random state of this process back, too.

    A model keeps its device; the states of the checkpoint that is returned are on the CPU.
    """
    parts = parts_of(model, optimizer, scheduler, scaler)
    checkpoint, tree = read_newest(path, which) if os.path.isdir(path) else read_tree(path)
    if isinstance(loader, DataOrder) and not checkpoint.data:
        raise InputError(
            f"{checkpoint.path} does not say where the data were: it was saved without a DataOrder. Give the "
            "loader itself, and begin an epoch, or save with loader=DataOrder(loader)."
        )
    with all_or_nothing(checkpoint, _loader_in(loader), model):
        check_fits(checkpoint.path, tree, parts)
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
        raise FileFormatError(
            f"{checkpoint.path} cannot be opened as a checkpoint: its state was refused "
            f"({type(error).__name__}: {error}), and nothing was loaded. {CHECKPOINT.damaged}"
        ) from error


def read_newest(folder: PathLike, which: str) -> tuple[Checkpoint, Tree]:
    """The newest, or the best, that is whole."""
    found = stored_in(folder) if which == "newest" else best_first(stored_in(folder))
    if which not in ("newest", "best"):
        raise InputError(f"which={which!r}: give 'newest' or 'best'.")
    for stored in found:
        try:
            return read_tree(stored.path)
        except NewerFormatError:
            raise
        except FileFormatError as error:
            warn(f"{error} It is passed over.")
    kept = "was kept as the best: Checkpoints(..., best='test/loss') does" if which == "best" else "is whole"
    raise InputError(f"no checkpoint in the folder {os.fspath(folder)} {kept}.")


def read_tree(path: PathLike) -> tuple[Checkpoint, Tree]:
    """One file as an object, and as the tree that was written."""
    file = TensorFile(os.fsdecode(path), CHECKPOINT)
    document = _document(file)
    file.check_sums()
    tensors = {name: _read_tensor(file, name) for name in file.names}
    try:
        tree = decoded(document["state"], tensors)
        for part, kind in {**dict.fromkeys(_DICTS, dict), "parameters": list}.items():
            if not isinstance(tree.get(part, kind()), kind):
                raise TypeError(f"'{part}' is a {type(tree[part]).__name__}")
        position = tree["position"]
        states: Tree = {name: tree[name] for name in ("position", "metrics", "extra", "random", "data")}
        states |= {name: tree.get(name) for name in (*PARTS, "training")}
        checkpoint = Checkpoint(
            path=Path(file.path),
            step=int(position.get("step", 0)),
            epoch=int(position.get("epoch", 0)),
            saved_at=datetime.fromisoformat(document["saved_at"]),
            versions=dict(document["versions"]),
            **states,
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise file.broken(f"its text is not that of a checkpoint ({error})") from None
    return checkpoint, tree


def put_back_random(checkpoint: Checkpoint, loader: Any, *others: Any, goes_on: bool) -> None:
    """The random state of this process; of a training that goes on, say so where there is none for it."""
    rank, world_size = rank_of(), num_ranks()
    if rank not in checkpoint.random or (goes_on and world_size != len(checkpoint.random)):
        if goes_on:
            warn(
                f"{checkpoint.path} has the random state of {len(checkpoint.random)} processes, and there "
                f"are {world_size} now: random numbers and the order of the data will be others."
            )
        return
    set_random_state(checkpoint.random[rank], _loader_in(loader), *others)
    if isinstance(loader, DataOrder) and rank in checkpoint.data:
        loader.load_state(checkpoint.data[rank])

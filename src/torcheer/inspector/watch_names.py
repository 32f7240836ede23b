"""Whose rows are whose where several watch one run: each watch of a rank has a name that nobody else has."""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from torch import nn

from torcheer.errors import InputError, TorcheerError
from torcheer.run import LOCK_ENDING, PartLock, Watched, WatchedRow, open_run, take_lock

_FORBIDDEN: Final = ".:/*?[]"  # which have a meaning in names of layers, of scalars or in patterns
_WAIT_SECONDS: Final = 3.0  # for a process that is being killed while another takes its place
_PAUSE_SECONDS: Final = 0.05


class WatchName:
    """The right to write the rows of this name, of one rank of one run, for as long as it is held."""

    def __init__(self, folder: str, rank: int, name: str, lock: PartLock | None) -> None:
        self.folder, self.rank, self.name = folder, rank, name
        self.first_words = frozenset({name})  # of the names of its rows, up to the first dot
        self._lock = lock
        self.step: int | None = None  # at which the watch is that has it; None before it starts
        self.is_first = True  # of those in this process that watch the run

    def named(self, layers: Mapping[str, nn.Module]) -> dict[str, nn.Module]:
        """The addresses of layers, with the name before them."""
        if not self.name:
            return dict(layers)
        return {
            f"{self.name}.{address}" if address else self.name: module for address, module in layers.items()
        }

    def release(self, *, in_fork: bool = False) -> None:
        """`in_fork`: this is a fork of the process that has it, and keeps it."""
        _held.discard(self)
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.forget_after_fork() if in_fork else lock.release()


_held: weakref.WeakSet[WatchName] = weakref.WeakSet()


def take_name(
    folder: str | None, rank: int, name: Any, model: nn.Module, layers: Mapping[str, nn.Module]
) -> WatchName:
    """The name that was asked for, or one that nobody in this process has. Raises InputError."""
    is_word = isinstance(name, str) and 0 < len(name) <= 100 and not set(name) & set(_FORBIDDEN)
    if name is not None and not is_word:
        raise InputError(f"name is {name!r}: give a short word without any of {' '.join(_FORBIDDEN)}.")
    if folder is None:
        return WatchName("", rank, name or "", None)
    real = os.path.realpath(folder)
    others = [held for held in _held if (held.folder, held.rank) == (real, rank)]
    used = {held.name for held in others}
    if name is not None and name in used:
        raise InputError(
            f"this run is watched under the name {name!r} already: give another, or close that watch first."
        )
    # `critic` + `0` is what the layer `critic.0` of a network without a name is called, too.
    words = frozenset(word for held in others if not held.name for word in held.first_words)
    if name is not None and name in words:
        raise InputError(
            f"name is {name!r}, and so begin names of another network, which is watched in this run without "
            "a name: the two could not be told apart. Give another name=, or give the other watch one."
        )
    # With what the names of the rows of these layers begin, up to the first dot.
    of_model = () if "" not in layers else ("Act", "Grad", *layers[""]._parameters)
    own_words = frozenset((*(address.partition(".")[0] for address in layers if address), *of_model))
    free = _free(used, words, own_words, type(model).__name__)
    chosen = free if name is None else name
    taken = WatchName(real, rank, chosen, _locked(Path(folder), rank, chosen))
    taken.first_words = frozenset({chosen}) if chosen else own_words
    taken.is_first = not used
    _held.add(taken)
    return taken


def _free(used: set[str], words: frozenset[str], own_words: frozenset[str], kind: str) -> str:
    """None for the first; for others the type of the model, with a number where that is taken, too.

    Taken are the names of others, and the words with which names of those without a name begin.
    """
    if "" not in used and used.isdisjoint(own_words):
        return ""
    taken = used | words
    word = "".join("-" if letter in _FORBIDDEN else letter for letter in kind)
    names = (word, *(f"{word}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _locked(folder: Path, rank: int, name: str) -> PartLock | None:
    """A lock that goes with this process. None where the folder cannot be written, which others will tell."""
    ending = f"-{hashlib.sha256(name.encode()).hexdigest()[:12]}" if name else ""
    path = folder / f"rank-{rank}.watch{ending}{LOCK_ENDING}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + _WAIT_SECONDS
        while (lock := take_lock(path, by_name=False)) is None:
            if time.monotonic() > until:
                under = f"under the name {name!r}" if name else "without a name"
                raise InputError(
                    f"another process watches {folder} as rank {rank} {under}: give this watch a name= of "
                    "its own, or another run; where both train one model together, give each its rank=."
                )
            time.sleep(_PAUSE_SECONDS)
    except OSError:
        return None
    return lock


def next_step(taken: WatchName, layers: Mapping[str, nn.Module]) -> int:
    """The step after the last at which these layers were watched in the run before.

    Where they never were, it is that of another watch of this process, or 0. Raises InputError where what was
    watched under these names was another network.
    """
    if not taken.folder:
        return 0
    others = [held.step for held in _held if held.folder == taken.folder and held.step is not None]
    beginning = max(others, default=0)
    try:
        watched = open_run(taken.folder).watched
    except TorcheerError:
        return beginning  # there is a folder, and nothing in it yet
    if taken.rank not in watched.ranks:
        return beginning
    watched = watched.of_rank(taken.rank)
    _check_names(taken, watched)
    _check_network(watched.rows, layers)
    if not taken.name and not others:
        steps = watched.steps
        return int(steps[-1]) + 1 if len(steps) else 0
    own = (watched[row.name].steps for row in watched.rows if row.layer in layers)
    return max((int(steps[-1]) + 1 for steps in own if len(steps)), default=beginning)


def _check_names(taken: WatchName, watched: Watched) -> None:
    """Raises InputError where another watch, under another name, has rows that begin as those of this one."""
    for name in watched.names:
        other = watched.watch_of(name)
        if other is None or other == taken.name or name.partition(".")[0] not in taken.first_words:
            continue
        who = f"under the name {other!r}" if other else "without a name"
        own = f"the name {taken.name!r}" if taken.name else "no name"
        raise InputError(
            f"{name!r} was watched in this run {who}, and this watch, which has {own}, would have rows that "
            "begin alike: the two could not be told apart. Give this watch another name=, or another run."
        )


def _check_network(rows: Iterable[WatchedRow], layers: Mapping[str, nn.Module]) -> None:
    """Raises InputError where a layer has another type than before, or a weight another shape."""
    for row in rows:
        module, why = layers.get(row.layer), ""
        if module is None:
            continue
        kind = type(module).__name__
        if row.role == "activation" and row.module and row.module != kind:
            why = f"{row.layer or 'the model'} was a {row.module}, and is a {kind} here"
        parameter = module._parameters.get(row.variable) if row.role == "weight" else None
        if parameter is not None and row.shape is not None and not nn.parameter.is_lazy(parameter):
            had, has = (" × ".join(map(str, shape)) for shape in (row.shape, parameter.shape))
            if had != has:
                why = f"{row.name} had the shape {had or 'of one number'}, and has {has} here"
        if why:
            raise InputError(
                f"another network was watched in this run under the same names: {why}. Give this watch a "
                "name=, such as name='generator', or another run."
            )

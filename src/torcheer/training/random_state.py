"""Take and restore the state of all random numbers that a training draws.

torch's generators of the CPU and of every accelerator in use, Python's `random`, NumPy's global state, and
the generators that a loader, its samplers, its dataset and its transforms hold.
"""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, Sampler

from torcheer.training.training_warning import warn

# They are looked for in the loader, its samplers, its dataset, and the transforms and functions that these
# hold: in attributes, small containers, closures and the global names that their functions use. Nothing is
# called to find them, so nothing can change by being looked at.

_MOST_ITEMS = 64  # a container with more holds data
_MOST_DEPTH = 8
_MOST_OBJECTS = 10_000
_MOST_ORDERED = 1_000_000  # items of a list that may have been shuffled
_GENERATORS = (torch.Generator, numpy.random.Generator, numpy.random.RandomState, random.Random)
_PARTS_OF_LOADER = ("generator", "sampler", "batch_sampler", "dataset", "collate_fn", "worker_init_fn")
_LEAVES = (str, bytes, int, float, complex, bool, type(None), Tensor, numpy.ndarray, numpy.generic, type)

States = dict[str, Any]


class Found(NamedTuple):
    address: str  # sampler.generator
    value: Any
    owner: Any  # the object that has it as an attribute; None for what is in a container or a closure


def _generators(holder: Any) -> Iterator[Found]:
    for found in found_in(holder):
        if isinstance(found.value, _GENERATORS) and not isinstance(found.value, random.SystemRandom):
            yield found


def _state_of(generator: Any) -> Any:
    if isinstance(generator, numpy.random.Generator):
        return generator.bit_generator.state
    if isinstance(generator, numpy.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, numpy.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


class Movement:
    """What has moved in a loader since this was made: `sampler.epoch += 1`, `random.shuffle(sampler.order)`.

    Only whole numbers and floats that became others, and lists and arrays that have the same items in another
    order. What a constructor set, and nobody changed, is not kept: it may be meant to be different next time.
    """

    def __init__(self, holder: Any) -> None:
        self._holder = holder
        self._first = {found.address: _copied(found.value) for found in _movable(holder)}
        self._put_back: set[str] = set()  # had moved before

    def get(self) -> States:
        moved: States = {}
        for found in _movable(self._holder):
            first = self._first.get(found.address, found.value)
            is_row = isinstance(first, Tensor | numpy.ndarray)
            is_same = _bytes(first) == _bytes(found.value) if is_row else bool(first == found.value)
            has_moved = found.address in self._put_back or not is_same
            if type(first) is type(found.value) and has_moved:
                moved[found.address] = _copied(found.value)
        return moved

    def set(self, moved: Mapping[str, Any]) -> None:
        self._put_back.update(moved)
        for found in _movable(self._holder):
            if found.address not in moved:
                continue
            value = moved[found.address]
            if type(value) is type(found.value) and isinstance(value, int | float):
                vars(found.owner)[found.address.rpartition(".")[2]] = value
            elif type(value) is type(found.value) and _has_same_items(found.value, value):
                found.value[:] = value


def _movable(holder: Any) -> Iterator[Found]:
    own = [holder] + [getattr(holder, name, None) for name in ("sampler", "batch_sampler")]
    for found in found_in(holder):
        owner, value = found.owner, found.value
        decides_the_order = isinstance(owner, Sampler | IterableDataset) or any(owner is one for one in own)
        # Not torch's own: they count nothing, or are told by set_epoch.
        if owner is None or not decides_the_order or type(owner).__module__.startswith("torch."):
            continue
        is_row = isinstance(value, Tensor | numpy.ndarray) and len(value.shape) == 1
        # Of text and numbers only: anything else may be changed without being moved.
        is_list = type(value) is list and len(value) <= _MOST_ORDERED and set(map(type, value)) <= {int, str}
        if type(value) in (int, float) or is_list or (is_row and len(value) <= _MOST_ORDERED):
            yield found


def _copied(value: Any) -> Any:
    if type(value) is list:
        return list(value)
    if isinstance(value, Tensor):
        return value.detach().clone()
    return value.copy() if isinstance(value, numpy.ndarray) else value


def _has_same_items(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, list):
        return sorted(one) == sorted(other)
    return _bytes(numpy.sort(numpy.asarray(one))) == _bytes(numpy.sort(numpy.asarray(other)))


def _bytes(value: Any) -> bytes:
    return numpy.asarray(value.detach().cpu() if isinstance(value, Tensor) else value).tobytes()


def found_in(holder: Any) -> Iterator[Found]:
    """All that hangs on a loader or a model, each object once, always in the same order."""
    seen: set[int] = {id(torch.default_generator), id(random._inst), id(numpy.random.mtrand._rand)}
    waiting = [(Found("", holder, None), 0)]
    while waiting and len(seen) < _MOST_OBJECTS:
        found, depth = waiting.pop()
        if issubclass(type(found.value), _LEAVES):
            yield found
            continue
        if id(found.value) in seen or depth > _MOST_DEPTH:
            continue
        seen.add(id(found.value))
        yield found
        prefix = f"{found.address}." if found.address else ""
        owner = found.value if _attributes(found.value) else None
        inner = [
            (Found(f"{prefix}{name}", one, owner), depth + 1) for name, one in _named_inside(found.value)
        ]
        waiting.extend(reversed(inner))


def _attributes(value: Any) -> dict[str, Any]:
    """Without asking the object, which may answer anything, or compute it."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return attributes if type(attributes) is dict else {}


def _named_inside(value: Any) -> Iterator[tuple[str, Any]]:
    # By the class, not by isinstance: a proxy would say that it is what it stands for, or raise.
    for kinds, look in _INSIDES:
        if issubclass(type(value), kinds):
            yield from look(value)
            return
    yield from _attributes(value).items()
    yield from _used_by_class(type(value))


def _in_container(value: Any) -> Iterator[tuple[str, Any]]:
    if len(value) > _MOST_ITEMS:
        return
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for number, (key, one) in enumerate(pairs):
        yield key if type(key) is str else str(number), one


def _in_model(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """Generators that a layer has beside its parameters; all else in a model is in its state_dict."""
    for address, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, _GENERATORS):
                yield f"{address}.{name}" if address else name, value
    yield from ((name, one) for name, one in vars(model).items() if not name.startswith("_"))


def _used_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # not filled yet
            yield name, cell.cell_contents
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, _GENERATORS):
            yield name, value


def _used_by_class(kind: type) -> Iterator[tuple[str, Any]]:
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] not in ("torch", "builtins"):
            for name, function in vars(base).items():
                if isinstance(function, types.FunctionType):
                    yield f"{base.__name__}.{name}", function


# What is inside of an object, by its class; of any other class its attributes.
_INSIDES: list[tuple[Any, Callable[[Any], Iterable[tuple[str, Any]]]]] = [
    ((*_GENERATORS, types.ModuleType), lambda value: ()),
    ((list, tuple, dict), _in_container),
    (
        functools.partial,
        lambda value: {"func": value.func, "args": value.args, "keywords": value.keywords}.items(),
    ),
    (types.MethodType, lambda value: {"self": value.__self__}.items()),
    (types.FunctionType, _used_by),
    (DataLoader, lambda value: {name: getattr(value, name) for name in _PARTS_OF_LOADER}.items()),
    (nn.Module, _in_model),
]


Tree = dict[str, Any]


def random_state(*holders: Any) -> Tree:
    """A tree that a checkpoint can keep. `holders`: loaders or models that may have their own generators."""
    state: Tree = {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": numpy.random.get_state(legacy=False),
        "devices": _device_states(),
    }
    state["generators"] = [
        {found.address: _state_of(found.value) for found in _generators(holder)} for holder in holders
    ]
    return state


def set_random_state(state: Mapping[str, Any], *holders: Any) -> None:
    """Put back what `random_state` gave, for the same holders in the same order."""
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    numpy.random.set_state(state["numpy"])
    for device, one in state["devices"].items():
        _set_device_state(torch.device(device), one)
    for holder, states in zip(holders, state["generators"], strict=False):
        for found in _generators(holder):
            if found.address in states:
                _set_state(found.value, states[found.address])


@contextmanager
def keeping_random_state(*holders: Any) -> Iterator[None]:
    """All random numbers that are drawn inside are given back, also by the generators of the holders."""
    state = random_state(*holders)
    try:
        yield
    finally:
        set_random_state(state, *holders)


def _device_states() -> dict[str, Tensor]:
    """Only where an accelerator is in use: to ask for it would start it."""
    states: dict[str, Tensor] = {}
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind)
        if module.is_available() and module.is_initialized():
            for index in range(module.device_count()):
                states[f"{kind}:{index}"] = module.get_rng_state(index)
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def _set_device_state(device: torch.device, state: Tensor) -> None:
    try:
        if device.type == "mps":
            torch.mps.set_rng_state(state)
        else:
            getattr(torch, device.type).set_rng_state(state, device.index)
    except (AssertionError, AttributeError, IndexError, RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        warn(f"the random state of {device} cannot be put back here ({reason}): numbers will be others.")

"""What hangs on a model and how torch computes around it, and the way back to both.

A forward may change whatever its modules hold: attributes, hooks, lists, dicts, objects, tensors, random
generators. A snapshot walks all of that and notes what is in it. `put_back` changes only what is no longer as
it was, with the methods of Python's own types: a dict that forbids `update` is put back like any other, and
no container is emptied on the way. Where one thing cannot be put back, all others are.
"""

from __future__ import annotations

import operator
import random
import sys
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import _disable_current_modes

from torcheer.capture.aliasing import has_data, is_freed, is_strided, version_of
from torcheer.capture.inputs import ATOMS, CODE, slots_of

_MISSING = object()


@contextmanager
def same_model_after(model: nn.Module) -> Iterator[None]:
    """Whatever a forward inside does to buffers, gradients, flags, attributes and what they hold is undone.

    Writes into parameters are undone where a pass was captured inside, which has seen them.
    """
    before = Snapshot(model)
    written: list[Written] = []
    token = _written.set(written)
    try:
        yield
    finally:
        _written.reset(token)
        memory = [("a parameter", partial(_write, *one)) for one in reversed(written)]
        failed = [*run_all(memory), *before.put_back()]
        if failed:
            name = type(model).__name__
            warnings.warn(f"not put back in {name}: {'; '.join(failed)}. All else was.", stacklevel=4)


Written = tuple[Tensor, Tensor]  # the memory of a parameter, and what was in it
_written: ContextVar[list[Written] | None] = ContextVar("written", default=None)


def note_written(parameter: Tensor, before: Tensor) -> None:
    """A pass wrote into a parameter: whoever wants the model back as it was has to know."""
    written = _written.get()
    if written is not None:
        written.append((parameter.detach(), before.detach()))


def _write(memory: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        memory.copy_(values)


class Snapshot:
    """The state of some things at one moment: of a model, or of what its modules hold.

    Without `with_tensors` it stays quick: tensors and arrays are passed over.
    """

    def __init__(self, *roots: Any, with_tensors: bool = True) -> None:
        self._with_tensors = with_tensors
        self._has_shards = False  # then FSDP alone says which parameters hang on a module
        self._parts: list[_Before | _TensorBefore] = []
        seen: dict[int, Any] = {}  # holds what was met, so that no id is used again
        self._waiting = list(roots)
        while self._waiting:
            thing = self._waiting.pop()
            if id(thing) not in seen:
                seen[id(thing)] = thing
                self._note(thing)

    def put_back(self) -> list[str]:
        """Put back what has changed; returns in words what could not be."""
        return run_all([(part.what, part.put_back) for part in self._parts])

    def only_changes(self) -> Snapshot:
        """Forget all that is still as it was: what is left holds only the things that changed."""
        self._parts = [part for part in self._parts if part.has_changed()]
        return self

    def _note(self, thing: Any) -> None:
        kind = type(thing)
        if issubclass(kind, Tensor):
            if self._with_tensors and not is_lazy(thing):
                self._parts.append(_TensorBefore(thing))
        elif issubclass(kind, nn.Module):
            self._note_module(thing)
        else:
            content = _content_of(kind)
            if content is not None and (self._with_tensors or not content.is_large):
                self._note_content(thing, content)
            elif issubclass(kind, tuple | frozenset):
                self._walk_on(thing)
            if kind in _PLAIN or issubclass(kind, CODE):
                return
            if not f"{kind.__module__}.".startswith(_FOREIGN):
                self._note_attributes(thing, kind)

    def _note_content(self, thing: Any, content: _Content) -> None:
        part = _Before(thing, content)
        self._parts.append(part)
        self._walk_on(content.inside(part.before))

    def _note_attributes(self, thing: Any, kind: type) -> None:
        own = _own_dict(thing)
        if own is not None:
            self._note_content(own, _DICT)
        if slots_of(kind):
            self._note_content(thing, _SLOTS)

    def _note_module(self, module: nn.Module) -> None:
        own = vars(module)
        if any(is_lazy(tensor) for tensor in _own_tensors(module)):
            return  # its first forward makes another module of it, and that is what it stays
        self._parts.append(_Before(own, _DICT))
        if isinstance(module, torch.jit.ScriptModule):  # all but its tensors lies outside Python
            self._walk_on(module.children())
            self._walk_on(_own_tensors(module))
            return
        if is_sharded(module):
            self._parts.append(_Before(module, _SHARDS))
            self._has_shards = True
        for name, value in own.items():
            if name not in _OF_EVERY_MODULE:
                self._walk_on((value,))
            elif isinstance(value, dict) and not (name == "_parameters" and self._has_shards):
                # Hooks stay registered as they were; what they have gathered is their own.
                self._parts.append(_Before(value, _ORDERED if isinstance(value, OrderedDict) else _DICT))
        for name in _MEMBERS:
            self._walk_on(own[name].values())

    def _walk_on(self, things: Iterable[Any]) -> None:
        self._waiting += [thing for thing in things if type(thing) not in _ATOMS]


def held_by(modules: list[nn.Module]) -> Snapshot:
    """The attributes of modules and what they keep in them, their forward hooks, and which parameters,
    buffers and modules are theirs.

    The quick way, for the start of every pass: without numbers.
    """
    kept = [
        own[name]
        for own in map(vars, modules)
        for name in own.keys() - _OF_EVERY_MODULE
        if type(own[name]) not in _ATOMS
    ]
    snapshot = Snapshot(*kept, with_tensors=False)
    shards = [_Before(module, _SHARDS) for module in modules if is_sharded(module)]
    members = _MEMBERS[1:] if shards else _MEMBERS
    for own in map(vars, modules):
        snapshot._parts.append(_Before(own, _DICT))
        # In a script they are none.
        found = [own[name] for name in members if type(own.get(name)) is dict]
        snapshot._parts += [_Before(one, _DICT) for one in found]
        # A first forward may register hooks, and note in an attribute that it did.
        snapshot._parts += [_Before(own[name], _ORDERED) for name in _HOOKS if name in own]
    snapshot._parts += shards
    return snapshot


# --- containers -----------------------------------------------------------------------------------


class _Content(NamedTuple):
    """How to read and write what is in a thing: with the methods of Python's own type, not of a subclass."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]  # called only where something changed
    is_same: Callable[[Any, Any], bool]
    inside: Callable[[Any], Iterable[Any]] = lambda _: ()  # what is to be walked on
    is_large: bool = False
    name: str = "a {}"


class _Before:
    """A container, an object with slots, a random generator or a sharded module, and what was in it."""

    def __init__(self, thing: Any, content: _Content) -> None:
        self._thing = thing
        self._content = content
        self.before = content.read(thing)

    @property
    def what(self) -> str:
        return self._content.name.format(type(self._thing).__name__)

    def has_changed(self) -> bool:
        return not self._content.is_same(self._content.read(self._thing), self.before)

    def put_back(self) -> None:
        if self.has_changed():
            self._content.write(self._thing, self.before)


Pairs = list[tuple[Any, Any]]


def _same_items(now: list[Any], before: list[Any]) -> bool:
    # By identity: to compare tensors is to compute, and to compare objects may be anything.
    return len(now) == len(before) and all(map(operator.is_, now, before))


def _same_pairs(now: Pairs, before: Pairs) -> bool:
    pairs = zip(now, before, strict=False)
    return len(now) == len(before) and all(a is b and x is y for (a, x), (b, y) in pairs)


def _pairs(base: type[dict[Any, Any]], thing: dict[Any, Any]) -> Pairs:
    return list(base.items(thing))


def _write_dict(base: type[dict[Any, Any]], thing: dict[Any, Any], before: Pairs) -> None:
    wanted = dict(before)
    for key, _ in _pairs(base, thing):
        if key not in wanted:
            base.__delitem__(thing, key)
    for key, value in before:
        if dict.get(thing, key, _MISSING) is not value:
            base.__setitem__(thing, key, value)
    if not _same_pairs(_pairs(base, thing), before):
        for key, value in before:  # the order is another one
            base.__delitem__(thing, key)
            base.__setitem__(thing, key, value)


def _write_set(thing: set[Any], before: set[Any]) -> None:
    set.intersection_update(thing, before)
    set.update(thing, before)


def _write_deque(thing: deque[Any], before: list[Any]) -> None:
    deque.extend(thing, before)  # one of limited length drops others by itself
    while deque.__len__(thing) > len(before):
        deque.popleft(thing)


def _never_same(_now: Any, _before: Any) -> bool:
    return False


def _write_generator(thing: Any, before: Any) -> None:
    thing.bit_generator.state = before


def _itself(items: Any) -> Any:
    return items


_DICT = _Content(
    read=partial(_pairs, dict),
    write=partial(_write_dict, dict),
    is_same=_same_pairs,
    inside=lambda pairs: [value for _, value in pairs],
)
_ORDERED = _DICT._replace(read=partial(_pairs, OrderedDict), write=partial(_write_dict, OrderedDict))

# By the type whose own methods are used; the first that fits.
_CONTENTS: list[tuple[type, _Content]] = [
    (OrderedDict, _ORDERED),
    (dict, _DICT),
    (
        list,
        _Content(list.copy, lambda t, before: list.__setitem__(t, slice(None), before), _same_items, _itself),
    ),
    (set, _Content(lambda t: set(set.__iter__(t)), _write_set, operator.eq, _itself)),
    (deque, _Content(lambda t: list(deque.__iter__(t)), _write_deque, _same_items, _itself)),
    (
        bytearray,
        _Content(bytes, lambda t, before: bytearray.__setitem__(t, slice(None), before), operator.eq),
    ),
    (
        numpy.ndarray,
        _Content(
            lambda t: numpy.array(t, subok=False),
            lambda t, before: numpy.copyto(t.view(numpy.ndarray), before),
            lambda now, before: bool(now.shape == before.shape and now.tobytes() == before.tobytes()),
            is_large=True,
        ),
    ),
    (random.Random, _Content(random.Random.getstate, random.Random.setstate, operator.eq)),
    (torch.Generator, _Content(torch.Generator.get_state, torch.Generator.set_state, torch.equal)),
]
# By their names, for numpy.random takes a while to import. Their states are nested dicts with arrays, and are
# written back without being compared.
_NUMPY_GENERATORS = {
    "Generator": _Content(lambda t: t.bit_generator.state, _write_generator, _never_same),
    "RandomState": _Content(
        lambda t: t.get_state(legacy=False), lambda t, state: t.set_state(state), _never_same
    ),
}


def _content_of(kind: type) -> _Content | None:
    if kind.__module__.startswith("numpy.random."):
        return _NUMPY_GENERATORS.get(kind.__name__)
    return next((row for base, row in _CONTENTS if issubclass(kind, base)), None)


_PLAIN = frozenset((dict, OrderedDict, list, set, deque, tuple, frozenset, bytearray, numpy.ndarray))
_ATOMS = ATOMS | {type, range, slice}


# --- objects --------------------------------------------------------------------------------------


def _write_slots(thing: Any, before: list[Any]) -> None:
    # Past `__setattr__`, which a frozen class forbids.
    for (_, slot), value in zip(slots_of(type(thing)), before, strict=True):
        if _read_slot(slot, thing) is value:
            continue
        if value is _MISSING:
            slot.__delete__(thing)
        else:
            slot.__set__(thing, value)


_SLOTS = _Content(
    lambda thing: [_read_slot(slot, thing) for _, slot in slots_of(type(thing))],
    _write_slots,
    _same_items,
    _itself,
)


def _read_slot(slot: Any, thing: Any) -> Any:
    try:
        return slot.__get__(thing)
    except AttributeError:
        return _MISSING


def _own_dict(thing: Any) -> dict[str, Any] | None:
    try:
        own = object.__getattribute__(thing, "__dict__")
    except (AttributeError, TypeError):
        return None
    return own if type(own) is dict else None


# Tools that stand beside a model, change on their own account and are no part of it.
_FOREIGN = tuple(
    f"{home}."
    for home in (
        "_io _thread _weakref _weakrefset accelerate asyncio concurrent enum functools inspect io lightning "
        "lightning_fabric logging multiprocessing pathlib pytorch_lightning queue re rich socket subprocess "
        "threading torch._C torch._dynamo torch._functorch torch._inductor torch._ops torch.autograd "
        "torch.cuda torch.distributed torch.fx torch.jit torch.optim torch.profiler torch.utils.data "
        "torcheer tqdm typing weakref"
    ).split()
)


_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
_MEMBERS = ("_parameters", "_buffers", "_modules")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")  # those that change what a forward gives


def _own_tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(recurse=False), *module.buffers(recurse=False)]


def is_sharded(module: nn.Module) -> bool:
    """Whether FSDP2 (`fully_shard`) gathers its parameters when it runs, and lets them go again."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    kind = getattr(fsdp, "FSDPModule", None)
    return kind is not None and isinstance(module, kind)


def _is_gathered(sharded: nn.Module) -> bool:
    own = [sharded]
    for module in own:
        own += [child for child in module.children() if not is_sharded(child)]
    params = [param for module in own for param in module.parameters(recurse=False)]
    return any(not hasattr(param, "_local_tensor") for param in params)


_SHARDS = _Content(
    _is_gathered,
    lambda module, was_gathered: module.unshard() if was_gathered else module.reshard(),
    operator.eq,
    name="the shards of a {}",
)


class _TensorBefore:
    """A tensor: where its numbers lie, its gradient, whether it wants one, and its numbers."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._requires_grad = tensor.requires_grad
        self._grad = tensor.grad if tensor.is_leaf else None
        self._version = version_of(tensor)
        self._memory = tensor.detach()  # the same numbers, whatever the tensor is pointed at later
        self._values: Tensor | None = None
        # Parameters may be as large as memory: whoever writes into one has to see to it.
        if has_data(tensor) and not isinstance(tensor, nn.Parameter) and not is_freed(tensor):
            self._values = _writable(self._memory).clone()
            self._num_bytes = self._memory.untyped_storage().nbytes() if is_strided(tensor) else 0

    @property
    def what(self) -> str:
        return (
            "a nested tensor" if self._tensor.is_nested else f"a tensor of shape {tuple(self._memory.shape)}"
        )

    def has_changed(self) -> bool:
        return self._is_elsewhere() or self._has_other_flags() or self._has_other_values()

    def put_back(self) -> None:
        tensor = self._tensor
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            if self._values is not None and self._has_other_values():
                if is_freed(self._memory):
                    storage = self._memory.untyped_storage()
                    storage.resize_(self._num_bytes)
                _writable(self._memory).copy_(self._values)
            if self._is_elsewhere():
                tensor.data = self._memory
        if self._has_other_flags():
            tensor.requires_grad_(self._requires_grad)
            tensor.grad = self._grad

    def _is_elsewhere(self) -> bool:
        now, before = _local(self._tensor), _local(self._memory)
        if not is_strided(now) or not has_data(now):
            return False
        return (
            now.data_ptr() != before.data_ptr()
            or now.dtype != before.dtype
            or now.shape != before.shape
            or now.stride() != before.stride()
        )

    def _has_other_flags(self) -> bool:
        tensor = self._tensor
        if not tensor.is_leaf:
            return False
        return tensor.requires_grad != self._requires_grad or tensor.grad is not self._grad

    def _has_other_values(self) -> bool:
        # Not by torch's count of writes: a normalisation in training does not count its own.
        if self._values is None:
            return False
        if is_freed(self._memory):
            return True
        now, before = _local(_writable(self._memory)), _local(self._values)
        try:
            if torch.equal(now, before):
                return False
            same = now == before
            if now.is_floating_point() or now.is_complex():
                same |= now.isnan() & before.isnan()
            return not bool(same.all())
        except (RuntimeError, NotImplementedError):  # nested or sparse: torch does not compare them
            return version_of(self._tensor) != self._version


def _local(tensor: Tensor) -> Tensor:
    """Of a tensor that is spread over ranks, the part that lies here."""
    part = getattr(tensor, "_local_tensor", tensor)
    return part if isinstance(part, Tensor) else tensor


def _writable(tensor: Tensor) -> Tensor:
    """Without the dimensions along which one number stands for many, into which torch does not write."""
    if not is_strided(tensor):
        return tensor
    for dim, (step, size) in enumerate(zip(tensor.stride(), tensor.shape, strict=True)):
        if step == 0 and size > 1:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


@contextmanager
def undisturbed() -> Iterator[None]:
    """The same under FakeTensorMode, a default device, or a pass that is being recorded."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


# --- modes of torch ---------------------------------------------------------------------------------


class TorchModes(NamedTuple):
    """What decides beside a model's own code how torch computes: read when a pass begins."""

    grad: bool
    inference: bool
    autocast: tuple[tuple[str, bool, torch.dtype], ...]  # kind of device, whether it is on, to what
    autocast_cache: bool
    switches: tuple[Any, ...]  # in the order of _SWITCHES


def torch_modes() -> TorchModes:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    kinds = ["cpu"] if accelerator is None else ["cpu", accelerator.type]
    return TorchModes(
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        tuple((kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in kinds),
        torch.is_autocast_cache_enabled(),
        tuple(read() for read, _ in _SWITCHES),
    )


@contextmanager
def under(modes: TorchModes) -> Iterator[None]:
    """Run as somebody did who read these modes."""
    with (
        computing_alike(modes, with_casts=True),
        torch.inference_mode(modes.inference),
        torch.set_grad_enabled(modes.grad),
    ):
        yield


@contextmanager
def computing_alike(modes: TorchModes, *, with_casts: bool = False) -> Iterator[None]:
    """All as it was but gradients and, for single ops that bring their own autocast, casts."""
    with ExitStack() as stack:
        stack.enter_context(_switched(modes.switches))
        for kind, was_on, dtype in modes.autocast:
            is_on, cache = was_on and with_casts, modes.autocast_cache and with_casts
            cast = torch.autocast(kind, dtype=dtype if is_on else None, enabled=is_on, cache_enabled=cache)
            stack.enter_context(cast)
        yield


@contextmanager
def _switched(wanted: tuple[Any, ...]) -> Iterator[None]:
    changed = [
        (write, before, value)
        for (read, write), value in zip(_SWITCHES, wanted, strict=True)
        if (before := read()) != value
    ]
    try:
        for write, _, value in changed:
            write(value)
        yield
    finally:
        for write, before, _ in reversed(changed):
            write(before)


def _flag(name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    return getattr(torch._C, f"_get_{name}"), getattr(torch._C, f"_set_{name}")


# How each is read, and how it is set.
_SWITCHES: tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),  # sums are split among them
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    _flag("mkldnn_enabled"),
    _flag("cudnn_enabled"),
    _flag("cudnn_benchmark"),
    _flag("cudnn_deterministic"),
    (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    (torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp),
    (torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    (torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
)


RandomState = list[tuple[str, Callable[[], None]]]  # by the name of a generator: what puts it back


def random_state() -> RandomState:
    """All random generators that a model is likely to draw from, as they are now."""
    steps: RandomState = [
        ("random", partial(random.setstate, random.getstate())),
        ("torch", partial(torch.set_rng_state, torch.get_rng_state())),
        ("numpy.random", partial(numpy.random.set_state, numpy.random.get_state())),
    ]
    if torch.cuda._initialized:
        steps.append(("torch.cuda", partial(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())))
    return steps


def restore_random_state(state: RandomState) -> None:
    failed = run_all(state)
    if failed:
        warnings.warn(f"random generators could not be put back: {'; '.join(failed)}", stacklevel=2)


@contextmanager
def same_random_state_after() -> Iterator[None]:
    """Whatever is drawn inside, the generators are afterwards as they were."""
    state = random_state()
    try:
        yield
    finally:
        restore_random_state(state)


def seed_everything(seed: int) -> None:
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def run_all(steps: Iterable[tuple[str, Callable[[], None]]]) -> list[str]:
    """Take every step, whatever becomes of the others; returns in words which failed.

    An interrupt cuts it short no more than an error does: it is raised at the end.
    """
    failed: list[str] = []
    interrupt: BaseException | None = None
    for what, step in steps:
        try:
            try:
                step()
            except Exception:
                raise
            except BaseException as error:
                interrupt = error
                step()
        except Exception as error:
            failed.append(f"{what} ({type(error).__name__}: {error})")
    if interrupt is not None:
        raise interrupt
    return failed

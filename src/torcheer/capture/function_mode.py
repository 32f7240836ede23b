"""Catch every torch call that Python makes, and append a small record of it.

This is the hot path: a few microseconds an op. Whatever can wait is left to later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from sys import _getframe
from time import perf_counter
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from torcheer.capture.aliasing import batch_dims, unwrapped, version_of
from torcheer.capture.aten import AtenCall, begin_watching, end_watching
from torcheer.capture.function_traits import Kind, Trait, is_random_call, known_trait, trait_of
from torcheer.capture.inputs import ATOMS, collect_into, collect_tensors, map_leaves
from torcheer.capture.tape import TENSOR, Context, Read, Record, Scope, Tape, Use
from torcheer.graph import Site

_MAX_ARRAY_BYTES = 1024
_NONE: dict[str, Any] = {}

_new = tuple.__new__
_autocast_is_on = torch._C._is_any_autocast_enabled
_transforms_are_on = torch._C._are_functorch_transforms_active
_layers_of_transforms: Callable[[], list[Any]] = torch._C._functorch.get_interpreter_stack
_Parameter = nn.Parameter


class Unkept:
    """Stands in recorded arguments for an object that was too large to keep."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<{self.what}, not kept>"


class Before(NamedTuple):
    """What is noted of a call before it runs."""

    call: tuple[Trait, tuple[Any, ...], dict[str, Any] | None, tuple[int, ...], Scope, Site]
    context: Context | None
    targets: list[Tensor]  # that it writes into
    changed: list[tuple[Tensor, list[int]]]  # each written tensor, with the ops whose tensors change with it
    may_grow: bool


class Catcher(TorchFunctionMode):
    """Records the torch calls of one thread onto a tape."""

    def __init__(self, tape: Tape, scope: Scope) -> None:
        super().__init__()
        self.tape = tape
        self.scope = scope
        self.fast = False  # keep everything by reference, one thread, nothing unusual
        self.copies = OpenCopies()
        self.drill: Any = None  # a dispatch mode that watches for what no Python call shows

    # One long function, since each call that would tidy it costs as much as it does.
    def __torch_function__(  # noqa: C901
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        trait = known_trait(func)
        if trait is None:
            trait = trait_of(func)
        kind = trait.kind
        if kind == 2:
            return func(*args, **kwargs) if kwargs else func(*args)
        frame = _getframe(1)
        back = frame.f_back
        direct = back is None or id(back.f_code) in _STOPS
        site: Site = (frame.f_code, frame.f_lasti) if direct else _site(frame)
        if kind != 0 and (trait.is_calm is None or not trait.is_calm(args, kwargs or _NONE)):
            return self._unusual(trait, args, kwargs or {}, site)
        if not self.fast or (kwargs and ("out" in kwargs or kwargs.get("inplace"))) or _transforms_are_on():
            return self._careful(trait, args, kwargs or {}, site)

        tape = self.tape
        owner_get, values = tape.owner.get, tape.values
        parents: list[int] = []
        kept: list[Any] = []
        for arg in args:
            kind_of_arg = type(arg)
            if kind_of_arg is Tensor or kind_of_arg is _Parameter:
                index = owner_get(id(arg))
                if index is None or (values[index] is not arg if index >= 0 else tape.memory.stale):
                    index = tape.find(arg, Use(self.scope, site, len(parents)))
                parents.append(index)
                kept.append(TENSOR)
            elif kind_of_arg in ATOMS:
                kept.append(arg)
            else:
                kept.append(self._template(arg, parents, site))
        kept_kwargs = self._template(kwargs, parents, site) if kwargs else None

        started = perf_counter()
        out = func(*args, **kwargs) if kwargs else func(*args)
        seconds = perf_counter() - started

        context = Context(autocast=_autocast_state()) if _autocast_is_on() else None
        fields = (trait, tuple(kept), kept_kwargs, tuple(parents), self.scope, site, seconds, 0, context)
        record = _new(Record, fields)
        if type(out) is Tensor:
            try:
                if out._version:
                    tape.memory.note_version(out)  # some ops write into their own result
            except RuntimeError:  # made in inference mode, where torch does not count
                pass
            # Cheaper than the lock: a thread that wants to record too first takes `fast` from us, and then
            # waits until we are not busy.
            tape.is_busy = True
            if self.fast:
                tape.owner[id(out)] = len(values)
                tape.records.append(record)
                values.append(out)
                tape.is_busy = False
            else:
                tape.is_busy = False  # type: ignore[unreachable]  # not so: another thread sets it
                tape.commit(record, out)
        else:
            self._record_all(out, record)
        return out

    def _unusual(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Any:
        if trait.kind == Kind.OPEN and self.scope.func is not trait.func:
            return self._open(trait, args, kwargs, site)
        if trait.kind == Kind.READ:
            return self._read(trait, args, kwargs, site)
        return self._careful(trait, args, kwargs, site)

    def _open(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Any:
        """Run a copy of a Python-level function under the mode: its inside is a scope of ops."""
        outer = self.scope
        scope = Scope(outer, None, trait.name, site, len(self.tape.records))
        scope.func = trait.func
        self.scope = scope
        started = perf_counter()
        try:
            with self:
                return self.copies.copy_of(trait.func)(*args, **kwargs)
        finally:
            self.scope = outer
            scope.seconds = perf_counter() - started
            scope.num_ops = len(self.tape.records) - scope.first_op

    def _read(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Any:
        tape = self.tape
        if tape.editor is not None:
            args, kwargs = self._edited_arguments(args, kwargs, site)
        parents: list[int] = []
        with tape.lock:
            if not tape.is_over:
                self._template((*args, *kwargs.values()), parents, site)
        with self.covering():
            out = trait.func(*args, **kwargs)
        if parents:
            tape.reads.append(Read(trait.name, parents[0], out, len(tape.records), self.scope, site))
        return out

    def _careful(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Any:
        """Record an op that may write into tensors, draw random numbers or be transformed."""
        if self.drill is None:
            return self._record_carefully(trait, args, kwargs, site)
        with self.drill.covered():
            return self._record_carefully(trait, args, kwargs, site)

    def _record_carefully(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Any:
        if any(is_lazy(arg) for arg in args):
            return trait.func(*args, **kwargs)  # a lazy module makes its parameters: not there yet
        if self.tape.editor is not None:
            args, kwargs = self._edited_arguments(args, kwargs, site)
        with self.tape.lock:
            before = None if self.tape.is_over else self._before(trait, args, kwargs, site)
        started = perf_counter()
        out, calls = self._run(trait, args, kwargs)
        seconds = perf_counter() - started
        with self.tape.lock:
            if before is None or self.tape.is_over:
                return out
            if self.tape.aten is not None:
                self.tape.aten[len(self.tape.records)] = calls
            return self._after(before, out, seconds)

    def _before(self, trait: Trait, args: Any, kwargs: dict[str, Any], site: Site) -> Before:
        """Note the arguments, and copy what is kept on memory that the call is about to write."""
        tape = self.tape
        parents: list[int] = []
        kept = self._template(tuple(args), parents, site)
        kept_kwargs = self._template(kwargs, parents, site) if kwargs else None
        targets = write_targets(trait, args, kwargs)
        may_grow = kwargs.get("out") is not None
        changed = [(target, tape.memory.before_write(target, may_grow=may_grow)) for target in targets]
        for target in side_targets(trait, args, kwargs):
            changed.append(
                (target, tape.memory.before_side_write(target, tape.find(target, Use(self.scope, site))))
            )
        if trait.exposes:
            for target in (a for a in args if isinstance(a, Tensor)):
                tape.memory.expose(target)
                self.fast = False
        context = self._context(trait, args, kwargs, len(targets))
        if any(op in parents for _, ops in changed for op in ops) and not trait.side_writes:
            context = (context or Context())._replace(reads_what_it_writes=True)
        call = (trait, kept, kept_kwargs, tuple(parents), self.scope, site)
        return Before(call, context, targets, changed, may_grow)

    def _after(self, before: Before, out: Any, seconds: float) -> Any:
        """Record what the call gave and what it wrote; returns what goes on to the model."""
        tape = self.tape
        first = len(tape.records)
        record = Record(*before.call, seconds, 0, before.context)
        made = self._record_all(out, record)
        missing = [target for target in before.targets if not any(target is tensor for tensor in made)]
        if missing:
            made += self._record_all(missing, record, len(made))
        for target, ops in before.changed:
            write = next((first + i for i, tensor in enumerate(made) if tensor is target), first)
            if before.may_grow:
                ops = sorted({*ops, *tape.memory.lying_under(target, but=write)})
            # Below autograd, where scripts are watched, a write is counted only later.
            tape.memory.after_write(ops, write, target, ahead=0 if self.drill is None else 1)
        return out if tape.editor is None else tape.editor.swapped_output(out)

    def _edited_arguments(self, args: Any, kwargs: dict[str, Any], site: Site) -> tuple[Any, dict[str, Any]]:
        """The model may still hold tensors that an edit has replaced, or bring along ones to be edited."""
        editor = self.tape.editor
        assert editor is not None
        args, kwargs = editor.swapped((tuple(args), kwargs))
        with self.tape.lock:
            self._template((*args, *kwargs.values()), [], site)  # a buffer's first use makes its node
        args, kwargs = editor.swapped((args, kwargs))
        editor.begin_call()
        return args, kwargs

    def _run(self, trait: Trait, args: Any, kwargs: dict[str, Any]) -> tuple[Any, tuple[AtenCall, ...]]:
        """The call itself, and what it was made of where that is wanted."""
        if self.tape.aten is None:
            return trait.func(*args, **kwargs), ()
        calls = begin_watching()
        try:
            out = trait.func(*args, **kwargs)
        finally:
            end_watching(calls)
        return out, tuple(calls)

    def is_away(self) -> bool:
        """Whether this thread is busy with something else than the pass."""
        return False

    def covering(self) -> AbstractContextManager[Any]:
        """While a recorded call runs, what happens below it is covered by its record."""
        return nullcontext() if self.drill is None else self.drill.covered()

    def _record_all(self, out: Any, record: Record, first: int = 0) -> list[Tensor]:
        """One record for each tensor of an output."""
        made = collect_tensors(out)
        for tensor in made:
            if version_of(unwrapped(tensor)):
                self.tape.memory.note_version(tensor)
        batched = _transforms_are_on()
        for position, tensor in enumerate(made, first):
            context = _in_transform(record.context, tensor, len(made)) if batched else record.context
            is_same = not position and context is record.context  # the usual case; `_replace` takes a while
            its_record = record if is_same else record._replace(position=position, context=context)
            self.tape.commit(its_record, tensor)
        return made

    def _template(self, value: Any, parents: list[int], site: Site) -> Any:
        """A copy of nested arguments with TENSOR for each tensor; its maker goes to `parents`."""
        kind = type(value)
        if kind is dict and ATOMS.issuperset(map(type, value.values())):
            return dict(value)
        if (kind is tuple or kind is list) and ATOMS.issuperset(map(type, value)):
            return kind(value)

        def keep(leaf: Any) -> Any:
            if isinstance(leaf, Tensor):
                parents.append(self.tape.find(leaf, Use(self.scope, site, len(parents))))
                return TENSOR
            if hasattr(leaf, "__array_interface__") and getattr(leaf, "nbytes", 0) > _MAX_ARRAY_BYTES:
                return Unkept(f"array of {leaf.nbytes} bytes")
            return leaf.copy() if hasattr(leaf, "__array_interface__") and hasattr(leaf, "copy") else leaf

        return map_leaves(value, keep)

    def _context(self, trait: Trait, args: Any, kwargs: dict[str, Any], num_targets: int) -> Context | None:
        context = Context(num_targets=num_targets)
        if _transforms_are_on():
            dims = tuple(batch_dims(tensor) for tensor in collect_tensors((args, kwargs)))
            context = context._replace(batch_dims=dims)
        if is_random_call(trait, args, kwargs):
            generator = kwargs.get("generator")
            context = context._replace(rng=_rng_state(args, kwargs, generator), generator=generator)
        if _autocast_is_on():
            context = context._replace(autocast=_autocast_state())
        return None if context == Context() else context


class ThreadCatcher(Catcher):
    """Records a thread that forward started, unless that thread captures a pass of its own."""

    def __init__(self, tape: Tape, scope: Scope, is_away: Callable[[], bool]) -> None:
        super().__init__(tape, scope)
        self.is_away = is_away  # type: ignore[method-assign]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.is_away() or self.tape.is_over:
            return func(*args, **(kwargs or {}))
        trait = trait_of(func)
        if trait.kind == Kind.SKIP:
            return func(*args, **(kwargs or {}))
        return self._unusual(trait, args, kwargs or {}, _site(_getframe(1)))


def write_targets(trait: Trait, args: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that a call writes into."""
    targets: list[Tensor] = []
    if trait.writes:
        collect_into(args[0] if args else next(iter(kwargs.values()), None), targets)
    if kwargs.get("out") is not None:
        collect_into(kwargs["out"], targets)
    for where in trait.write_args:
        if isinstance(where, int) and where < len(args):
            collect_into(args[where], targets)
        elif isinstance(where, str) and where in kwargs:
            collect_into(kwargs[where], targets)
    if kwargs.get("inplace") is True and args:
        collect_into(args[0], targets)
    return list({id(target): target for target in targets}.values())


def side_targets(trait: Trait, args: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """Running statistics that a normalisation in training updates."""
    if not trait.side_writes:
        return []
    training = kwargs.get("training", kwargs.get("use_input_stats", args[5] if len(args) > 5 else False))
    if not training:
        return []
    named = [kwargs.get("running_mean"), kwargs.get("running_var")]
    positional = [args[i] for i in trait.side_writes if i < len(args)]
    return [t for t in (*positional, *named) if isinstance(t, Tensor)]


def _site(frame: Any) -> Site:
    """The frames from the running forward down to the op, outermost first."""
    pairs: list[Any] = []
    while frame is not None and id(frame.f_code) not in _STOPS:
        pairs.append(frame.f_lasti)
        pairs.append(frame.f_code)
        frame = frame.f_back
    pairs.reverse()
    return tuple(pairs)


def site_of_module_call() -> Site:
    """Where the module is being called that a hook was told of: under that hook, and the one it lies in."""
    frame: Any = _getframe(3)
    while frame is not None and id(frame.f_code) in _STOPS:
        frame = frame.f_back
    return _site(frame)


def _autocast_state() -> tuple[tuple[str, Any], ...]:
    kinds = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    return tuple((kind, torch.get_autocast_dtype(kind)) for kind in kinds if torch.is_autocast_enabled(kind))


def _rng_state(args: Any, kwargs: dict[str, Any], generator: torch.Generator | None) -> tuple[str, Any]:
    if generator is not None:
        return ("generator", generator.get_state())
    tensors: list[Tensor] = []
    collect_into((args, kwargs), tensors)
    device = kwargs.get("device") or (tensors[0].device if tensors else None)
    kind = torch.device(device).type if device is not None else torch.get_default_device().type
    if kind in ("cpu", "meta"):
        return ("cpu", torch.get_rng_state())
    return (kind, torch.get_device_module(kind).get_rng_state())


def _in_transform(context: Context | None, output: Tensor, num_outputs: int) -> Context:
    """What a replay must know of an op that ran inside vmap; why there is none, in harder cases."""
    context = context or Context()
    if any(layer.key() == torch._C._functorch.TransformType.Vmap for layer in _layers_of_transforms()):
        context = context._replace(is_below_vmap=True)
    if num_outputs > 1 or context.rng is not None or context.num_targets:
        return context._replace(
            note="it ran inside a torch.func transform and wrote, drew random numbers or gave several outputs"
        )
    return context._replace(batch_dims=(*context.batch_dims, batch_dims(output)))


# Where a site ends: the machinery that calls a forward, and our own frame around an opened function.
_call_impl = nn.Module._call_impl.__code__
_STOPS = frozenset(
    id(code)
    for code in (
        _call_impl,
        next(c for c in _call_impl.co_consts if isinstance(c, CodeType) and c.co_name == "inner"),
        nn.Module._wrapped_call_impl.__code__,
        Catcher._open.__code__,
    )
)


_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class OpenCopies:
    """Copies of torch functions that are written in Python, to look inside of them.

    While a function mode is active, `F.multi_head_attention_forward` and its like hand themselves over as
    one call. A copy of the function whose `has_torch_function` answers no runs its body instead. The copies
    are made for one capture: a function that is replaced later is found anew.
    """

    def __init__(self) -> None:
        self._globals: dict[int, dict[str, Any]] = {}
        self._copies: dict[FunctionType, FunctionType] = {}

    def copy_of(self, func: FunctionType) -> FunctionType:
        copy = self._copies.get(func)
        if copy is None:
            namespace = func.__globals__
            unchecked = self._globals.get(id(namespace))
            if unchecked is None:
                unchecked = dict(namespace)
                unchecked.update((name, lambda *_: False) for name in _CHECKS if name in namespace)
                self._globals[id(namespace)] = unchecked
            copy = FunctionType(func.__code__, unchecked, func.__name__, func.__defaults__, func.__closure__)
            copy.__kwdefaults__ = func.__kwdefaults__
            self._copies[func] = copy
        return copy

"""The raw record of a pass: what ran, on what, in which order, and which values were kept.

Filled on the hot path; everything that can wait (labels, loops, sizes) is read off it later.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture.aliasing import (
    Alias,
    BatchDims,
    SharedMemory,
    Write,
    geometry_of,
    grad_fn_of,
    has_data,
    is_twin,
    num_bytes,
    private_copy,
    shape_of,
    unwrapped,
)
from torcheer.capture.aten import AtenCall
from torcheer.capture.function_traits import Trait, own_trait
from torcheer.capture.inputs import tensors_in
from torcheer.graph import Site

if TYPE_CHECKING:
    from torcheer.capture.analysis.edits import Editor
    from torcheer.capture.backward.grad_graph import Edge, EdgesTaken
    from torcheer.capture.model_walk import ModelWalk
    from torcheer.capture.module_scopes import OtherThreads


@dataclass(slots=True, eq=False)
class Scope:
    """One call of a module, or of a torch function that was opened up. Filled on the hot path."""

    parent: Scope | None
    address: str | None  # None for a function
    name: str  # class or function
    site: Site
    first_op: int
    depth: int = 0
    func: Any = None
    pass_num: int = 1
    num_ops: int = -1  # filled when it ends
    outputs: tuple[int, ...] = ()
    started: float = 0.0  # while it runs
    seconds: float = 0.0
    drill: ExitStack | None = None  # closed when a scripted module ends

    def __post_init__(self) -> None:
        self.depth = 0 if self.parent is None else self.parent.depth + 1

    @property
    def is_module(self) -> bool:
        return self.address is not None

    def close(self, num_ops_now: int) -> None:
        if self.started:
            self.seconds = perf_counter() - self.started
            self.num_ops = num_ops_now - self.first_op
            self.started = 0.0

    def end(self, num_ops_now: int) -> int:
        """One past its last op, so far."""
        return num_ops_now if self.num_ops < 0 else self.first_op + self.num_ops

    def module(self) -> Scope:
        """The module call that this scope is, or lies in."""
        scope = self
        while scope.address is None and scope.parent is not None:
            scope = scope.parent
        return scope

    def chain(self) -> list[Scope]:
        """From the model itself down to this scope."""
        scopes: list[Scope] = []
        scope: Scope | None = self
        while scope is not None:
            scopes.append(scope)
            scope = scope.parent
        return scopes[::-1]


class _TensorSlot:
    """Stands in a recorded argument where a tensor was; `parents` says which."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<tensor>"


TENSOR = _TensorSlot()


class Context(NamedTuple):
    """What a replay must restore, for the few ops that need it."""

    rng: tuple[str, Any] | None = None  # (device type, state before the call)
    generator: Any = None  # the generator that the call was given
    autocast: tuple[tuple[str, Any], ...] = ()  # (device type, dtype) where enabled
    batch_dims: tuple[BatchDims, ...] = ()  # inside vmap: of each tensor argument, and last of the output
    num_targets: int = 0  # tensors that it wrote into
    reads_what_it_writes: bool = False  # another argument lies on the memory of a target
    note: str = ""  # why it cannot be replayed, where that is so
    is_below_vmap: bool = False  # it ran inside vmap, perhaps on tensors that are not batched


class Record(NamedTuple):
    """One output of one call."""

    trait: Trait
    args: tuple[Any, ...]  # TENSOR where a tensor stood
    kwargs: dict[str, Any] | None
    parents: tuple[int, ...]  # one for each TENSOR, in order; negative: a parameter
    scope: Scope
    site: Site
    seconds: float
    position: int  # which output of the call
    context: Context | None


class Use(NamedTuple):
    """Where a tensor is being used: a node that is first met there stands at that place."""

    scope: Scope
    site: Site = ()
    slot: int = 0  # which tensor of the call


class Meta(NamedTuple):
    """The outline of a tensor that was not kept, or is no longer what it was."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device
    num_bytes: int
    requires_grad: bool
    grad_fn_name: str | None


class Read(NamedTuple):
    """A tensor's value that went to Python, as in `if x.sum() > 0`."""

    name: str
    op: int
    value: Any
    num_ops: int  # how many ops there were before it
    scope: Scope
    site: Site


def _nothing(*_args: Any) -> None:
    raise RuntimeError("this node was not made by a torch call")


INPUT = own_trait(_nothing, "input")
OUTPUT = own_trait(_nothing, "output")
BUFFER = own_trait(_nothing, "buffer")
SOURCE = own_trait(_nothing, "source")
IDENTITY = own_trait(lambda x: x, "identity")
UPDATED = own_trait(_nothing, "updated")
ALIAS = own_trait(_nothing, "alias")
OWN_TRAITS = (INPUT, OUTPUT, BUFFER, SOURCE, IDENTITY, UPDATED, ALIAS)  # made by no call
NOT_CALLS = frozenset(id(t) for t in (INPUT, OUTPUT, BUFFER, SOURCE))


def tensor_places(record: Record) -> list[tuple[int | str, ...]]:
    """Where each tensor stood among the arguments: `(0,)`, `("input",)`, `(1, 2)` inside of a list."""
    found: list[tuple[int | str, ...]] = []

    def look(value: Any, *place: int | str) -> None:
        items: Any = ()
        if value is TENSOR:
            found.append(place)
        elif isinstance(value, list | tuple):
            items = enumerate(value)
        elif isinstance(value, dict):
            items = value.items()
        elif isinstance(value, slice):
            items = (("start", value.start), ("stop", value.stop), ("step", value.step))
        for name, item in items:
            look(item, *place, name)

    look(record.args)
    look(record.kwargs)
    return found


def is_call(record: Record) -> bool:
    """Whether a torch call made it, or a module that does nothing; not so an input, a buffer, a constant…"""
    return record.trait.func is not _nothing


def meta_of(tensor: Tensor) -> Meta:
    real, node = unwrapped(tensor), grad_fn_of(tensor)
    return Meta(
        shape=shape_of(real),
        dtype=real.dtype,
        device=real.device,
        num_bytes=num_bytes(real),
        requires_grad=tensor.requires_grad,
        grad_fn_name=None if node is None else node.name(),
    )


class Tape:
    """Everything recorded in one pass."""

    was_loaded = False  # from a file, without functions and parameters
    start: Any = None  # what a second, plain forward must be given
    modes: Any = None  # how torch computed when the pass began
    output: Any = None  # what the model returned
    edits: Sequence[tuple[int, Any]] = ()  # each op, and what was done to its output

    def __init__(self, walk: ModelWalk, keep_all: bool, copy_all: bool = False) -> None:
        self.records: list[Record] = []
        self.values: list[Tensor | None] = []
        self.metas: dict[int, Meta] = {}
        self.reads: list[Read] = []
        self.addresses: dict[int, str] = {}  # of inputs, outputs and buffers
        self.input_tensors: dict[int, Tensor] = {}  # what the model was really given, for a second forward
        self.param_versions: list[int | None] = []
        self.params: list[tuple[str, Tensor]] = []  # those used; parent -1 is the first
        self.param_values: dict[int, Tensor] = {}  # of parameters that were written into, before
        self.owner: dict[int, int] = {}  # id of a tensor -> the op that made it
        self.refs: dict[int, weakref.ref[Tensor]] = {}  # of ops whose value is not the tensor itself
        self.private: set[int] = set()  # ops whose value is a copy that nothing else shares
        self.keep_all = keep_all
        self.copy_all = copy_all  # keep no value by reference
        self.on_commit: Callable[[int, Tensor], None] | None = None
        self.on_replace: Callable[[int, Tensor], None] | None = None
        self.lock = threading.RLock()
        self.is_busy = False  # on the hot path, which takes no lock
        self.is_over = False  # the model has returned: what its threads still do is no part of the pass
        self.memory = SharedMemory(self)
        self.edges: EdgesTaken | None = None  # where gradients are wanted of values that are not kept
        self.edges_before_writes: dict[int, Edge] = {}  # of values that were copied before a write
        self.aten: dict[int, tuple[AtenCall, ...]] | None = None  # below each op, where they are wanted
        self.editor: Editor | None = None
        self.unedited: dict[int, Tensor] = {}  # what ops gave before they were edited
        self.extras: list[int] = []  # nodes that stand in no unedited pass
        self.edited_at: dict[int, int] = {}  # how many ops there were then: earlier ones read it unedited
        self.warnings: list[str] = []
        self.other_threads: OtherThreads | None = None  # that were running when the pass began
        self._walk = walk

    def end(self) -> None:
        """From here on no op is added, whatever threads that the model has left are doing just now."""
        with self.lock:
            self.is_over = True

    def find(self, tensor: Tensor, use: Use) -> int:
        """The op that made a tensor; one that nobody recorded becomes a source of its own."""
        with self.lock:
            index = self.owner.get(id(tensor))
            # An id may be a dead tensor's, used again: only the living one counts.
            if index is None or self.memory.live(index) is not tensor:
                return self._trace_back(tensor, use)
            writes = self.memory.stale.pop(index, None)
            if writes is not None:
                return self._after_writes(index, writes, tensor, use)
            if self.memory.was_changed_outside(index, tensor):
                context = Context(note="its memory was written from outside torch")
                return self.add_node(UPDATED, (index,), tensor, use, context=context)
            if self.edges is not None and index >= 0:
                self.edges.take(index, tensor)
            return index

    def knows(self, tensor: Tensor) -> bool:
        """True if this very object is an op's output, a parameter or a buffer."""
        if self.is_registered(tensor):
            return True
        index = self.owner.get(id(tensor))
        # An id may be a dead tensor's, used again: only the living one counts.
        live = None if index is None else self.memory.live(index)
        return live is not None and (live is tensor or is_twin(live, tensor))

    def is_registered(self, tensor: Tensor) -> bool:
        """True if this very object is a parameter or a buffer of the model."""
        return id(tensor) in self._walk.params or id(tensor) in self._walk.buffers

    def _after_writes(self, index: int, writes: list[Write], tensor: Tensor, use: Use) -> int:
        """A node that says: this tensor's memory was written through another one."""
        if self.editor is not None:
            shown = [self.editor.write(write) for write in writes]
            writes = [*writes, *(write for write in shown if write is not None)]
        ops = tuple(dict.fromkeys(write.op for write in writes))
        if index >= 0 and self.records[index].trait is BUFFER:
            context = Context(note="a buffer that another op updated on the side")
            return self.add_node(BUFFER, ops, tensor, use, context=context, address=self.addresses[index])
        geometries = (geometry_of(tensor), *{write.op: write.geometry for write in writes}.values())
        return self.add_node(UPDATED, (index, *ops), tensor, use, args=geometries)

    def _trace_back(self, tensor: Tensor, use: Use) -> int:
        registered = self._walk.params.get(id(tensor)) or self._walk.buffers.get(id(tensor))
        if registered is None or registered[1] is not tensor:
            alias = self.memory.find_alias(tensor)
            if alias is not None:
                return self._adopt(alias, tensor, use)
            # Scripts and wrappers hand out other objects for the same parameter.
            registered = self._walk.find_registered(tensor)
        if registered is not None:
            return self._register(registered[1], registered[0], use)
        return self._unseen(tensor, use)

    def _register(self, tensor: Tensor, address: str, use: Use) -> int:
        if not isinstance(tensor, nn.Parameter):
            return self.add_node(BUFFER, (), tensor, use, address=address)
        self.memory.note_version(tensor)
        self.params.append((address, tensor))
        index = self.owner[id(tensor)] = -len(self.params)
        return index

    def _adopt(self, alias: Alias, tensor: Tensor, use: Use) -> int:
        """A tensor that shares memory with a known one, made where nobody could see it."""
        if alias.op in self.memory.stale:
            context = Context(note="an alias made outside Python of memory that was written")
            return self.add_node(ALIAS, (alias.op,), tensor, use, context=context)
        if alias.is_twin:
            if alias.op >= 0:
                self.owner[id(tensor)] = alias.op
                self.memory.add_twin(alias.op, tensor)
            return alias.op
        geometries = (alias.geometry, geometry_of(tensor))
        return self.add_node(ALIAS, (alias.op,), tensor, use, args=geometries)

    def _unseen(self, tensor: Tensor, use: Use) -> int:
        parents = self.memory.parents_by_graph(tensor)
        if (node := grad_fn_of(tensor)) is not None:
            name = node.name().removesuffix("Backward").removesuffix("Backward0")
            trait = own_trait(_nothing, name.lower().replace("_", "").replace("::", "") or "unseen")
            note = "made by an operation that no Python call shows"
            where = use.scope.module().address or "the model"
            self.warnings.append(
                f"a tensor {_of_shape(tensor)}in {where} was made by {node.name()}, "
                "which no torch call in Python shows: it stands as a node of its own."
            )
            return self.add_node(trait, parents, tensor, use, context=Context(note=note))
        at_work = [] if self.other_threads is None else self.other_threads.at_work()
        # What a module keeps as a plain attribute, or in a list or dict.
        held = (own for _, module in self._walk.modules for _, own in tensors_in(vars(module)))
        if at_work and not any(own is tensor for own in held):
            where = use.scope.module().address or "the model"
            self.warnings.append(
                f"a tensor {_of_shape(tensor)}in {where} came from outside the recorded calls: a "
                "constant made before the pass, or the work of a thread that was already running "
                f"({', '.join(at_work[:3])}). What such threads do is not recorded; threads that "
                "forward itself starts are."
            )
        context = Context(note="made before the pass, or outside torch")
        return self.add_node(SOURCE, (), tensor, use, context=context)

    def add_node(
        self,
        trait: Trait,
        parents: tuple[int, ...],
        tensor: Tensor,
        use: Use,
        *,
        context: Context | None = None,
        args: tuple[Any, ...] = (),
        address: str | None = None,
        is_extra: bool = False,  # it stands in no unedited pass
    ) -> int:
        """A node that no torch call made: an input, an output, a module that does nothing…"""
        self.memory.note_version(tensor)
        with self.lock:
            if address is not None:
                self.addresses[len(self.records)] = address
            record = Record(trait, args, None, parents, use.scope, use.site, 0.0, use.slot, context)
            return self.commit(record, tensor, is_extra)

    def commit(self, record: Record, tensor: Tensor, is_extra: bool = False) -> int:
        """Add a record and keep its value if it is wanted. The hot path has a copy of the simple case."""
        with self.lock:
            index = len(self.records)
            self.records.append(record)
            self.values.append(None)
            self._place(index, tensor)
            if is_extra:
                self.extras.append(index)
            elif self.editor is not None:
                tensor = self.editor.edit(index, tensor)
            if self.edges is not None:
                self.edges.take(index, tensor)
            if self.on_commit is not None:
                self.on_commit(index, tensor)
            return index

    def _place(self, index: int, tensor: Tensor) -> None:
        """This tensor is what the op made."""
        self.owner[id(tensor)] = index
        plain = type(tensor) is Tensor or type(tensor) is nn.Parameter
        wrapped = not plain or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        if self.keep_all and not wrapped and not self.memory.is_exposed(tensor):
            self.values[index] = tensor
            return
        self.refs[index] = weakref.ref(tensor)
        self.metas[index] = meta_of(tensor)
        self.memory.lay_now(index, tensor)
        if self.keep_all:
            self.keep(index, tensor)

    def replace(self, index: int, old: Tensor, tensor: Tensor) -> None:
        """Another tensor goes on in the place of the one that the op made."""
        record = self.records[index]
        if tensor is not old:
            self.memory.unlay(index, old)
            if record.trait is IDENTITY:
                self.owner[id(old)] = record.parents[0]  # others still read it as it was
        self.values[index] = None
        self.private.discard(index)
        self.refs.pop(index, None)
        self.metas.pop(index, None)
        self._place(index, tensor)
        self.memory.note_version(tensor)
        self.memory.lay_again(index, tensor)
        if self.edges is not None:
            self.edges.take(index, tensor)
        if self.on_replace is not None:
            self.on_replace(index, tensor)

    def keep(self, index: int, tensor: Tensor) -> None:
        """Keep a value: a copy, or by reference where a later write finds it and copies it first."""
        real = unwrapped(tensor)
        if index not in self.refs:
            self.refs[index] = weakref.ref(tensor)
        # Of a pass of which only some values are kept there is no second run that could mend them.
        if not self.keep_all or self.memory.is_exposed(real):
            self.private.add(index)
            real = private_copy(real)
        self.values[index] = real

    def drop(self, index: int) -> None:
        """Let a value go that turned out not to be wanted."""
        value = self.values[index]
        if value is not None:
            self.metas.setdefault(index, meta_of(value))
            self.values[index] = None

    def privatise(self, index: int, copy: Tensor) -> None:
        """Put a private copy in the place of a value that is about to be written over."""
        value = self.values[index]
        if value is not None:
            self.metas.setdefault(index, meta_of(value))
            if index not in self.refs:
                self.refs[index] = weakref.ref(value)
            if (node := grad_fn_of(value)) is not None:
                self.edges_before_writes[index] = (node, value.output_nr)
            self.values[index] = copy
            self.private.add(index)

    def has_value(self, index: int) -> bool:
        """Whether a value was kept, and has numbers, without fetching it."""
        value = self.values[index]
        return value is not None and has_data(value)

    def meta(self, index: int) -> Meta:
        meta = self.metas.get(index)
        if meta is None:
            value = self.values[index]
            assert value is not None, "an op is either kept or outlined"
            meta = meta_of(value)
        return meta

    def finish(self) -> None:
        """Forget what only the running pass needed."""
        self.param_versions = [None if p.is_inference() else p._version for _, p in self.params]
        self.owner.clear()
        self.refs.clear()
        del self.memory  # it points back here: a history must be freed as soon as nobody holds it
        self.on_commit = self.on_replace = self.editor = self.other_threads = None
        del self._walk


def _of_shape(tensor: Tensor) -> str:
    return "" if tensor.is_nested else f"of shape {tuple(tensor.shape)} "  # a nested one has none

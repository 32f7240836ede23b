"""Open a saved pass: read its structure, check it, and build the history on it. Values are read later.

Nothing is believed before it is checked. An index that points outside its table is found when something is
built of it; what would only show later is checked by itself. Whatever is wrong is one error that says what.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor, nn

from torcheer.capture.backward.grad_graph import GradGraph, NodeNote
from torcheer.capture.backward.grad_log import GradientLog, Pass, Slot
from torcheer.capture.function_traits import Kind, Trait
from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import map_leaves
from torcheer.capture.layer_numbers import Numbering
from torcheer.capture.model_state import undisturbed
from torcheer.capture.model_walk import ModuleNote, ModulesSeen
from torcheer.capture.savefile import pass_schema as schema
from torcheer.capture.savefile.pass_schema import StoredPass, StoredTensor, converted
from torcheer.capture.savefile.python_values import unpacked
from torcheer.capture.savefile.safetensors_file import TensorFile
from torcheer.capture.savefile.stored_values import check_stored, make_value, num_value_bytes
from torcheer.capture.tape import OWN_TRAITS, TENSOR, Context, Meta, Read, Record, Scope, Tape
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import Decision, LabelBook, LayerBook, Site, SourceLine, source_lines
from torcheer.tensorfile import MAX_DIMS

TORCH_HOME = torch.__file__.removesuffix("__init__.py")
_MAX_DEPTH = 1000  # Python's own limit for what calls itself
_MAX_ELEMENTS = 2**56


def load_history(path: str | os.PathLike[str]) -> ModelHistory:
    """Open a history that `history.save` wrote. The model is not needed.

    Nothing but the structure is read: a saved value is read when `op.tensor_contents` asks for it, and let go
    of when nobody holds it. The file stays open for as long as the history lives.
    """
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InputError(
            f"a history is loaded from a path such as 'pass.safetensors', not {path!r}."
        ) from None
    with undisturbed():
        file = TensorFile(name)
        try:
            return _Builder(_structure(file), file).history()
        except (msgspec.MsgspecError, ValueError, LookupError, RecursionError) as error:
            if isinstance(error, FileFormatError):
                raise
            what = "an index points outside its table" if isinstance(error, LookupError) else str(error)[:200]
            raise file.broken(f"its structure is wrong: {what}") from error


def _structure(file: TensorFile) -> StoredPass:
    version = file.metadata.get(schema.METADATA_KEY)
    if version is None or schema.STRUCTURE not in file:
        what = "it is a safetensors file without a history in it"
        raise file.broken(what, "safetensors.torch.load_file opens it.")
    if not (version.isascii() and version.isdigit() and len(version) < 5) or version == "0":
        raise file.broken(f"its version is {version[:20]!r}")
    if int(version) > schema.VERSION:
        what = f"it is in version {version} of the format, of a newer torcheer"
        what += f"; this one knows {schema.VERSION}"
        raise file.broken(what, "Update torcheer: pip install --upgrade torcheer.")
    if file.num_bytes(schema.STRUCTURE) > schema.MAX_STRUCTURE_BYTES:
        raise file.broken("its structure is larger than any that torcheer writes")
    return schema.decode_pass(file.read(schema.STRUCTURE).numpy().data)


class _Builder:
    """Checks rows, and makes objects of them."""

    def __init__(self, structure: StoredPass, file: TensorFile) -> None:
        self._rows = structure
        self._reader = Reader(file)
        _check_ops(structure, partial(check_stored, file=file))
        frames = [
            SourceLine(
                file=TORCH_HOME + frame.file if frame.is_torchs else frame.file,
                line=frame.line,
                function=frame.function,
                code_text=frame.code_text,
            )
            for frame in structure.frames
        ]
        self._sites: list[Site] = [tuple([frames[i] for i in site]) for site in structure.sites]
        self._sites.append(())  # where there is none: number -1
        self._scopes = self._make_scopes()
        own = {trait.name: trait for trait in OWN_TRAITS}
        self._traits = [own[row.name] if row.is_own else _trait(row) for row in structure.traits]
        self._calls = [_call(row) for row in structure.calls]
        self._contexts: list[Context | None] = [*map(self._context, structure.contexts), None]

    def history(self) -> ModelHistory:
        structure = self._rows
        treated: dict[int, Any] = {op: self._treated(tree) for op, tree in structure.treated}
        reads = [self._read(row) for row in structure.reads]
        tape, other_names = self._tape(reads), dict(structure.other_names)
        _check_modules(structure.modules, other_names)
        calls = {address: [self._scopes[i] for i in calls] for address, calls in structure.module_calls}
        history = ModelHistory(
            tape,
            StoredNumbering([op.layer for op in structure.ops], [r.trait.type for r in tape.records]),
            ModulesSeen(structure.modules, other_names, calls),
            structure.facts,
            None if structure.saved is None else set(structure.saved),
            LazyDict(treated, lambda make: make()) if treated else {},
            None,
        )
        history.__dict__["_numbered"] = history._numbering  # there is nothing to finish
        if structure.gradients is not None:
            history._gradients = self._gradients(structure.gradients)
        if structure.activation_bytes is not None:
            history.__dict__["activation_bytes"] = structure.activation_bytes
        # What would be derived from source files and from values is in the structure.
        history.__dict__["_decisions"] = list(map(_decision, structure.reads, reads))
        history.__dict__["tensor_fsize_saved"] = self._saved_bytes(history)
        history.__dict__["is_shape_only"] = any(
            row.value and row.value.kind == "meta" for row in structure.ops
        )
        return history

    def _tape(self, reads: list[Read]) -> StoredTape:
        structure = self._rows
        tape = StoredTape(self._reader, [row.value for row in structure.ops])
        tape.records = [self._record(row) for row in structure.ops]
        tape.metas = self._metas()
        tape.reads = reads
        tape.edits = [(op, DoneEdit(key, name)) for op, key, name in structure.edits]
        tape.addresses = {op: row.address for op, row in enumerate(structure.ops) if row.address is not None}
        for row in structure.params:
            empty = torch.empty(row.shape, dtype=row.dtype, device="meta")
            tape.params.append((row.address, nn.Parameter(empty, requires_grad=row.requires_grad)))
        tape.warnings = list(structure.warnings)
        tape.aten = None if structure.aten is None else dict(structure.aten)
        tape.unedited = LazyDict(dict(structure.unedited), self._reader.value)
        tape.edited_at = dict(structure.edited_at)
        return tape

    def _make_scopes(self) -> list[Scope]:
        scopes: list[Scope] = []
        for row in self._rows.scopes:
            parent = None if row.parent < 0 else scopes[row.parent]
            scope = Scope(parent, row.address, row.name, self._sites[row.site], row.first_op)
            _need(scope.depth < _MAX_DEPTH, "modules run inside each other without end")
            scope.pass_num, scope.num_ops = row.pass_num, row.num_ops
            scope.outputs, scope.seconds = row.outputs, row.seconds
            scopes.append(scope)
        return scopes

    def _context(self, row: schema.StoredContext) -> Context:
        rng: Any = None
        if row.random_state is not None:
            rng = (row.random_device, partial(self._reader.value, row.random_state))
        return StoredContext(
            rng=rng,
            autocast=row.autocast,
            batch_dims=row.batch_dims,
            num_targets=row.num_targets,
            reads_what_it_writes=row.reads_what_it_writes,
            note=row.note,
        )

    def _record(self, row: schema.StoredOp) -> Record:
        trait, args, kwargs, num_slots = self._calls[row.call]
        _need(num_slots <= len(row.parents), "a call has fewer parents than tensors")
        return Record(
            self._traits[trait],
            args,
            kwargs,
            row.parents,
            self._scopes[row.scope],
            self._sites[row.site],
            row.seconds,
            row.position,
            self._contexts[row.context],
        )

    def _metas(self) -> dict[int, Meta]:
        metas: dict[int, Meta] = {}
        for op, row in enumerate(self._rows.ops):
            same = self._rows.outlines[row.outline]
            shape = torch.Size(row.shape)
            metas[op] = Meta(
                shape, same.dtype, same.device, row.num_bytes, same.requires_grad, same.grad_fn_name
            )
        return metas

    def _read(self, row: schema.StoredRead) -> Read:
        scope, site = self._scopes[row.scope], self._sites[row.site]
        return Read(row.name, row.op, unpacked(row.value), row.num_ops, scope, site)

    def _gradients(self, stored: schema.StoredGradients) -> GradientLog:
        passes: list[Pass] = []
        for row in stored.passes:
            one = Pass(row.kind, 0.0, row.elapsed_seconds, row.runs)
            for node, number, tensor in row.grads:
                one.grads[node, number] = StoredKept(partial(self._reader.value, tensor))  # type: ignore[assignment]
            passes.append(one)
        ops_at = {(node, number): ops for node, number, ops in stored.slots}
        return StoredGradients(stored.nodes, ops_at, passes, list(stored.notes))

    def _treated(self, tree: Any) -> Callable[[], Any]:
        """A function that makes the value; whether it can be made is found out now."""
        found: list[StoredTensor] = []
        unpacked(tree, lambda data: found.append(self._checked(data)))

        def make() -> Any:
            rest = iter(found)
            return unpacked(tree, lambda _: self._reader.value(next(rest)))

        return make

    def _checked(self, data: Any) -> StoredTensor:
        row = converted(data, StoredTensor)
        check_stored(row, self._reader.file)
        return row

    def _saved_bytes(self, history: ModelHistory) -> int:
        """The bytes of all saved values; of changed ones those that are a single tensor count."""
        trees = dict(self._rows.treated)
        tensors = [tree[1] for tree in trees.values() if isinstance(tree, list) and tree[0] == "value"]
        total = sum(num_value_bytes(self._checked(data)) for data in tensors)
        metas = history._tape.metas
        return total + sum(metas[op].num_bytes for op in metas if op not in trees and history._is_saved(op))


def _trait(row: schema.StoredTrait) -> Trait:
    trait = Trait(None, row.name, Kind.OP)
    trait.type = row.type
    return trait


def _call(row: schema.StoredCall) -> tuple[int, tuple[Any, ...], dict[str, Any] | None, int]:
    """A function's number, its arguments, and how many tensors stand among them."""
    args = unpacked(row.args)
    kwargs = unpacked(row.kwargs)
    _need(
        type(args) is tuple and (kwargs is None or type(kwargs) is dict), "the arguments of a call are none"
    )
    _need(all(type(name) is str for name in kwargs or ()), "an argument has no name")
    slots: list[None] = []
    map_leaves((args, kwargs or {}), lambda leaf: slots.append(None) if leaf is TENSOR else None)
    return row.trait, args, kwargs, len(slots)


def _decision(row: schema.StoredRead, read: Read) -> Decision:
    return Decision(
        op=read.op,
        value=read.value,
        how=read.name,
        source=next(iter(source_lines(read.site)), None),
        statement=row.statement,
        taken=row.taken,
        followed=row.followed,
    )


class DoneEdit(NamedTuple):
    """What is known of an edit after its pass: as an edit rule has it."""

    key: str
    name: str


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _check_ops(stored: StoredPass, check_value: Callable[[StoredTensor], None]) -> None:
    """Every chain of parents ends, every op that is named is there, and every value fits its bytes."""
    num_layers, num_params = 0, len(stored.params)
    for index, op in enumerate(stored.ops):
        for parent in op.parents:
            if not -num_params <= parent < index:
                raise ValueError(f"op {index} has a parent, {parent}, that does not come before it")
        num_layers += op.layer == num_layers
        _need(op.layer < num_layers, f"op {index} is of a layer that is not there yet")
        dtype = stored.outlines[op.outline].dtype
        _check_shape(op.shape)
        if op.value is not None:
            check_value(op.value)
            is_alike = op.value.shape == op.shape and op.value.dtype == dtype
            _need(is_alike or op.value.kind in ("nested", "jagged"), "a value is not of the shape of its op")
    for param in stored.params:
        _check_shape(param.shape)
        takes_gradient = param.dtype.is_floating_point or param.dtype.is_complex
        _need(takes_gradient or not param.requires_grad, "a parameter of whole numbers wants a gradient")
    _need(-(2**64) < stored.facts.random_seed < 2**64, "its random seed is no seed")
    for table in (stored.module_calls, stored.treated):
        _need(len(dict(table)) == len(table), "something is named twice")
    _check_named_ops(stored)
    beside = [context.random_state for context in stored.contexts if context.random_state is not None]
    beside += [value for _, value in stored.unedited]
    for one in stored.gradients.passes if stored.gradients is not None else ():
        beside += [value for _, _, value in one.grads]
    for value in beside:
        check_value(value)
    if stored.gradients is not None:
        _check_gradients(stored.gradients, frozenset(param.address for param in stored.params))


def _check_shape(shape: Sequence[int]) -> None:
    _need(len(shape) <= MAX_DIMS, "a tensor has too many dimensions")
    _need(math.prod(max(size, 1) for size in shape) <= _MAX_ELEMENTS, "a tensor is too large")


def _check_named_ops(stored: StoredPass) -> None:
    """Every op that something else points at is there."""
    num_ops, gradients = len(stored.ops), stored.gradients
    for scope in stored.scopes:
        _need(scope.first_op + max(scope.num_ops, 0) <= num_ops, "a module ran longer than the pass")
    for read in stored.reads:
        _need(-len(stored.params) <= read.op, "a value was read of no parameter")
        _need(read.num_ops + read.followed <= num_ops, "a branch is longer than the pass")
    named: Iterator[int] = chain(
        [] if stored.facts.stopped_at is None else [stored.facts.stopped_at],
        stored.saved or (),
        chain.from_iterable(scope.outputs for scope in stored.scopes),
        (read.op for read in stored.reads),
        (op for op, _ in stored.treated),
        (op for op, _, _ in stored.edits),
        (op for op, _ in stored.edited_at),
        (op for op, _ in stored.unedited),
        (op for op, _ in stored.aten or ()),
        () if gradients is None else (node.op for node in gradients.nodes),
        () if gradients is None else chain.from_iterable(ops for _, _, ops in gradients.slots),
    )
    _need(max(named, default=-1) < num_ops, "an op is named that is not there")


def _check_gradients(stored: schema.StoredGradients, params: frozenset[str]) -> None:
    _need({node.param for node in stored.nodes} <= params | {""}, "a gradient is of no parameter")
    _need({one.kind for one in stored.passes} <= {"backward", "grad"}, "a backward pass is of no known kind")
    named = chain(
        chain.from_iterable(node.next_nodes for node in stored.nodes),
        (node for node, _, _ in stored.slots),
        (run[0] for one in stored.passes for run in one.runs),
        (node for one in stored.passes for node, _, _ in one.grads),
    )
    _need(max(named, default=-1) < len(stored.nodes), "an autograd node is named that is not there")


_MOST_ELEMENTS = 2**62


def _check_modules(modules: list[ModuleNote], other_names: dict[str, str]) -> None:
    """A tree: each module stands after its parent, which is the only one."""
    depths = {"": 0} if not modules else {modules[0].address: 0}
    for module in modules:
        depth = depths[module.address] + 1
        _need(depth < _MAX_DEPTH, "modules contain each other without end")
        sizes = [number for _, _, number in module.own_params]
        _need(all(0 <= number <= _MOST_ELEMENTS for number in sizes), "a parameter has an impossible size")
        for child in module.children:
            if child not in other_names:
                _need(child not in depths, "a module hangs in two places")
                depths[child] = depth
    addresses = {module.address for module in modules}
    _need(len(addresses) == len(modules), "a module is named twice")
    _need(not modules or addresses == set(depths), "a module is missing from the tree")


class Reader:
    """Makes values of a file, each once for as long as somebody holds it."""

    def __init__(self, file: TensorFile) -> None:
        self.file = file
        self._held: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()

    def value(self, stored: StoredTensor) -> Tensor:
        # The rows live as long as the pass, so an id is a row's own.
        value = self._held.get(id(stored))
        if value is None:
            value = self._held[id(stored)] = make_value(stored, self.file)
        return value


class StoredValues(Sequence[Tensor | None]):
    """The value of each op, read from the file when it is asked for."""

    def __init__(self, stored: list[StoredTensor | None], reader: Reader) -> None:
        self.stored = stored
        self._reader = reader

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, index: int) -> Tensor | None:  # type: ignore[override]
        row = self.stored[index]
        return None if row is None else self._reader.value(row)


class LazyDict(dict[int, Any]):
    """Values by op, each made of what is stored when it is asked for."""

    def __init__(self, stored: dict[int, Any], make: Callable[[Any], Any]) -> None:
        super().__init__(stored)
        self._make = make

    def __getitem__(self, op: int) -> Any:
        return self._make(super().__getitem__(op))

    def get(self, op: int, default: Any = None) -> Any:
        return self[op] if op in self.keys() else default  # this is `get`


class StoredContext(Context):
    """What was special about a call; a random state is read when it is asked for."""

    __slots__ = ()

    @property
    def rng(self) -> tuple[str, Any] | None:
        kept: tuple[str, Callable[[], Tensor]] | None = tuple.__getitem__(self, 0)
        return None if kept is None else (kept[0], kept[1]())


class StoredTape(Tape):
    """Has what a tape has after its pass; nothing can be recorded on it."""

    was_loaded = True

    def __init__(self, reader: Reader, values: list[StoredTensor | None]) -> None:
        # Not the tape's own: that one gets ready to record.
        self.file = reader.file
        self.values = self._stored = StoredValues(values, reader)  # type: ignore[assignment]
        self.params, self.param_values, self.param_versions = [], {}, []
        self.input_tensors = {}
        self.private = set()
        self.aten = None
        self.edges = self.editor = None
        self.edges_before_writes = {}
        self.extras = []
        self.other_threads = None
        self.keep_all = self.copy_all = False

    def has_value(self, index: int) -> bool:
        row = self._stored.stored[index]
        return row is not None and row.kind != "meta"

    def meta(self, index: int) -> Meta:
        return self.metas[index]


class StoredNumbering(Numbering):
    """The layers and labels as they were when the pass was saved."""

    def __init__(self, layers: Sequence[int], types: Sequence[str]) -> None:
        # Not the numbering's own: there is no code to number by.
        self.layers, self.labels = LayerBook(), LabelBook()
        self.is_certain = True
        for layer, layer_type in zip(layers, types, strict=True):
            if layer == len(self.layers.num_passes):
                self.layers.new_layer()
                self.labels.add(layer_type)
            self.layers.append(layer)


class StoredKept:
    """A gradient in the file."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], Tensor]) -> None:
        self._make = make

    @property
    def tensor(self) -> Tensor:
        return self._make()

    def was_written(self) -> bool:
        return False


class StoredGradients(GradientLog):
    """Backward passes that are over, with what is known of the nodes; the nodes themselves are gone."""

    def __init__(
        self, nodes: list[NodeNote], ops_at: dict[Slot, list[int]], passes: list[Pass], notes: list[str]
    ) -> None:
        # Not the log's own, nor the graph's: there is nothing to walk, and nothing to hook.
        self.graph = GradGraph.__new__(GradGraph)
        self.graph.notes, self.graph.ops_at, self.graph.nodes = nodes, ops_at, []
        self.passes, self._notes, self._written = passes, notes, set()

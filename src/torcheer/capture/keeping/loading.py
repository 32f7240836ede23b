"""Open a saved pass: read its structure, check it, and build the history on it. Values are read later."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from torcheer.capture.history import ModelHistory, PassFacts
from torcheer.capture.keeping import stored as rows
from torcheer.capture.keeping.pyvalues import DTYPES, plain_device, unpacked
from torcheer.capture.keeping.soundness import check_pass
from torcheer.capture.keeping.stored import METADATA_KEY, STRUCTURE, VERSION, StoredPass, StoredTensor
from torcheer.capture.keeping.storedbackward import DoneEdit, aten_of_rows, gradients_of_rows
from torcheer.capture.keeping.storedtape import (
    Reader,
    StoredContext,
    StoredNumbering,
    StoredTape,
    StoredTreated,
)
from torcheer.capture.keeping.storedvalues import check_stored, num_value_bytes
from torcheer.capture.keeping.tensorfile import TensorFile
from torcheer.capture.keeping.writing import TORCH_HOME
from torcheer.capture.model_walk import ModuleNote, ModulesSeen
from torcheer.capture.pytree import map_leaves
from torcheer.capture.tape import OWN_TRAITS, TENSOR, Context, Meta, Read, Record, Scope
from torcheer.capture.torch_state import undisturbed
from torcheer.capture.traits import Kind, Trait
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import Decision, Site, SourceLine, source_lines

_decode = msgspec.json.Decoder(StoredPass).decode


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
        return _load(TensorFile(name))


def _load(file: TensorFile) -> ModelHistory:
    structure = _structure(file)
    try:
        check_pass(structure, file)
        return _Builder(structure, file).history()
    except FileFormatError:
        raise
    except ValueError as error:
        raise file.broken(f"its structure is wrong: {error}") from error


def _structure(file: TensorFile) -> StoredPass:
    version = file.metadata.get(METADATA_KEY)
    if version is None or STRUCTURE not in file:
        what = "it is a safetensors file without a history in it"
        raise file.broken(what, "safetensors.torch.load_file opens it.")
    if not (version.isascii() and version.isdigit() and len(version) < 5) or version == "0":
        raise file.broken(f"its version is {version[:20]!r}")
    if int(version) > VERSION:
        what = f"it is in version {version} of the format, of a newer torcheer; this one knows {VERSION}"
        raise file.broken(what, "Update torcheer: pip install --upgrade torcheer.")
    if file.num_bytes(STRUCTURE) > rows.MAX_STRUCTURE_BYTES:
        raise file.broken("its structure is larger than any that torcheer writes")
    text = file.read(STRUCTURE).numpy().data
    try:
        return _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise file.broken(f"its structure is wrong: {str(error)[:200]}") from error


class _Builder:
    """Makes objects of rows that have been checked."""

    def __init__(self, structure: StoredPass, file: TensorFile) -> None:
        self._rows = structure
        self._file = file
        self._reader = Reader(file)
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
        tape = self._tape(reads)
        layers = [op.layer for op in structure.ops]
        types = [record.trait.type for record in tape.records]
        history = ModelHistory(
            tape,
            StoredNumbering(layers, types),
            self._modules(),
            self._facts(),
            None if structure.saved is None else set(structure.saved),
            StoredTreated(treated) if treated else {},
            None,
        )
        if structure.gradients is not None:
            history._gradients = gradients_of_rows(structure.gradients, self._reader.value)
        if structure.activation_bytes is not None:
            history.__dict__["activation_bytes"] = structure.activation_bytes
        # What would be derived from source files and from values is in the structure.
        history.__dict__["_decisions"] = [
            _decision(row, read) for row, read in zip(structure.reads, reads, strict=True)
        ]
        history.__dict__["tensor_fsize_saved"] = self._saved_bytes(history)
        history.__dict__["is_shape_only"] = any(
            row.value and row.value.kind == "meta" for row in structure.ops
        )
        return history

    def _tape(self, reads: list[Read]) -> StoredTape:
        structure = self._rows
        return StoredTape(
            reader=self._reader,
            records=[self._record(row) for row in structure.ops],
            metas=self._metas(),
            values=[row.value for row in structure.ops],
            reads=reads,
            addresses={op: row.address for op, row in enumerate(structure.ops) if row.address is not None},
            params=[(row.address, _param(row)) for row in structure.params],
            warnings=list(structure.warnings),
            aten=None if structure.aten is None else {op: tuple(aten_of_rows(c)) for op, c in structure.aten},
            unedited=dict(structure.unedited),
            edited_at=dict(structure.edited_at),
        )

    def _make_scopes(self) -> list[Scope]:
        scopes: list[Scope] = []
        for row in self._rows.scopes:
            parent = None if row.parent < 0 else scopes[row.parent]
            scope = Scope(parent, row.address, row.name, self._sites[row.site], row.first_op)
            scope.pass_num, scope.num_ops = row.pass_num, row.num_ops
            scope.outputs, scope.seconds = tuple(row.outputs), row.seconds
            scopes.append(scope)
        return scopes

    def _context(self, row: rows.StoredContext) -> Context:
        rng: Any = None
        if row.random_state is not None:
            rng = (row.random_device, partial(self._reader.value, row.random_state))
        return StoredContext(
            rng=rng,
            autocast=tuple((device, DTYPES[dtype]) for device, dtype in row.autocast),
            batch_dims=tuple(tuple(dims) for dims in row.batch_dims),
            num_targets=row.num_targets,
            reads_what_it_writes=row.reads_what_it_writes,
            note=row.note,
        )

    def _record(self, row: rows.StoredOp) -> Record:
        trait, args, kwargs, num_slots = self._calls[row.call]
        if num_slots > len(row.parents):
            raise ValueError("a call has fewer parents than tensors")
        return Record(
            self._traits[trait],
            args,
            kwargs,
            tuple(row.parents),
            self._scopes[row.scope],
            self._sites[row.site],
            row.seconds,
            row.position,
            self._contexts[row.context],
        )

    def _metas(self) -> dict[int, Meta]:
        outlines = [(DTYPES[o.dtype], plain_device(o.device), o) for o in self._rows.outlines]
        metas: dict[int, Meta] = {}
        for op, row in enumerate(self._rows.ops):
            dtype, device, outline = outlines[row.outline]
            shape = torch.Size(row.shape)
            metas[op] = Meta(shape, dtype, device, row.num_bytes, outline.requires_grad, outline.grad_fn_name)
        return metas

    def _read(self, row: rows.StoredRead) -> Read:
        scope, site = self._scopes[row.scope], self._sites[row.site]
        return Read(row.name, row.op, unpacked(row.value), row.num_ops, scope, site)

    def _modules(self) -> ModulesSeen:
        notes = [
            ModuleNote(row.address, row.class_name, tuple(row.children), tuple(row.own_params), row.training)
            for row in self._rows.modules
        ]
        calls = {address: [self._scopes[i] for i in calls] for address, calls in self._rows.module_calls}
        return ModulesSeen(notes, dict(self._rows.other_names), calls)

    def _facts(self) -> PassFacts:
        row = self._rows.facts
        return PassFacts(
            model_name=row.model_name,
            random_seed=row.random_seed,
            elapsed_seconds=row.elapsed_seconds,
            num_param_tensors=row.num_param_tensors,
            num_params=row.num_params,
            num_param_bytes=row.num_param_bytes,
            keep_unsaved_layers=row.keep_unsaved_layers,
            has_treated_values=row.has_treated_values,
            stopped_at=row.stopped_at,
            error=row.error,
            notes=tuple(row.notes),
            device=row.device,
            edits=tuple((op, DoneEdit(key, name)) for op, key, name in self._rows.edits),
        )

    # --- values that a postfunc changed ------------------------------------------------------

    def _treated(self, tree: Any) -> partial[Any]:
        """A function that makes the value; whether it can be made is found out now."""
        found: list[StoredTensor] = []
        unpacked(tree, lambda data: found.append(self._checked(data)))
        return partial(self._make_treated, tree, found)

    def _make_treated(self, tree: Any, found: list[StoredTensor]) -> Any:
        rest = iter(found)
        return unpacked(tree, lambda _: self._reader.value(next(rest)))

    def _checked(self, data: Any) -> StoredTensor:
        try:
            row = msgspec.convert(data, StoredTensor)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"a value is not described as it should be ({str(error)[:80]})") from None
        check_stored(row, self._file)
        return row

    def _saved_bytes(self, history: ModelHistory) -> int:
        """The bytes of all saved values; of changed ones those that are a single tensor count."""
        trees = dict(self._rows.treated)
        tensors = [tree[1] for tree in trees.values() if isinstance(tree, list) and tree[0] == "value"]
        total = sum(num_value_bytes(self._checked(data)) for data in tensors)
        metas = history._tape.metas
        return total + sum(metas[op].num_bytes for op in metas if op not in trees and history._is_saved(op))


def _trait(row: rows.StoredTrait) -> Trait:
    trait = Trait(None, row.name, Kind.OP)
    trait.type = row.type
    return trait


def _call(row: rows.StoredCall) -> tuple[int, tuple[Any, ...], dict[str, Any] | None, int]:
    """A function's number, its arguments, and how many tensors stand among them."""
    args = unpacked(row.args)
    kwargs = unpacked(row.kwargs)
    if type(args) is not tuple or not (kwargs is None or type(kwargs) is dict):
        raise ValueError("the arguments of a call are no arguments")
    if kwargs and not all(type(name) is str for name in kwargs):
        raise ValueError("an argument has no name")
    count = 0

    def see(leaf: Any) -> None:
        nonlocal count
        count += leaf is TENSOR

    map_leaves((args, kwargs or {}), see)
    return row.trait, args, kwargs, count


def _param(row: rows.StoredParam) -> Tensor:
    empty = torch.empty(row.shape, dtype=DTYPES[row.dtype], device="meta")
    return nn.Parameter(empty, requires_grad=row.requires_grad)


def _decision(row: rows.StoredRead, read: Read) -> Decision:
    lines = source_lines(read.site)
    return Decision(
        op=read.op,
        value=read.value,
        how=read.name,
        source=lines[0] if lines else None,
        statement=row.statement,
        taken=row.taken,
        followed=row.followed,
    )

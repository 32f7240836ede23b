"""Write a pass to one file: its structure as JSON, its values as tensors, all of it a safetensors file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec
import torch
from torch import Tensor

from torcheer.capture.aliasing import plain_size
from torcheer.capture.backward.grad_log import Slot
from torcheer.capture.model_state import undisturbed
from torcheer.capture.op import some_of
from torcheer.capture.savefile import pass_schema as schema
from torcheer.capture.savefile.pass_schema import as_json
from torcheer.capture.savefile.python_values import packed
from torcheer.capture.savefile.read_pass import TORCH_HOME, StoredTape
from torcheer.capture.savefile.safetensors_file import Piece, TensorFile, write_tensors
from torcheer.capture.savefile.stored_values import CannotKeep, Item, TensorPlan
from torcheer.capture.tape import OWN_TRAITS, Context, Meta, Record, Scope
from torcheer.capture.to_document import document_of
from torcheer.errors import InputError
from torcheer.graph import Progress, Site, SourceLine, readable_bytes, site_key, source_lines
from torcheer.tensorfile import write_atomically

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

METADATA = {"format": "pt", schema.METADATA_KEY: str(schema.VERSION)}
_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_:-]+")  # one that can stand in a header as it is

R = TypeVar("R")


def save_history(history: ModelHistory, path: str | os.PathLike[str]) -> None:
    """Write a pass to a file. The file is there when it is whole; until then an older one stays as it was."""
    with undisturbed():
        write_atomically(path, "the history", partial(_write, history), "pass.safetensors")


def _write(history: ModelHistory, file: BinaryIO) -> None:
    tape = history._tape
    pieces = _pieces_of(tape.file, history) if isinstance(tape, StoredTape) else _pieces(history)
    with Progress("saving the history", sum(piece.num_bytes for piece in pieces)) as progress:
        write_tensors(file, pieces, METADATA, progress.add)


def _pieces_of(file: TensorFile, history: ModelHistory) -> Sequence[Piece]:
    """A pass that was loaded is written as it stands in its file."""
    pieces = []
    for name in file.names:
        file_type, shape = file.types[name]
        size = file.num_bytes(name)
        make = partial(file.read, name)
        pieces.append(Piece(name=name, file_type=file_type, shape=shape, num_bytes=size, make=make))
    return pieces if schema.DOCUMENT in file else [*pieces, _document(history)]


def _pieces(history: ModelHistory) -> Sequence[Piece]:
    values = KeptValues(history)
    text = as_json(StructureWriter(history, values).structure())
    if len(text) > schema.MAX_STRUCTURE_BYTES:
        raise InputError(
            f"the structure of this pass takes {readable_bytes(len(text))}, and "
            f"{readable_bytes(schema.MAX_STRUCTURE_BYTES)} is the limit: "
            "stop the pass earlier, with stop_after."
        )
    pieces = [*values.pieces, _document(history)]
    # Blanks at its end, so that what follows it is aligned.
    text += b" " * (-(len(text) + sum(piece.num_bytes for piece in pieces)) % 8)
    return [*pieces, _text_piece(schema.STRUCTURE, text)]


def _document(history: ModelHistory) -> Piece:
    text = as_json(document_of(history))
    return _text_piece(schema.DOCUMENT, text + b" " * (-len(text) % 8))


def _text_piece(name: str, text: bytes) -> Piece:
    make = partial(torch.frombuffer, bytearray(text), dtype=torch.uint8)
    return Piece(name=name, file_type="U8", shape=(len(text),), num_bytes=len(text), make=make)


class KeptValues:
    """The tensors of a pass on their way into a file, each under the label of its op.

    Names: `relu_1_2`; `raw.relu_1_2` where a postfunc has changed what is shown; `rng.dropout_1_3`.
    Gradients are `grad.1.…`, by the number of the backward pass; `unedited.…` is what an edit replaced.
    """

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._plan = TensorPlan()
        self._left_out: dict[str, list[str]] = {}
        self._trees: list[tuple[list[Any], Item]] = []
        tape, treated = history._tape, history._treated
        values = [
            self._add(f"raw.{self._name(op)}" if op in treated else self._name(op), op, value)
            for op, value in enumerate(tape.values)
        ]
        self.treated = [(op, self._pack(op, value)) for op, value in treated.items()]
        states: dict[int, Item | None] = {}
        for op, record in enumerate(tape.records):
            context = record.context
            if context is not None and context.rng is not None and id(context) not in states:
                states[id(context)] = self._add(f"rng.{self._name(op)}", op, context.rng[1])
        unedited = [
            (op, self._add(f"unedited.{self._name(op)}", op, value)) for op, value in tape.unedited.items()
        ]
        grads = self._add_grads()
        self._plan.settle()
        self.pieces = self._plan.pieces
        self.values = [_stored(item) for item in values]
        # By context: the random state that a call started from.
        self.random_states = {context: _stored(item) for context, item in states.items()}
        self.unedited = [(op, stored) for op, item in unedited if (stored := _stored(item))]
        # Of each backward pass: node, which of its gradients, the gradient.
        self.grads = [[(*slot, stored) for slot, item in one if (stored := _stored(item))] for one in grads]
        for place, item in self._trees:
            place.append(schema.plain(item.stored))

    @property
    def notes(self) -> list[str]:
        return [
            f"the file has no value of {some_of(labels)}: {why}." for why, labels in self._left_out.items()
        ]

    def _name(self, op: int) -> str:
        label = self._history._label(op)
        return label if _PLAIN_LABEL.fullmatch(label) else f"op_{op}"

    def _add(self, name: str, op: int, tensor: Tensor | None) -> Item | None:
        """Have a tensor stored. What cannot be is left out, with a note."""
        try:
            return None if tensor is None else self._plan.add(name, tensor)
        except CannotKeep as why:
            self._leave_out(op, str(why))
            return None

    def _leave_out(self, op: int, why: str) -> None:
        self._left_out.setdefault(why, []).append(self._history._label(op))

    def _pack(self, op: int, value: Any) -> Any:
        """What a postfunc returned: a tensor, numbers, or a nesting of both."""
        name, count = self._name(op), 0

        def pack_tensor(tensor: Tensor) -> list[Any] | str:
            nonlocal count
            item = self._add(name if tensor is value else f"{name}.{count}", op, tensor)
            if item is None:
                return "a tensor"
            count += 1
            place: list[Any] = ["value"]  # where it lies is known when all are
            self._trees.append((place, item))
            return place

        tree = packed(value, pack_tensor)
        if _has_unkept(tree):
            self._leave_out(op, "activation_postfunc made an object that only its own class could read")
        return tree

    def _add_grads(self) -> list[list[tuple[Slot, Item | None]]]:
        log = self._history._gradients
        places: list[list[tuple[Slot, Item | None]]] = []
        for number, one in enumerate([] if log is None else log.passes, 1):
            assert log is not None
            found: dict[str, tuple[Slot, Item | None]] = {}
            for slot in one.grads:
                grad, ops = log.grad(one, (slot,)), log.graph.ops_at.get(slot, [])
                if grad is not None:
                    name = f"grad.{number}.{log.graph.notes[slot[0]].param or self._history._label(ops[0])}"
                    name = name if name not in found else f"{name}.{slot[0]}"  # met again by a checkpoint
                    found[name] = slot, self._add(name, ops[0] if ops else 0, grad.detach())
            places.append(list(found.values()))
        return places


def _stored(item: Item | None) -> schema.StoredTensor | None:
    return None if item is None else item.stored


def _has_unkept(tree: Any) -> bool:
    return isinstance(tree, list) and (tree[:1] == ["unkept"] or any(map(_has_unkept, tree)))


class Table(list[R]):
    """Rows, each once, found again by a key."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[Hashable, int] = {}

    def place(self, key: Hashable, make: Callable[[], R]) -> int:
        known = self._places.get(key)
        if known is None:
            self.append(make())
            known = self._places[key] = len(self) - 1
        return known


class StructureWriter:
    """Gathers the rows of one pass."""

    def __init__(self, history: ModelHistory, values: KeptValues) -> None:
        self._history = history
        self._values = values
        self._traits: Table[schema.StoredTrait] = Table()
        self._calls: Table[schema.StoredCall] = Table()
        self._frames: Table[schema.StoredFrame] = Table()
        self._sites: Table[list[int]] = Table()
        self._scopes: Table[schema.StoredScope] = Table()
        self._contexts: Table[schema.StoredContext] = Table()
        self._outlines: Table[schema.StoredOutline] = Table()

    def structure(self) -> schema.StoredPass:
        history, tape, modules = self._history, self._history._tape, self._history._modules
        params: dict[int, int] = {}  # what was an object's address becomes a number
        return schema.StoredPass(
            ops=[self._op(op, record) for op, record in enumerate(tape.records)],
            reads=self._reads(),
            module_calls=[
                (address, [self._scope(scope) for scope in scopes])
                for address, scopes in modules.calls.items()
            ],
            modules=[
                note._replace(
                    own_params=tuple(
                        (name, params.setdefault(param, len(params)), size)
                        for name, param, size in note.own_params
                    )
                )
                for note in modules.notes
            ],
            other_names=list(modules.other_names.items()),
            params=[
                schema.StoredParam(
                    address=address,
                    shape=tuple(map(plain_size, param.shape)),
                    dtype=param.dtype,
                    requires_grad=param.requires_grad,
                )
                for address, param in tape.params
            ],
            facts=history._facts,
            saved=None if history._saved is None else sorted(history._saved),
            treated=self._values.treated,
            warnings=[*tape.warnings, *self._values.notes],
            traits=self._traits,
            calls=self._calls,
            frames=self._frames,
            sites=self._sites,
            scopes=self._scopes,
            contexts=self._contexts,
            outlines=self._outlines,
            gradients=self._gradients(),
            aten=None if tape.aten is None else list(tape.aten.items()),
            edits=[(op, rule.key, rule.name) for op, rule in history._tape.edits],
            unedited=self._values.unedited,
            edited_at=list(tape.edited_at.items()),
            activation_bytes=history.activation_bytes if tape.keep_all else None,
        )

    def _op(self, op: int, record: Record) -> schema.StoredOp:
        tape = self._history._tape
        meta = tape.meta(op)
        return schema.StoredOp(
            call=self._call(record),
            parents=record.parents,
            scope=self._scope(record.scope),
            site=self._site(record.site),
            seconds=record.seconds,
            position=record.position,
            context=self._context(record.context),
            layer=self._history._numbered.layers.layer_of[op],
            outline=self._outline(meta),
            shape=tuple(map(plain_size, meta.shape)),
            num_bytes=meta.num_bytes,
            value=self._values.values[op],
            address=tape.addresses.get(op),
        )

    def _call(self, record: Record) -> int:
        is_own = any(record.trait is own for own in OWN_TRAITS)
        own_row = schema.StoredTrait(name=record.trait.name, type=record.trait.type, is_own=is_own)
        trait = self._traits.place(own_row, lambda: own_row)
        args = as_json(packed(tuple(record.args)))
        kwargs = as_json(None if record.kwargs is None else packed(dict(record.kwargs)))
        row = partial(schema.StoredCall, trait=trait, args=msgspec.Raw(args), kwargs=msgspec.Raw(kwargs))
        return self._calls.place((trait, args, kwargs), row)

    def _scope(self, scope: Scope) -> int:
        place = -1
        for one in scope.chain():  # a scope stands after its parent
            place = self._scopes.place(id(one), partial(self._scope_row, one, place))
        return place

    def _scope_row(self, scope: Scope, parent: int) -> schema.StoredScope:
        return schema.StoredScope(
            parent=parent,
            address=scope.address,
            name=scope.name,
            site=self._site(scope.site),
            pass_num=scope.pass_num,
            first_op=scope.first_op,
            num_ops=scope.num_ops,
            outputs=scope.outputs,
            seconds=scope.seconds,
        )

    def _site(self, site: Site) -> int:
        if not site:
            return -1
        return self._sites.place(
            site_key(site), lambda: [self._frame(line) for line in reversed(source_lines(site))]
        )

    def _frame(self, line: SourceLine) -> int:
        is_torchs = line.file.startswith(TORCH_HOME)
        row = schema.StoredFrame(
            file=line.file.removeprefix(TORCH_HOME) if is_torchs else line.file,
            line=max(line.line, 0),
            function=line.function,
            code_text=line.code_text,
            is_torchs=is_torchs,
        )
        return self._frames.place(row, lambda: row)

    def _context(self, context: Context | None) -> int:
        if context is None:
            return -1
        row = partial(
            schema.StoredContext,
            random_device="" if context.rng is None else context.rng[0],
            random_state=self._values.random_states.get(id(context)),
            autocast=context.autocast,
            batch_dims=context.batch_dims,
            num_targets=context.num_targets,
            reads_what_it_writes=context.reads_what_it_writes,
            note=context.note,
        )
        return self._contexts.place(id(context), row)

    def _outline(self, meta: Meta) -> int:
        row = schema.StoredOutline(
            dtype=meta.dtype,
            device=meta.device,
            requires_grad=meta.requires_grad,
            grad_fn_name=meta.grad_fn_name,
        )
        return self._outlines.place(row, lambda: row)

    def _reads(self) -> list[schema.StoredRead]:
        """What Python asked tensors for, with what was found out from the source, which may be gone later."""
        history = self._history
        return [
            schema.StoredRead(
                name=read.name,
                op=read.op,
                value=packed(read.value),
                num_ops=read.num_ops,
                scope=self._scope(read.scope),
                site=self._site(read.site),
                statement=decision.statement,
                taken=decision.taken,
                followed=decision.followed,
            )
            for read, decision in zip(history._tape.reads, history._decisions, strict=True)
        ]

    def _gradients(self) -> schema.StoredGradients | None:
        history = self._history
        log = history._gradients
        if log is None and not history._tape.keep_all:
            return None
        graph = history._grad_graph if log is None else log.graph
        return schema.StoredGradients(
            nodes=graph.notes,
            slots=[(node, number, ops) for (node, number), ops in graph.ops_at.items()],
            passes=[
                schema.StoredBackward(
                    kind=one.kind,
                    elapsed_seconds=one.ended - one.started,
                    runs=one.runs,
                    grads=self._values.grads[number],
                )
                for number, one in enumerate([] if log is None else log.passes)
            ],
            notes=[] if log is None else log.notes,
        )

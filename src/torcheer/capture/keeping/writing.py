"""Turn a pass into the rows of its structure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import torch

from torcheer.capture.keeping import stored
from torcheer.capture.keeping.keptvalues import KeptValues
from torcheer.capture.keeping.pyvalues import DTYPE_NAMES, packed, plain_size
from torcheer.capture.keeping.storedbackward import aten_as_rows, gradients_as_rows
from torcheer.capture.tape import OWN_TRAITS, Context, Meta, Record, Scope
from torcheer.capture.traits import Trait
from torcheer.graph import Site, SourceLine, source_lines

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

TORCH_HOME = torch.__file__.removesuffix("__init__.py")

R = TypeVar("R")


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
        self._traits: Table[stored.StoredTrait] = Table()
        self._calls: Table[stored.StoredCall] = Table()
        self._frames: Table[stored.StoredFrame] = Table()
        self._sites: Table[list[int]] = Table()
        self._scopes: Table[stored.StoredScope] = Table()
        self._contexts: Table[stored.StoredContext] = Table()
        self._outlines: Table[stored.StoredOutline] = Table()

    def structure(self) -> stored.StoredPass:
        history, tape, modules = self._history, self._history._tape, self._history._modules
        params: dict[int, int] = {}  # what was an object's address becomes a number
        return stored.StoredPass(
            ops=[self._op(op, record) for op, record in enumerate(tape.records)],
            reads=self._reads(),
            module_calls=[
                (address, [self._scope(scope) for scope in scopes])
                for address, scopes in modules.calls.items()
            ],
            modules=[
                stored.StoredModule(
                    address=note.address,
                    class_name=note.class_name,
                    children=list(note.children),
                    own_params=[
                        (name, params.setdefault(param, len(params)), size)
                        for name, param, size in note.own_params
                    ],
                    training=note.training,
                )
                for note in modules._notes
            ],
            other_names=list(modules._other_names.items()),
            params=[
                stored.StoredParam(
                    address=address,
                    shape=_plain_shape(param.shape),
                    dtype=DTYPE_NAMES[param.dtype],
                    requires_grad=param.requires_grad,
                )
                for address, param in tape.params
            ],
            facts=self._facts(),
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
            gradients=gradients_as_rows(history, self._values.grads),
            aten=None if tape.aten is None else [(op, aten_as_rows(c)) for op, c in tape.aten.items()],
            edits=[(op, rule.key, rule.name) for op, rule in history._facts.edits],
            unedited=[(op, item.stored) for op, item in self._values.unedited if item.stored is not None],
            edited_at=list(tape.edited_at.items()),
            activation_bytes=history.activation_bytes if tape.keep_all else None,
        )

    def _facts(self) -> stored.StoredFacts:
        facts = self._history._facts
        return stored.StoredFacts(
            model_name=facts.model_name,
            random_seed=facts.random_seed,
            elapsed_seconds=facts.elapsed_seconds,
            num_param_tensors=facts.num_param_tensors,
            num_params=facts.num_params,
            num_param_bytes=facts.num_param_bytes,
            keep_unsaved_layers=facts.keep_unsaved_layers,
            has_treated_values=facts.has_treated_values,
            stopped_at=facts.stopped_at,
            error=facts.error,
            notes=list(facts.notes),
            device=facts.device,
        )

    def _op(self, op: int, record: Record) -> stored.StoredOp:
        tape, item = self._history._tape, self._values.items[op]
        meta = tape.meta(op)
        return stored.StoredOp(
            call=self._call(record),
            parents=list(record.parents),
            scope=self._scope(record.scope),
            site=self._site(record.site),
            seconds=record.seconds,
            position=record.position,
            context=self._context(record.context),
            layer=self._history._numbered.layers.layer_of[op],
            outline=self._outline(meta),
            shape=_plain_shape(meta.shape),
            num_bytes=meta.num_bytes,
            value=None if item is None else item.stored,
            address=tape.addresses.get(op),
        )

    def _call(self, record: Record) -> int:
        trait = self._trait(record.trait)
        args = as_json(packed(tuple(record.args)))
        kwargs = as_json(None if record.kwargs is None else packed(dict(record.kwargs)))

        def make() -> stored.StoredCall:
            return stored.StoredCall(trait=trait, args=msgspec.Raw(args), kwargs=msgspec.Raw(kwargs))

        return self._calls.place((trait, args, kwargs), make)

    def _trait(self, trait: Trait) -> int:
        is_own = any(trait is own for own in OWN_TRAITS)
        return self._traits.place(
            (trait.name, trait.type, is_own),
            lambda: stored.StoredTrait(name=trait.name, type=trait.type, is_own=is_own),
        )

    def _scope(self, scope: Scope) -> int:
        chain = [scope] if scope.parent is None else scope.chain()
        for one in chain:
            place = self._scopes.place(id(one), lambda one=one: self._scope_row(one))  # type: ignore[misc]
        return place

    def _scope_row(self, scope: Scope) -> stored.StoredScope:
        return stored.StoredScope(
            parent=-1 if scope.parent is None else self._scopes.place(id(scope.parent), _must_be_there),
            address=scope.address,
            name=scope.name,
            site=self._site(scope.site),
            pass_num=scope.pass_num,
            first_op=scope.first_op,
            num_ops=scope.num_ops,
            outputs=list(scope.outputs),
            seconds=scope.seconds,
        )

    def _site(self, site: Site) -> int:
        if not site:
            return -1
        # By identity: to hash a code object is to hash all that is in it.
        key = tuple([part if type(part) is int else id(part) for part in site])
        return self._sites.place(key, lambda: [self._frame(line) for line in reversed(source_lines(site))])

    def _frame(self, line: SourceLine) -> int:
        is_torchs = line.file.startswith(TORCH_HOME)
        return self._frames.place(
            line,
            lambda: stored.StoredFrame(
                file=line.file.removeprefix(TORCH_HOME) if is_torchs else line.file,
                line=max(line.line, 0),
                function=line.function,
                code_text=line.code_text,
                is_torchs=is_torchs,
            ),
        )

    def _context(self, context: Context | None) -> int:
        return (
            -1 if context is None else self._contexts.place(id(context), lambda: self._context_row(context))
        )

    def _context_row(self, context: Context) -> stored.StoredContext:
        state = self._values.state_of(context)
        return stored.StoredContext(
            random_device="" if context.rng is None else context.rng[0],
            random_state=None if state is None else state.stored,
            autocast=[(device, DTYPE_NAMES[dtype]) for device, dtype in context.autocast],
            batch_dims=[list(dims) for dims in context.batch_dims],
            num_targets=context.num_targets,
            reads_what_it_writes=context.reads_what_it_writes,
            note=context.note,
        )

    def _outline(self, meta: Meta) -> int:
        key = (meta.dtype, str(meta.device), meta.requires_grad, meta.grad_fn_name)
        return self._outlines.place(
            key,
            lambda: stored.StoredOutline(
                dtype=DTYPE_NAMES[meta.dtype],
                device=str(meta.device),
                requires_grad=meta.requires_grad,
                grad_fn_name=meta.grad_fn_name,
            ),
        )

    def _reads(self) -> list[stored.StoredRead]:
        """What Python asked tensors for, with what was found out from the source, which may be gone later."""
        history = self._history
        return [
            stored.StoredRead(
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


def as_json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(
            value, enc_hook=msgspec.json.decode
        )  # the hook is for what is JSON already
        return msgspec.json.encode(_without_surrogates(plain))


def _without_surrogates(value: Any) -> Any:
    """Half characters, as in the name of a file that is no text, cannot stand in JSON."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list | tuple) else value


def _plain_shape(shape: Any) -> list[int]:
    return [plain_size(size) for size in shape]


def _must_be_there() -> Any:
    raise AssertionError("a scope is written after its parent")

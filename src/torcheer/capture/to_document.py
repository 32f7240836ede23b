"""A pass as a document: what pictures, pages and files show of it besides its tensors."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING, Any

from torch import Tensor

from torcheer.capture.aliasing import plain_size
from torcheer.capture.op import Op, is_torchs, own_frames
from torcheer.capture.tape import NOT_CALLS, OWN_TRAITS, TENSOR, Record, Scope, tensor_places
from torcheer.graph import (
    DOCUMENT_VERSION,
    BranchEntry,
    Link,
    OpEntry,
    ParamEntry,
    PassDocument,
    ScopeEntry,
    Site,
    SourceEntry,
    SourceLine,
    site_key,
    source_lines,
)

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

_CONTEXT_LINES = 3  # before and after a line of source
_MAX_ARGUMENT_CHARS = 200
_IN_MEMORY = re.compile(r" at 0x[0-9a-fA-F]+")
_ORDER_DOES_NOT_MATTER = frozenset(
    "add mul eq ne maximum minimum logicaland logicalor logicalxor bitwiseand bitwiseor bitwisexor "
    "hypot logaddexp logaddexp2 fmax fmin iadd imul updated alias".split()
)


def document_of(history: ModelHistory) -> PassDocument:
    """Everything but the tensors."""
    return _Describer(history).document()


class _Describer:
    """Fills the tables of a document as they are needed."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._tape = history._tape
        # In the order in which they began, the model first, with those that ran no op.
        calls = [call for calls in history._modules.calls.values() for call in calls]
        inner = {id(scope): scope for scope in (*(r.scope for r in self._tape.records), *calls)}
        found = {id(scope): scope for one in inner.values() for scope in one.chain()}
        self._scopes = sorted(found.values(), key=lambda scope: (scope.first_op, scope.depth))
        self._scope_numbers = {id(scope): number for number, scope in enumerate(self._scopes)}
        self._sources: dict[SourceLine, int] = {}
        self._lines_at: dict[tuple[int, ...], list[int]] = {}  # by site
        self._lines_around: dict[int, list[int]] = {}  # by scope, with those around it
        self._own_lines: list[bool] = []  # by line: whether it is outside torch
        self._backward: dict[str, float] = {}  # by label
        for run in (run for backward in history.backward_passes for run in backward if run.layer):
            self._backward[run.layer] = self._backward.get(run.layer, 0.0) + run.seconds
        self._edited = {op for op, _ in history._tape.edits}

    def document(self) -> PassDocument:
        history = self._history
        ops = [self._op(index) for index in range(len(self._tape.records))]
        branches = self._branches()
        return PassDocument(
            version=DOCUMENT_VERSION,
            model_name=history.model_name,
            elapsed_seconds=history.elapsed_time_total,
            num_params=history.total_params,
            param_bytes=history.total_params_fsize,
            num_bytes=history.tensor_fsize_total,
            random_seed=history.random_seed_used,
            notes=history.notes,
            error=history._facts.error,
            stopped_after=history.stopped_after or "",
            is_shape_only=history.is_shape_only,
            num_backward_passes=history.num_backward_passes,
            ops=ops,
            scopes=self._scope_entries(),
            params=self._params(),
            branches=branches,
            # What a file names is not opened: it may come from anywhere.
            sources=[_source_entry(line, with_context=not self._tape.was_loaded) for line in self._sources],
        )

    def _op(self, index: int) -> OpEntry:
        op = Op(self._history, index)
        record = op._record
        stack = [*self._lines_of(record.site), *self._lines_of_scope(record.scope)]
        source = next((line for line in stack if self._own_lines[line]), stack[0] if stack else -1)
        meta = op._meta
        links = _links(record)
        return OpEntry(
            label=op.layer_label,
            layer=op.layer_total_num,
            pass_num=op.pass_num,
            num_passes=op.layer_passes_total,
            type=op.layer_type,
            function=op.func_applied_name,
            kind=record.trait.type if id(record.trait) in NOT_CALLS else "op",  # type: ignore[arg-type]
            scope=self._scope_numbers[id(record.scope)],
            parents=links,
            argument_order_matters=len({link.op for link in links}) > 1
            and op.layer_type not in _ORDER_DOES_NOT_MATTER,
            params=list(dict.fromkeys(-p - 1 for p in record.parents if p < 0)),
            shape=[plain_size(size) for size in meta.shape],
            dtype=str(meta.dtype).removeprefix("torch."),
            num_bytes=meta.num_bytes,
            seconds=record.seconds,
            flops=_plain_count(op.flops),
            name=self._tape.addresses.get(index) or "",
            arguments=_arguments(record),
            source=source,
            stack=stack,
            has_value=op.has_saved_activations,
            has_grad=op.has_saved_grad,
            is_inplace=op.function_is_inplace,
            is_edited=index in self._edited,
            requires_grad=meta.requires_grad,
            grad_fn=meta.grad_fn_name or "",
            backward_seconds=self._backward.get(op.layer_label),
        )

    def _scope_entries(self) -> list[ScopeEntry]:
        modules = self._history.module_tree.modules
        num_ops = len(self._tape.records)
        entries = []
        for scope in self._scopes:
            info = modules.get(scope.address) if scope.address is not None else None
            lines = self._lines_of(scope.site)
            entries.append(
                ScopeEntry(
                    parent=-1 if scope.parent is None else self._scope_numbers[id(scope.parent)],
                    address=scope.address,
                    name=info.class_name if info is not None else scope.name,
                    pass_num=scope.pass_num,
                    num_passes=max(scope.pass_num, 1 if info is None else info.num_passes),
                    first_op=scope.first_op,
                    num_ops=scope.end(num_ops) - scope.first_op,
                    outputs=list(scope.outputs),
                    seconds=scope.seconds,
                    num_params=0 if info is None else info.num_params,
                    source=lines[0] if lines else -1,
                )
            )
        return entries

    def _source(self, line: SourceLine | None) -> int:
        if line is None:
            return -1
        number = self._sources.setdefault(line, len(self._sources))
        if number == len(self._own_lines):
            self._own_lines.append(not is_torchs(line.file))
        return number

    def _lines_of(self, site: Site) -> list[int]:
        """The lines of a site, innermost first. Many ops share them, and finding a line takes long."""
        key = site_key(site)
        lines = self._lines_at.get(key)
        if lines is None:
            lines = self._lines_at[key] = [self._source(line) for line in own_frames(source_lines(site))]
        return lines

    def _lines_of_scope(self, scope: Scope) -> list[int]:
        """Where a scope was called, and the scopes around it."""
        if scope.parent is None:
            return []
        lines = self._lines_around.get(id(scope))
        if lines is None:
            lines = [*self._lines_of(scope.site), *self._lines_of_scope(scope.parent)]
            self._lines_around[id(scope)] = lines
        return lines

    def _params(self) -> list[ParamEntry]:
        grads = self._history.param_grads
        return [
            ParamEntry(
                address=address,
                shape=[plain_size(size) for size in param.shape],
                dtype=str(param.dtype).removeprefix("torch."),
                num_bytes=param.numel() * param.element_size(),
                requires_grad=param.requires_grad,
                has_value=isinstance(param, Tensor) and param.device.type != "meta",
                has_grad=address in grads,
            )
            for address, param in self._tape.params
        ]

    def _branches(self) -> list[BranchEntry]:
        return [
            BranchEntry(
                op=max(decision.op, -1),
                value=repr(decision.value)[:_MAX_ARGUMENT_CHARS],
                statement=decision.statement,
                taken=decision.taken,
                followed_by=list(range(read.num_ops, read.num_ops + decision.followed)),
                source=self._source(decision.source),
            )
            for decision, read in zip(self._history._decisions, self._tape.reads, strict=True)
        ]


def _links(record: Record) -> list[Link]:
    """The ops that it was given, each with the argument that it was."""
    if record.trait in OWN_TRAITS:
        return [Link(parent, str(i)) for i, parent in enumerate(record.parents) if parent >= 0]
    names = [".".join(map(str, place)) for place in tensor_places(record)]
    pairs = zip(record.parents, [*names, *map(str, range(len(names), len(record.parents)))], strict=False)
    return [Link(parent, name) for parent, name in pairs if parent >= 0]


def _arguments(record: Record) -> str:
    """The arguments that are no tensors, as they would be written."""
    if record.trait in OWN_TRAITS:
        return ""
    plain = [_written(value) for value in record.args if value is not TENSOR]
    named = [
        f"{name}={_written(value)}" for name, value in (record.kwargs or {}).items() if value is not TENSOR
    ]
    text = ", ".join([*plain, *named])
    return text if len(text) <= _MAX_ARGUMENT_CHARS else text[: _MAX_ARGUMENT_CHARS - 1] + "…"


def _written(value: Any) -> str:
    if isinstance(value, Tensor):
        return "tensor"
    try:
        # Without addresses in memory: the same call reads the same in every run.
        return _IN_MEMORY.sub("", repr(value)[: 2 * _MAX_ARGUMENT_CHARS]).replace("<tensor>", "…")
    except Exception:  # an argument's own repr may fail; the picture must not
        return type(value).__name__


def _plain_count(count: int | None) -> int | None:
    """As a number; None where it hangs on sizes that differ from part to part."""
    size = -1 if count is None else plain_size(count)
    return None if size < 0 else size


def _source_entry(line: SourceLine, *, with_context: bool) -> SourceEntry:
    first = max(1, line.line - _CONTEXT_LINES)
    return SourceEntry(
        file=line.file,
        line=line.line,
        function=line.function,
        text=line.code_text,
        context=_lines_around(line, first) if with_context else [],
        context_start=first,
    )


def _lines_around(line: SourceLine, first: int) -> list[str]:
    """A few lines of the file, unless the line itself is no longer what it was."""
    numbers = range(first, line.line + _CONTEXT_LINES + 1)
    texts = [linecache.getline(line.file, number).rstrip("\n") for number in numbers]
    if not line.code_text or texts[line.line - first].strip() != line.code_text:
        return []
    while not texts[-1].strip():
        texts.pop()
    return texts

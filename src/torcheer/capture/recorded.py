"""A pass as it was recorded: the tape, and what is derived from it on first use."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, overload

from torch import Tensor, nn

from torcheer.capture.backward.gradients import GradientLog
from torcheer.capture.memory import has_data, storage_key
from torcheer.capture.numbering import Numbering
from torcheer.capture.op import Op
from torcheer.capture.tape import BUFFER, INPUT, NOT_CALLS, OUTPUT, Read, Tape
from torcheer.capture.walk import ModulesSeen
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import (
    ConditionalBranch,
    Decision,
    Lookup,
    ModuleTree,
    Site,
    Structure,
    decide,
    feedback_loops,
    op_labels,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFacts:
    """What is known of a pass besides its ops."""

    model_name: str
    random_seed: int
    elapsed_seconds: float
    num_param_tensors: int
    num_params: int
    num_param_bytes: int
    keep_unsaved_layers: bool
    has_treated_values: bool
    stopped_at: int | None
    error: str  # of a model that raised; "" otherwise
    notes: tuple[str, ...]
    start: Any = None  # what a second, plain forward must be given
    modes: Any = None  # how torch computed when the pass began
    output: Any = None  # what the model returned
    device: str = "same"  # where saved values go
    edits: tuple[tuple[int, Any], ...] = ()  # (op, what was done to its output)


class RecordedPass:
    """The ops of a pass, how they are found, what surrounds them, and figures of the whole."""

    def __init__(
        self,
        tape: Tape,
        numbering: Numbering,
        modules: ModulesSeen,
        facts: PassFacts,
        saved: set[int] | None,
        treated: dict[int, Any],
        model: nn.Module | None,
    ) -> None:
        self._tape = tape
        self._numbering = numbering
        self._facts = facts
        self._saved = saved  # None: all that is kept
        self._treated = treated
        self._model = None if model is None else weakref.ref(model)
        self._modules = modules
        self._gradients: GradientLog | None = None

    @cached_property
    def module_tree(self) -> ModuleTree:
        """The modules of the model, and when each ran."""
        return self._modules.tree()

    # --- ops -----------------------------------------------------------------------

    @cached_property
    def _numbered(self) -> Numbering:
        self._numbering.finish()
        return self._numbering

    @cached_property
    def _all_labels(self) -> list[str]:
        layers = self._numbered.layers
        return op_labels(self._numbered.labels, layers.layer_of, layers.pass_of, layers.num_passes)

    def _label(self, op: int) -> str:
        return self._all_labels[op]

    @cached_property
    def _visible(self) -> list[int]:
        ops = range(len(self._tape.records))
        return list(ops) if self._facts.keep_unsaved_layers else [op for op in ops if self._is_saved(op)]

    @property
    def layer_list(self) -> list[Op]:
        """Every op, in the order it ran."""
        return [Op(self, op) for op in self._visible]

    @property
    def layer_labels(self) -> list[str]:
        """The label of every op, with its pass where its layer ran more than once."""
        return [self._label(op) for op in self._visible]

    @property
    def layer_labels_no_pass(self) -> list[str]:
        """The label of every layer, once."""
        layer_of, label = self._numbered.layers.layer_of, self._numbered.labels.label
        return list(dict.fromkeys(label(layer_of[op]) for op in self._visible))

    def __len__(self) -> int:
        return len(self._visible)

    def __iter__(self) -> Iterator[Op]:
        return iter(self.layer_list)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[call-overload]
        except (LayerNotFoundError, InputError):
            return False
        return True

    @overload
    def __getitem__(self, key: int | str) -> Op: ...
    @overload
    def __getitem__(self, key: slice) -> list[Op]: ...
    def __getitem__(self, key: int | str | slice) -> Op | list[Op]:
        if isinstance(key, slice):
            return self.layer_list[key]
        if isinstance(key, int):
            return Op(self, self._at(key))
        if isinstance(key, str):
            return self._find(key)
        raise InputError(f"a layer is found by label, module address or index, not by {key!r}.")

    def _find(self, key: str) -> Op:
        try:
            found = self._lookup.find(key)
        except LayerNotFoundError as error:
            if self.stopped_after is None:
                raise
            raise LayerNotFoundError(f"{error} The pass was stopped after {self.stopped_after!r}.") from None
        if not self._facts.keep_unsaved_layers and not self._is_saved(found):
            raise LayerNotFoundError(
                f"{key!r} was not saved, and keep_unsaved_layers=False left it out of this history."
            )
        return Op(self, found)

    def _at(self, index: int) -> int:
        if not -len(self._visible) <= index < len(self._visible):
            raise LayerNotFoundError(
                f"there is no op {index}: this pass has {len(self._visible)}, "
                f"the last is {self.layer_labels[-1] if self._visible else 'none'!r}."
            )
        return self._visible[index]

    @cached_property
    def _lookup(self) -> Lookup:
        layers, labels = self._numbered.layers, self._numbered.labels
        return Lookup(
            [labels.label(layer) for layer in layers.layer_of],
            [labels.short_label(layer) for layer in layers.layer_of],
            layers.pass_of,
            self.module_tree,
            self._tape.addresses,
        )

    def passes(self, key: int | str) -> list[Op]:
        """All passes of the layer that a key names."""
        layer_of = self._numbered.layers.layer_of
        wanted = layer_of[self[key].index]
        return [Op(self, op) for op, layer in enumerate(layer_of) if layer == wanted]

    # --- saved values ------------------------------------------------------------------

    def _is_saved(self, op: int) -> bool:
        if op in self._treated:
            return True
        return self._tape.has_value(op) and (self._saved is None or op in self._saved)

    def _saved_value(self, op: int) -> Any:
        if op in self._treated:
            return self._treated[op]
        return self._tape.values[op] if self._is_saved(op) else None

    def _value_of(self, parent: int, reader: int | None = None) -> Tensor | None:
        """The raw value of an op, or of a parameter as it was when it was first used.

        A value that was edited on its way out of a module may have been read inside it before.
        """
        tape = self._tape
        if parent < 0:
            return tape.param_values.get(parent, tape.params[-parent - 1][1])
        if reader is not None and reader < tape.edited_at.get(parent, 0):
            return tape.unedited.get(parent)
        return tape.values[parent]

    # --- gradients -------------------------------------------------------------------------

    def _grad_of(self, op: int) -> Tensor | None:
        log = self._gradients
        return None if log is None else log.summed(log.slots_of(op))

    def _has_grad(self, op: int) -> bool:
        log = self._gradients
        return log is not None and log.has_any(log.slots_of(op))

    def _grads_by_pass(self, op: int) -> dict[int, Tensor]:
        log = self._gradients
        return {} if log is None else log.by_pass(log.slots_of(op))

    @property
    def num_backward_passes(self) -> int:
        return 0 if self._gradients is None else len(self._gradients.passes)

    @property
    def num_grads_saved(self) -> int:
        """How many ops have a gradient."""
        if self._gradients is None:
            return 0
        arrived = {slot for one in self._gradients.passes for slot in one.grads}
        return len({op for slot in arrived for op in self._gradients.graph.ops_at.get(slot, ())})

    # --- structure -----------------------------------------------------------------------

    @cached_property
    def _structure(self) -> Structure:
        records = self._tape.records
        parents = [
            r.parents
            if len(r.parents) == 1 and r.parents[0] >= 0
            else tuple(dict.fromkeys(p for p in r.parents if p >= 0))
            for r in records
        ]
        return Structure(parents, self._of_trait(INPUT), self._of_trait(OUTPUT))

    def _of_trait(self, trait: Any) -> list[int]:
        return [op for op, record in enumerate(self._tape.records) if record.trait is trait]

    @cached_property
    def _exits(self) -> dict[int, list[str]]:
        exits: dict[int, list[str]] = {}
        for module_pass in self.module_tree.all_passes():
            for op in module_pass.output_ops:
                if module_pass.address:
                    exits.setdefault(op, []).append(
                        module_pass.address if module_pass.pass_num == 1 else module_pass.label
                    )
        return exits

    @property
    def input_layers(self) -> list[str]:
        return [self._label(op) for op in self._structure.inputs]

    @property
    def output_layers(self) -> list[str]:
        return [self._label(op) for op in self._structure.outputs]

    @property
    def buffer_layers(self) -> list[str]:
        return [self._label(op) for op in self._of_trait(BUFFER)]

    @property
    def internally_initialized_layers(self) -> list[str]:
        """Sources made inside the model: constants, random draws, tensors from elsewhere; not buffers."""
        parents = self._structure.parents
        return [
            self._label(op)
            for op, record in enumerate(self._tape.records)
            if not parents[op]
            and record.trait is not INPUT
            and record.trait is not BUFFER
            and record.trait is not OUTPUT
            and not any(p < 0 for p in record.parents)
        ]

    @property
    def orphan_layers(self) -> list[str]:
        """Ops that lead to no output: dead ends."""
        return [self._label(op) for op, leads in enumerate(self._structure.leads_to_output) if not leads]

    @property
    def model_is_branching(self) -> bool:
        """Whether some op feeds more than one other."""
        records = self._tape.records
        return any(
            len(children) > 1 and records[op].trait is not BUFFER
            for op, children in enumerate(self._structure.children)
        )

    @cached_property
    def model_max_recurrent_loops(self) -> int:
        """How often the most repeated layer ran that feeds back into itself; 1 where none does."""
        layers = self._numbered.layers
        counts = self._ops_that_count()
        return max(1, feedback_loops(layers.layer_of, layers.num_passes, self._structure.parents, counts))

    def _ops_that_count(self) -> list[bool]:
        """Calls that an input or a parameter leads to: constants worked out by the code do not count."""
        depends: list[bool] = []
        for record in self._tape.records:
            depends.append(record.trait is INPUT or any(p < 0 or depends[p] for p in record.parents))
        return [
            does and id(record.trait) not in NOT_CALLS
            for does, record in zip(depends, self._tape.records, strict=True)
        ]

    @property
    def model_is_recurrent(self) -> bool:
        return self.model_max_recurrent_loops > 1

    @cached_property
    def _decisions(self) -> list[Decision]:
        return [
            decide(read.site, read.op, read.value, read.name, partial(_sites_after, self._tape, read))
            for read in self._tape.reads
        ]

    @property
    def conditional_branches(self) -> list[ConditionalBranch]:
        """Each value of a tensor that Python asked for: what decided, and the ops that followed."""
        return [
            ConditionalBranch(
                layer=self._label(d.op) if d.op >= 0 else self._tape.params[-d.op - 1][0],
                value=d.value,
                statement=d.statement,
                taken=d.taken,
                followed_by=[self._label(read.num_ops + i) for i in range(d.followed)],
                source=d.source,
            )
            for d, read in zip(self._decisions, self._tape.reads, strict=True)
        ]

    @property
    def model_has_conditional_branching(self) -> bool:
        return any(d.statement in ("if", "while", "if-expression") for d in self._decisions)

    # --- figures -----------------------------------------------------------------------------

    @property
    def model_name(self) -> str:
        return self._facts.model_name

    @property
    def module_addresses(self) -> list[str]:
        return self.module_tree.addresses

    @property
    def num_tensors_total(self) -> int:
        """All ops, with inputs, outputs and buffers."""
        return len(self._tape.records)

    @cached_property
    def tensor_fsize_total(self) -> int:
        """Bytes of all outputs, saved or not."""
        return sum(self._tape.meta(op).num_bytes for op in range(len(self._tape.records)))

    @cached_property
    def activation_bytes(self) -> int:
        """Memory of all outputs, each piece once: what the pass takes if nothing is freed meanwhile.

        Views take none of their own. Inputs, buffers and constants are not counted.
        """
        tape = self._tape
        if not tape.keep_all:
            raise InputError("memory is only known where all values are kept: layers_to_save='all'.")
        pieces: dict[int, int] = {}
        outside: set[int] = set()
        for op, value in enumerate(tape.values):
            key = None if value is None or op in tape.private else storage_key(value)
            if key is None or value is None:
                continue
            if id(tape.records[op].trait) in NOT_CALLS and tape.records[op].trait is not OUTPUT:
                outside.add(key)
            pieces[key] = value.untyped_storage().nbytes()
        return sum(size for key, size in pieces.items() if key not in outside)

    @property
    def num_tensors_saved(self) -> int:
        return sum(self._is_saved(op) for op in range(len(self._tape.records)))

    @cached_property
    def tensor_fsize_saved(self) -> int:
        """Bytes of the saved values; with a postfunc, of what it returned."""
        sizes = (
            _num_bytes(self._treated[op]) if op in self._treated else self._tape.meta(op).num_bytes
            for op in range(len(self._tape.records))
            if self._is_saved(op)
        )
        return sum(sizes)

    @property
    def total_params(self) -> int:
        """Elements of all parameters of the model, used in this pass or not."""
        return self._facts.num_params

    @property
    def total_param_tensors(self) -> int:
        return self._facts.num_param_tensors

    @property
    def total_params_fsize(self) -> int:
        """Bytes of all parameters."""
        return self._facts.num_param_bytes

    @property
    def total_flops(self) -> int:
        """The sum over all ops for which FLOPs are defined."""
        return sum(op.flops or 0 for op in map(self._op, range(len(self._tape.records))))

    @property
    def total_macs(self) -> int:
        return sum(op.macs or 0 for op in map(self._op, range(len(self._tape.records))))

    def _op(self, index: int) -> Op:
        return Op(self, index)

    @property
    def random_seed_used(self) -> int:
        """The seed that torch's generator was last given.

        A pass is drawn again from it only if nothing was drawn between seeding and the pass; give
        `random_seed=` to be sure.
        """
        return self._facts.random_seed

    @property
    def elapsed_time_total(self) -> float:
        """Seconds that the forward pass took."""
        return self._facts.elapsed_seconds

    @property
    def stopped_after(self) -> str | None:
        """The layer at which the pass was ended on request."""
        return None if self._facts.stopped_at is None else self._label(self._facts.stopped_at)

    @cached_property
    def is_shape_only(self) -> bool:
        """Whether the pass ran on meta or fake tensors, which have shapes and no values."""
        values = self._tape.values
        # Inside of some transforms (`torch.func.linearize`) ops run on fake tensors, and the pass is real.
        ends = [values[op] for op in self._structure.outputs if values[op] is not None]
        return any(value is not None and not has_data(value) for value in ends or values)

    @property
    def notes(self) -> list[str]:
        """What a reader of this pass should know."""
        notes = [*self._facts.notes, *self._tape.warnings]
        if self._facts.edits:
            done = dict.fromkeys(f"{self._label(op)} by {rule.name}" for op, rule in self._facts.edits)
            shown = [*list(done)[:5], *([f"{len(done) - 5} more"] if len(done) > 5 else [])]
            notes.append(f"edited: {', '.join(shown)}.")
        if self.is_shape_only:
            notes.append("shape-only: it ran on meta or fake tensors, which have shapes and no values.")
        if self._gradients is not None:
            notes += self._gradients.notes
        return list(dict.fromkeys(notes))


def _num_bytes(value: Any) -> int:
    return value.numel() * value.element_size() if isinstance(value, Tensor) else 0


def _sites_after(tape: Tape, read: Read) -> Iterator[Site]:
    """The sites of the ops after a decision, seen from the forward that decided, until its end."""
    pending = 0
    for op in range(read.num_ops, len(tape.records)):
        record = tape.records[op]
        scope, site = record.scope, record.site
        while scope is not read.scope and scope.parent is not None and scope.depth > read.scope.depth:
            site, scope = scope.site, scope.parent
        if scope is not read.scope or record.trait is OUTPUT:
            break
        # A buffer or constant goes with the op that uses it, which comes next.
        pending += 1
        if site:
            yield from [site] * pending
            pending = 0

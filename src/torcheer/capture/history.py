"""A pass, ready to be asked: the tape, and what is derived from it on first use."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import torch
from torch import Tensor, nn

from torcheer.capture.aliasing import has_data, storage_key
from torcheer.capture.analysis.edits import Edit
from torcheer.capture.aten import AtenCall, Count
from torcheer.capture.backward.backward_pass import (
    BackwardGraph,
    BackwardPass,
    backward_passes,
    check_loss,
    grad_nodes,
)
from torcheer.capture.backward.grad_graph import GradGraph
from torcheer.capture.backward.grad_log import GradientLog
from torcheer.capture.layer_numbers import Numbering
from torcheer.capture.model_walk import ModulesSeen, Selection
from torcheer.capture.op import Op, read_off, some_of
from torcheer.capture.tape import BUFFER, INPUT, NOT_CALLS, OUTPUT, Read, Tape
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import (
    ConditionalBranch,
    Decision,
    LabelBook,
    LayerBook,
    Lookup,
    ModuleTree,
    Site,
    Structure,
    decide,
    describe_pass,
    feedback_loops,
    pass_as_html,
)

if TYPE_CHECKING:
    from torcheer.capture.analysis.faults import Fault
    from torcheer.capture.analysis.fields import Field
    from torcheer.capture.analysis.stats import StatsTable
    from torcheer.capture.analysis.validate import ValidationReport
    from torcheer.graph import DrawingOptions, Picture


_COLUMNS = (
    *("layer_label", "layer_type", "pass_num", "layer_passes_total"),
    *("tensor_shape", "tensor_dtype", "tensor_device", "tensor_fsize", "has_saved_activations"),
    *("func_applied_name", "function_is_inplace", "func_time_elapsed", "flops", "macs", "grad_fn_name"),
    *("parent_layers", "child_layers", "num_params", "containing_module_origin", "modules_exited"),
    *("min_distance_from_input", "max_distance_from_input"),
    *("min_distance_from_output", "max_distance_from_output", "source"),
)


class PassFacts(NamedTuple):
    """What is known of a pass besides its ops; also as it is stored in a file."""

    model_name: str
    random_seed: int
    elapsed_seconds: float
    num_param_tensors: Count
    num_params: Count
    num_param_bytes: Count
    keep_unsaved_layers: bool
    has_treated_values: bool
    stopped_at: Count | None
    error: str  # of a model that raised; "" otherwise
    notes: tuple[str, ...]
    device: str = "same"  # where saved values go


class ModelHistory:
    """Every operation of one forward pass.

    `history['conv2d_3']` finds an op by label, short label, index, module address or a unique part of
    its label; iterating gives the ops in the order they ran.
    """

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
        names = [*map(self._numbered.labels.label, range(len(layers.num_passes)))]
        return [
            names[layer] if layers.num_passes[layer] == 1 else f"{names[layer]}:{pass_num}"
            for layer, pass_num in zip(layers.layer_of, layers.pass_of, strict=True)
        ]

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
            if not -len(self._visible) <= key < len(self._visible):
                raise LayerNotFoundError(
                    f"there is no op {key}: this pass has {len(self._visible)}, "
                    f"the last is {self.layer_labels[-1] if self._visible else 'none'!r}."
                )
            return Op(self, self._visible[key])
        if not isinstance(key, str):
            raise InputError(f"a layer is found by label, module address or index, not by {key!r}.")
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
            if tape.was_loaded:
                return None  # a file has the outlines of parameters and not their values
            return tape.param_values.get(parent, tape.params[-parent - 1][1])
        if reader is not None and reader < tape.edited_at.get(parent, 0):
            return tape.unedited.get(parent)
        return tape.values[parent]

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
        ends = (INPUT, BUFFER, OUTPUT)
        records = enumerate(self._tape.records)
        return [self._label(op) for op, r in records if not r.parents and r.trait not in ends]

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
        records, layers = self._tape.records, self._numbered.layers
        # Calls that an input or a parameter leads to: constants worked out by the code do not count.
        depends: list[bool] = []
        for record in records:
            depends.append(record.trait is INPUT or any(p < 0 or depends[p] for p in record.parents))
        counts = [does and id(r.trait) not in NOT_CALLS for does, r in zip(depends, records, strict=True)]
        return max(1, feedback_loops(layers.layer_of, layers.num_passes, self._structure.parents, counts))

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

    model_name: str = read_off("_facts.model_name")
    module_addresses: list[str] = read_off("module_tree.addresses")

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
        made = [value for value in self._treated.values() if isinstance(value, Tensor)]
        ops = (op for op in range(len(self._tape.records)) if op not in self._treated and self._is_saved(op))
        num_made = sum(value.numel() * value.element_size() for value in made)
        return num_made + sum(self._tape.meta(op).num_bytes for op in ops)

    total_params: int = read_off(
        "_facts.num_params", "Elements of all parameters of the model, used in this pass or not."
    )
    total_param_tensors: int = read_off("_facts.num_param_tensors")
    total_params_fsize: int = read_off("_facts.num_param_bytes", "Bytes of all parameters.")

    @property
    def total_flops(self) -> int:
        """The sum over all ops for which FLOPs are defined."""
        return sum(Op(self, op).flops or 0 for op in range(len(self._tape.records)))

    @property
    def total_macs(self) -> int:
        return sum(Op(self, op).macs or 0 for op in range(len(self._tape.records)))

    @property
    def random_seed_used(self) -> int:
        """The seed that torch's generator was last given.

        A pass is drawn again from it only if nothing was drawn between seeding and the pass; give
        `random_seed=` to be sure.
        """
        return self._facts.random_seed

    elapsed_time_total: float = read_off("_facts.elapsed_seconds", "Seconds that the forward pass took.")

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
        if self._tape.edits:
            done = dict.fromkeys(f"{self._label(op)} by {rule.name}" for op, rule in self._tape.edits)
            notes.append(f"edited: {some_of(done, 5)}.")
        if self.is_shape_only:
            notes.append("shape-only: it ran on meta or fake tensors, which have shapes and no values.")
        if self._gradients is not None:
            notes += self._gradients.notes
        return list(dict.fromkeys(notes))

    # --- backward ----------------------------------------------------------------------------

    @property
    def output(self) -> Any:
        """What the model returned. None for a pass that ended early.

        A file has the tensors of it and not their nesting: of a loaded pass only a single tensor is given.
        """
        outputs = self._structure.outputs
        if self._tape.was_loaded and len(outputs) == 1 and self._tape.addresses.get(outputs[0]) == "output":
            return self._saved_value(outputs[0])
        return self._tape.output

    def log_backward(
        self,
        loss: Tensor,
        gradient: Tensor | None = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> BackwardPass:
        """Run `loss.backward(…)` and return what happened: every autograd node, every gradient."""
        if self._tape.was_loaded:
            raise InputError(
                "this history was loaded from a file, which has no autograd graph: run backward before it is "
                "saved."
            )
        if self._gradients is None:
            self._follow_gradients(Selection(everything=True))
        assert self._gradients is not None
        check_loss(loss, self._gradients)
        num_before = len(self._gradients.passes)
        with self._gradients.following(loss):
            torch.autograd.backward(loss, gradient, retain_graph, create_graph, inputs=inputs)
        return backward_passes(self._gradients, self._label, num_before)[0]

    def _follow_gradients(self, wanted: Selection) -> None:
        """From now on, keep what backward passes bring."""
        graph = GradGraph(self._tape)
        ops = wanted.ops_in(self)
        with_aten = self._tape.aten is not None
        self._gradients = GradientLog(graph, ops.__contains__, self._facts.device, with_aten)

    @property
    def backward_passes(self) -> list[BackwardPass]:
        """Each backward pass that flowed through this pass, in order."""
        return [] if self._gradients is None else backward_passes(self._gradients, self._label)

    @property
    def backward_graph(self) -> BackwardGraph:
        """The autograd nodes that the pass left, whether they have run or not."""
        graph = self._grad_graph if self._gradients is None else self._gradients.graph
        return BackwardGraph(node for node in grad_nodes(graph, self._label) if node.layer or node.param)

    @cached_property
    def _grad_graph(self) -> GradGraph:
        if not self._tape.keep_all:
            raise InputError("the backward graph was not kept: capture with save_gradients=True.")
        return GradGraph(self._tape)

    @property
    def param_grads(self) -> dict[str, Tensor]:
        """The gradient of each parameter, added up over the backward passes through this pass."""
        log = self._gradients
        found = {} if log is None else {param: log.summed(log.slots_of(param)) for param in log.params()}
        return {param: grad for param, grad in found.items() if grad is not None}

    @property
    def saved_for_backward_bytes(self) -> int:
        """Memory that autograd keeps for backward, each piece once, parameters not counted."""
        saved = [tensor for node in self.backward_graph for tensor in node.saved if not tensor.param]
        largest: dict[int, int] = {}
        for tensor in saved:
            largest[tensor.memory] = max(tensor.memory_bytes, largest.get(tensor.memory, 0))
        return sum(largest.values())

    @property
    def aten_calls(self) -> list[AtenCall]:
        """All ATen calls of the forward pass, in order. Needs `level='aten'`."""
        return [call for _, calls in sorted((self._tape.aten or {}).items()) for call in calls]

    @property
    def edits(self) -> list[Edit]:
        """The outputs that were replaced on their way, in order."""
        done = self._tape.edits
        return [Edit(layer=self._label(op), key=rule.key, function=rule.name) for op, rule in done]

    # --- questions ---------------------------------------------------------------------------

    def find(
        self,
        *,
        type: str | Iterable[str] | None = None,
        module: str | None = None,
        shape: Sequence[int | None] | None = None,
        where: Callable[[Op], bool] | None = None,
    ) -> list[Op]:
        """The ops that fit all that is given, in the order they ran.

        - `type`: a layer type such as `'conv2d'`, or several.
        - `module`: an address, for all ops in that module and further down; or a class such as `'Conv2d'`.
        - `shape`: of the output; None or -1 stands for any size.
        - `where`: any function of an op.
        """
        from torcheer.capture.search import find_ops

        return find_ops(self, type=type, module=module, shape=shape, where=where)

    def path(self, start: int | str, end: int | str) -> list[Op]:
        """The ops that lie on a way from one layer to another, both included, in the order they ran."""
        from torcheer.capture.search import ops_between

        return ops_between(self, start, end)

    def receptive_field(
        self, layer: int | str, unit: int | Sequence[int] | None = None, onto: int | str | None = None
    ) -> Field:
        """Which elements of the inputs, or of an earlier layer, can reach a unit of a layer."""
        from torcheer.capture.analysis.fields import find_field

        return find_field(self, layer, unit, onto, is_receptive=True)

    def projective_field(
        self, layer: int | str, unit: int | Sequence[int] | None = None, onto: int | str | None = None
    ) -> Field:
        """Which units of a later layer, or of the outputs, a unit of a layer can reach."""
        from torcheer.capture.analysis.fields import find_field

        return find_field(self, layer, unit, onto, is_receptive=False)

    def stats(self, of: str = "values", *, by_pass: bool = False) -> StatsTable:
        """Mean, spread, range, zeros, dead units and saturation of each layer, as a table that sorts.

        `of='gradients'` looks at the gradients; `by_pass` gives each pass of a layer its own row.
        """
        from torcheer.capture.analysis.stats import layer_stats

        self._need_values()
        return layer_stats(self, of, by_pass=by_pass)

    def first_nonfinite(self, *, deliberate: bool = False) -> Fault | None:
        """The first op that made NaN or Inf, forward or backward; None where all is finite.

        Minus infinity that a mask was filled with is no fault, unless `deliberate` is set.
        """
        from torcheer.capture.analysis.faults import first_nonfinite

        self._need_values()
        fault = first_nonfinite(self, deliberate=deliberate)
        unseen = self.num_tensors_total - self.num_tensors_saved
        if fault is None and unseen:
            num_ops = self.num_tensors_total
            text = f"nothing was found, but {unseen} of {num_ops} values were not saved, and not looked at."
            warnings.warn(text, stacklevel=2)
        return fault

    def _need_values(self) -> None:
        if self.is_shape_only:
            raise InputError("this pass is shape-only: it ran on meta or fake tensors, which have no values.")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the pass to one file, for `tl.load_history` to open without the model."""
        from torcheer.capture.savefile.write_pass import save_history

        save_history(self, path)

    def draw(self, vis_opt: str = "unrolled", **options: Unpack[DrawingOptions]) -> Picture:
        """Draw the graph of the pass, write it to a file, and show it where it can be seen.

        - `vis_opt`: `'unrolled'` draws every pass of a loop, `'rolled'` one box a layer, with back edges.
        - `vis_outpath`: where to; its ending, or `vis_fileformat`, chooses SVG, PNG or PDF.
        - `vis_save_only`: True opens no window.
        - `vis_nesting_depth`: modules deeper than this are drawn as one box.
        - `vis_direction`: `'topdown'`, `'bottomup'` or `'leftright'`.
        - `vis_buffer_layers`: True shows buffers.
        - `vis_fold_repeats`: True draws equal neighbouring blocks once, with `× 12`.
        - `vis_color_by`: `'time'`, `'memory'`, `'flops'`, `'zeros'`, or a function of an op that gives a
          number or a colour.
        - `vis_legend`, `vis_theme`: False leaves the legend out; `'light'` or `'dark'`.
        """
        from torcheer.capture.draw_pass import draw_and_show
        from torcheer.graph import read_options

        return draw_and_show(self, read_options(vis_opt, options))

    def show(self, *, max_bytes: int | None = None) -> None:
        """Open the pass as an interactive page: in the notebook, or in the browser where there is one.

        The page has at most `max_bytes`: 4 MB in a notebook, 20 MB elsewhere, unless you say otherwise.
        """
        from torcheer.capture.page_source import HistorySource, page

        page().show_page(HistorySource(self), max_bytes=max_bytes)

    def to_html(self, path: str | PathLike[str], *, max_bytes: int = 20_000_000) -> None:
        """Write the interactive page as one file that needs nothing else and can be mailed.

        The file has at most `max_bytes`, unless the structure alone takes more; 0 leaves all values out.
        """
        from torcheer.capture.page_source import HistorySource, page

        page().write_page(HistorySource(self), path, max_bytes=max_bytes)

    # --- checks and faces ----------------------------------------------------------------------

    def validate(self) -> ValidationReport:
        """Check the saved values: a plain forward, each op replayed, each parent disturbed."""
        from torcheer.capture.analysis.validate import validate_history

        return validate_history(self)

    def to_pandas(self) -> Any:
        """One row an op. Needs pandas: `pip install torcheer[pandas]`."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("to_pandas needs pandas: pip install torcheer[pandas]") from error
        rows = []
        for op in self.layer_list:
            row = {name: getattr(op, name) for name in _COLUMNS if name not in ("num_params", "source")}
            row["num_params"] = sum(p.num_elements for p in op.parent_params)
            row["source"] = str(op.source_line) if op.source_line else ""
            rows.append(row)
        return pandas.DataFrame(rows, columns=list(_COLUMNS))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a history is not pickled or copied: use history.save(path) and tl.load_history(path)."
        )

    def __str__(self) -> str:
        return describe_pass(self)

    def __repr__(self) -> str:
        return f"<ModelHistory of {self.model_name}: {len(self)} ops, {self.num_tensors_saved} saved>"

    def _repr_html_(self) -> str:
        columns = (
            "layer_label",
            "tensor_shape",
            "tensor_dtype",
            "func_applied_name",
            "containing_module_origin",
        )
        rows = ([getattr(op, name) for name in columns] for op in self.layer_list)
        return pass_as_html(self, rows, columns)


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


class PassRecord:
    """What a history is made of, for other rooms of the package: `PassRecord(history).tape`."""

    def __init__(self, history: ModelHistory) -> None:
        self.history = history

    tape: Tape = read_off("history._tape")
    structure: Structure = read_off("history._structure", "Who feeds whom.")
    lookup: Lookup = read_off("history._lookup", "Ops by every key that names them.")
    layers: LayerBook = read_off("history._numbered.layers", "Which layer each op is a pass of.")
    labels: LabelBook = read_off("history._numbered.labels")

    def label(self, op: int) -> str:
        return self.history._label(op)

    def op(self, index: int) -> Op:
        """Also one that the history does not list."""
        return Op(self.history, index)

    def value_of(self, op: int) -> Tensor | None:
        """The raw value of an op or, with a negative number, of a parameter."""
        return self.history._value_of(op)

    def grad_of(self, op: int) -> Tensor | None:
        return Op(self.history, op).grad_contents

"""A pass, ready to be asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch import Tensor

from torcheer.capture.analysis.validate import ValidationReport, validate_history
from torcheer.capture.aten import AtenCall, AtenWatcher
from torcheer.capture.backward.gradgraph import GradGraph
from torcheer.capture.backward.gradients import GradientLog
from torcheer.capture.backward.passes import BackwardGraph, BackwardPass
from torcheer.capture.backward.reading import backward_passes, check_loss, grad_nodes
from torcheer.capture.backward.recomputing import Recomputation
from torcheer.capture.editing.editor import Edit
from torcheer.capture.op import Op
from torcheer.capture.recorded import RecordedPass
from torcheer.capture.saving import Selection
from torcheer.capture.undisturbed import undisturbed
from torcheer.errors import InputError
from torcheer.graph import describe_pass, pass_as_html

if TYPE_CHECKING:
    from torcheer.capture.analysis.faults import Fault
    from torcheer.capture.analysis.stats import StatsTable
    from torcheer.capture.fields.field import Field
    from torcheer.graph import DrawingOptions, Picture

_COLUMNS = (
    *("layer_label", "layer_type", "pass_num", "layer_passes_total"),
    *("tensor_shape", "tensor_dtype", "tensor_device", "tensor_fsize", "has_saved_activations"),
    *("func_applied_name", "function_is_inplace", "func_time_elapsed", "flops", "macs", "grad_fn_name"),
    *("parent_layers", "child_layers", "num_params", "containing_module_origin", "modules_exited"),
    *("min_distance_from_input", "max_distance_from_input"),
    *("min_distance_from_output", "max_distance_from_output", "source"),
)


class ModelHistory(RecordedPass):
    """Every operation of one forward pass.

    `history['conv2d_3']` finds an op by label, short label, index, module address or a unique part of
    its label; iterating gives the ops in the order they ran.
    """

    # --- backward ----------------------------------------------------------------------------

    @property
    def output(self) -> Any:
        """What the model returned. None for a pass that ended early.

        A file has the tensors of it and not their nesting: of a loaded pass only a single tensor is given.
        """
        outputs = self._structure.outputs
        if self._tape.was_loaded and len(outputs) == 1 and self._tape.addresses.get(outputs[0]) == "output":
            return self._saved_value(outputs[0])
        return self._facts.output

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
        aten = None if self._tape.aten is None else AtenWatcher()
        again = Recomputation.planned(self._tape, graph, self._model)
        self._gradients = GradientLog(graph, ops.__contains__, self._facts.device, aten, again)

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

    # --- edits -------------------------------------------------------------------------------

    @property
    def edits(self) -> list[Edit]:
        """The outputs that were replaced on their way, in order."""
        done = self._facts.edits
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
        from torcheer.capture.searching import find_ops

        return find_ops(self, type=type, module=module, shape=shape, where=where)

    def path(self, start: int | str, end: int | str) -> list[Op]:
        """The ops that lie on a way from one layer to another, both included, in the order they ran."""
        from torcheer.capture.searching import ops_between

        return ops_between(self, start, end)

    def receptive_field(
        self, layer: int | str, unit: int | Sequence[int] | None = None, onto: int | str | None = None
    ) -> Field:
        """Which elements of the inputs, or of an earlier layer, can reach a unit of a layer."""
        from torcheer.capture.fields.field import receptive_field

        with undisturbed():
            return receptive_field(self, layer, unit, onto)

    def projective_field(
        self, layer: int | str, unit: int | Sequence[int] | None = None, onto: int | str | None = None
    ) -> Field:
        """Which units of a later layer, or of the outputs, a unit of a layer can reach."""
        from torcheer.capture.fields.field import projective_field

        with undisturbed():
            return projective_field(self, layer, unit, onto)

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
        from torcheer.capture.savefile.write import save_history

        save_history(self, path)

    # --- pictures and pages --------------------------------------------------------------------

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
        from torcheer.capture.drawing import draw_and_show
        from torcheer.graph import read_options

        return draw_and_show(self, read_options(vis_opt, options))

    def show(self, *, max_bytes: int | None = None) -> None:
        """Open the pass as an interactive page: in the notebook, or in the browser where there is one.

        The page has at most `max_bytes`: 4 MB in a notebook, 20 MB elsewhere, unless you say otherwise.
        """
        from torcheer.capture.viewing import show

        show(self, max_bytes=max_bytes)

    def to_html(self, path: str | PathLike[str], *, max_bytes: int = 20_000_000) -> None:
        """Write the interactive page as one file that needs nothing else and can be mailed.

        The file has at most `max_bytes`, unless the structure alone takes more; 0 leaves all values out.
        """
        from torcheer.capture.viewing import write_html

        write_html(self, path, max_bytes=max_bytes)

    # --- checks and faces ----------------------------------------------------------------------

    def validate(self) -> ValidationReport:
        """Check the saved values: a plain forward, each op replayed, each parent disturbed."""
        return validate_history(self)

    def to_pandas(self) -> Any:
        """One row an op. Needs pandas: `pip install torcheer[pandas]`."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("to_pandas needs pandas: pip install torcheer[pandas]") from error
        return pandas.DataFrame([_row(op) for op in self.layer_list], columns=list(_COLUMNS))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a history is not pickled or copied: use history.save(path) and tl.load_history(path)."
        )

    def __str__(self) -> str:
        return describe_pass(self)  # type: ignore[arg-type]

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
        return pass_as_html(self, rows, columns)  # type: ignore[arg-type]


def _row(op: Op) -> dict[str, Any]:
    row = {name: getattr(op, name) for name in _COLUMNS if name not in ("num_params", "source")}
    row["num_params"] = sum(p.num_elements for p in op.parent_params)
    row["source"] = str(op.source_line) if op.source_line else ""
    return row

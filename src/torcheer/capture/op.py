"""One operation of a pass, as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torcheer.capture.aten import AtenCall
from torcheer.capture.function_traits import Trait
from torcheer.capture.inputs import map_leaves
from torcheer.capture.tape import BUFFER, INPUT, NOT_CALLS, OUTPUT, OWN_TRAITS, TENSOR, Meta, Record
from torcheer.errors import InputError
from torcheer.graph import (
    Arguments,
    SourceLine,
    Structure,
    Work,
    describe_op,
    readable_bytes,
    source_lines,
    work_of,
)

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamInfo:
    """A parameter that an op used."""

    address: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    num_elements: int
    num_bytes: int
    requires_grad: bool


def some_of(names: Iterable[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")


def read_off(path: str, doc: str = "") -> Any:
    """A property that stands elsewhere: `read_off("_meta.dtype")`."""
    return property(attrgetter(path), doc=doc)


def _neighbours(find: Callable[[Structure, int], Iterable[int]], doc: str = "") -> Any:
    """The labels of the ops that stand in some way to an op."""

    def labels(op: Op) -> list[str]:
        return [op._history._label(other) for other in find(op._history._structure, op.index)]

    return property(labels, doc=doc)


def _is_made_as(trait: Trait) -> Any:
    return property(lambda op: op._record.trait is trait)


def _distance(end: str, which: int) -> Any:
    """The shortest or the longest way to an end of the pass; None where no way leads there."""

    def find(op: Op) -> int | None:
        ways = getattr(op._history._structure, end)[op.index]
        return None if ways is None else ways[which]

    return property(find)


class Op:
    """One output of one operation. Everything is derived from the pass when it is asked for.

    Its groups: labels, the tensor, the function, the graph around it, the modules around it.
    """

    __slots__ = ("_history", "index")

    def __init__(self, history: ModelHistory, index: int) -> None:
        self._history = history
        self.index = index

    @property
    def _record(self) -> Record:
        return self._history._tape.records[self.index]

    @property
    def _meta(self) -> Meta:
        return self._history._tape.meta(self.index)

    @property
    def layer_label(self) -> str:
        """`relu_1_2`, or `relu_1_2:3` for the third pass of a layer that ran more than once."""
        return self._history._label(self.index)

    @property
    def layer_label_no_pass(self) -> str:
        return self._history._numbered.labels.label(self._layer)

    @property
    def layer_label_short(self) -> str:
        """`relu_1`."""
        return self._history._numbered.labels.short_label(self._layer)

    @property
    def _layer(self) -> int:
        return self._history._numbered.layers.layer_of[self.index]

    layer_type: str = read_off("_record.trait.type")

    @property
    def layer_type_num(self) -> int:
        return self._history._numbered.labels.type_nums[self._layer]

    layer_total_num: int = read_off("_layer")

    @property
    def pass_num(self) -> int:
        return self._history._numbered.layers.pass_of[self.index]

    @property
    def layer_passes_total(self) -> int:
        return self._history._numbered.layers.num_passes[self._layer]

    @property
    def has_saved_activations(self) -> bool:
        return self._history._is_saved(self.index)

    @property
    def tensor_contents(self) -> Any:
        """The saved output; None where it was not saved."""
        return self._history._saved_value(self.index)

    @property
    def tensor_shape(self) -> tuple[int, ...]:
        return tuple(self._meta.shape)

    tensor_dtype: torch.dtype = read_off("_meta.dtype")
    tensor_device: torch.device = read_off("_meta.device")
    tensor_fsize: int = read_off("_meta.num_bytes", "Its size in bytes.")

    @property
    def tensor_fsize_nice(self) -> str:
        return readable_bytes(self.tensor_fsize)

    requires_grad: bool = read_off("_meta.requires_grad")
    grad_fn_name: str | None = read_off(
        "_meta.grad_fn_name", "The autograd node that the op left, as in `ConvolutionBackward0`."
    )

    @property
    def is_edited(self) -> bool:
        """Whether its output was replaced on its way: what was saved is what went on."""
        return bool(self.edited_by)

    @property
    def edited_by(self) -> list[str]:
        """The functions that replaced its output, in order."""
        return [rule.name for op, rule in self._history._tape.edits if op == self.index]

    @property
    def unedited_contents(self) -> Tensor | None:
        """What the function itself gave, where that was edited; kept when all values are."""
        return self._history._tape.unedited.get(self.index)

    @property
    def has_saved_grad(self) -> bool:
        log = self._history._gradients
        return log is not None and log.has_any(log.slots_of(self.index))

    @property
    def grad_contents(self) -> Tensor | None:
        """The gradient of the loss with respect to the output, added up over all calls of `backward()`.

        Gradients of `torch.autograd.grad` count only where there was no `backward()`: `grads` has them all.
        """
        log = self._history._gradients
        return None if log is None else log.summed(log.slots_of(self.index))

    @property
    def grads(self) -> dict[int, Tensor]:
        """The gradient by the number of the backward pass that brought it, from 1."""
        log = self._history._gradients
        return {} if log is None else log.by_pass(log.slots_of(self.index))

    @property
    def func_applied(self) -> Any:
        """The torch function itself; None for inputs, outputs, buffers and other sources."""
        return None if self._is_no_call else self._record.trait.func

    @property
    def func_applied_name(self) -> str:
        return "none" if self._is_no_call else self._record.trait.name

    @property
    def _is_no_call(self) -> bool:
        return id(self._record.trait) in NOT_CALLS

    @property
    def func_call_stack(self) -> list[SourceLine]:
        """Where the op was called, innermost frame first, up to the model's own forward."""
        record = self._record
        lines = own_frames(source_lines(record.site))
        scope = record.scope
        while scope.parent is not None:
            lines += own_frames(source_lines(scope.site))
            scope = scope.parent
        return lines

    @property
    def source_line(self) -> SourceLine | None:
        """The innermost line outside torch itself: most often the user's own code."""
        stack = self.func_call_stack
        own = [line for line in stack if not is_torchs(line.file)]
        return own[0] if own else (stack[0] if stack else None)

    func_time_elapsed: float = read_off("_record.seconds", "Seconds that the call took.")

    @property
    def func_args(self) -> tuple[Any, ...]:
        """The positional arguments, with the label or parameter address where a tensor stood."""
        return () if self._record.trait in OWN_TRAITS else self._call_with(self._parent_names())[0]

    @property
    def func_kwargs(self) -> dict[str, Any]:
        return self._call_with(self._parent_names())[1]

    @property
    def func_args_non_tensor(self) -> list[Any]:
        """The arguments that are no tensors, in order."""
        leaves: list[Any] = []
        for value in (*self._record.args, *(self._record.kwargs or {}).values()):
            map_leaves(value, lambda leaf: leaves.append(leaf) if leaf is not TENSOR else None)
        return leaves

    @property
    def creation_args(self) -> tuple[Any, ...]:
        """The positional arguments with their tensors as they were: needs the parents' values."""
        return self._call_with(self._parent_values())[0]

    @property
    def creation_kwargs(self) -> dict[str, Any]:
        return self._call_with(self._parent_values())[1]

    def _parent_names(self) -> list[str]:
        tape = self._history._tape
        return [tape.params[-p - 1][0] if p < 0 else self._history._label(p) for p in self._record.parents]

    def _parent_values(self) -> list[Any]:
        values = [self._history._value_of(p) for p in self._record.parents]
        if any(value is None for value in values):
            raise InputError(
                f"the inputs of {self.layer_label} were not kept: capture with layers_to_save='all' or "
                "save_function_args=True. A saved file has no parameters."
            )
        return values

    def _call_with(self, values: Iterable[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with these where tensors stood."""
        rest = iter(values)
        template = (self._record.args, self._record.kwargs or {})
        args, kwargs = map_leaves(template, lambda leaf: next(rest) if leaf is TENSOR else leaf)
        return args, kwargs

    @property
    def function_is_inplace(self) -> bool:
        context = self._record.context
        return context is not None and context.num_targets > 0

    @property
    def func_rng_state(self) -> Tensor | None:
        """The random generator's state before the call, for ops that drew random numbers."""
        context = self._record.context
        return None if context is None or context.rng is None else context.rng[1]

    @property
    def func_autocast_state(self) -> dict[str, torch.dtype]:
        """The autocast type by device, where autocast was on."""
        context = self._record.context
        return {} if context is None else dict(context.autocast)

    @property
    def iterable_output_index(self) -> int | None:
        """Which item of the function's output this is; None where it gave a single tensor."""
        record, records = self._record, self._history._tape.records
        if record.trait in OWN_TRAITS:
            return None
        follows = self.index + 1 < len(records) and records[self.index + 1].position == record.position + 1
        return record.position if record.position or follows else None

    @property
    def aten_calls(self) -> list[AtenCall]:
        """The ATen calls that the function was made of, in order. Needs `level='aten'`."""
        record, calls = self._record, self._history._tape.aten
        if calls is None or record.trait in OWN_TRAITS:
            return []
        return list(calls.get(self.index - record.position, ()))

    @property
    def work(self) -> Work | None:
        record, tape = self._record, self._history._tape
        if id(record.trait) in NOT_CALLS or record.position:
            return None
        shapes = [
            tuple(tape.params[-p - 1][1].shape if p < 0 else tape.meta(p).shape) for p in record.parents
        ]
        arguments = Arguments(positional=record.args, keywords=record.kwargs or {})
        return work_of(record.trait.type, shapes, self.tensor_shape, arguments)

    @property
    def flops(self) -> int | None:
        """Floating-point operations, a multiply-add counted as two; None where not defined."""
        work = self.work
        return None if work is None else work.flops

    @property
    def macs(self) -> int | None:
        work = self.work
        return None if work is None else work.macs

    parent_layers: list[str] = _neighbours(lambda structure, op: structure.parents[op])
    child_layers: list[str] = _neighbours(lambda structure, op: structure.children[op])
    sibling_layers: list[str] = _neighbours(Structure.siblings, "Ops that share a parent with it.")
    spouse_layers: list[str] = _neighbours(Structure.co_parents, "Ops that share a child with it.")
    input_ancestors: list[str] = _neighbours(
        lambda structure, op: sorted((structure.ancestors(op) | {op}).intersection(structure.inputs)),
        "The inputs that lead here.",
    )
    output_descendants: list[str] = _neighbours(
        lambda structure, op: sorted((structure.descendants(op) | {op}).intersection(structure.outputs)),
        "The outputs that this leads to.",
    )
    min_distance_from_input: int | None = _distance("from_input", 0)
    max_distance_from_input: int | None = _distance("from_input", 1)
    min_distance_from_output: int | None = _distance("from_output", 0)
    max_distance_from_output: int | None = _distance("from_output", 1)

    @property
    def has_input_ancestor(self) -> bool:
        return self._history._structure.from_input[self.index] is not None

    @property
    def is_output_ancestor(self) -> bool:
        return self._history._structure.leads_to_output[self.index]

    is_input_layer: bool = _is_made_as(INPUT)
    is_output_layer: bool = _is_made_as(OUTPUT)
    is_buffer_layer: bool = _is_made_as(BUFFER)

    @property
    def buffer_address(self) -> str | None:
        return self._history._tape.addresses.get(self.index) if self.is_buffer_layer else None

    @property
    def input_output_address(self) -> str | None:
        """For an input or output: its name, as in `input_ids` or `output.logits`."""
        return None if self.is_buffer_layer else self._history._tape.addresses.get(self.index)

    @property
    def initialized_inside_model(self) -> bool:
        """Made by the model out of nothing that came in: `torch.zeros(…)`, a constant, a buffer."""
        return not self.has_input_ancestor and not self.is_input_layer

    @property
    def is_terminal_bool_layer(self) -> bool:
        """Python took its truth value, and a branch may hang on it."""
        return any(d.op == self.index for d in self._history._decisions)

    @property
    def parent_params(self) -> list[ParamInfo]:
        params = self._history._tape.params
        used = [params[-p - 1] for p in dict.fromkeys(self._record.parents) if p < 0]
        return [
            ParamInfo(
                address=address,
                shape=tuple(param.shape),
                dtype=param.dtype,
                num_elements=param.numel(),
                num_bytes=param.numel() * param.element_size(),
                requires_grad=param.requires_grad,
            )
            for address, param in used
        ]

    @property
    def computed_with_params(self) -> bool:
        return any(p < 0 for p in self._record.parents)

    @property
    def containing_module_origin(self) -> str:
        """The address of the module in whose forward it ran; "" for the model itself."""
        return self._record.scope.module().address or ""

    @property
    def containing_module_pass(self) -> int:
        return self._record.scope.module().pass_num

    @property
    def containing_modules_origin_nested(self) -> list[str]:
        """From the outermost module to the innermost."""
        return [scope.address for scope in self._record.scope.chain() if scope.address]

    @property
    def containing_functions(self) -> list[str]:
        """The Python-level torch functions that it ran inside, outermost first."""
        inside: list[str] = []
        for scope in self._record.scope.chain():
            inside = [] if scope.is_module else [*inside, scope.name]
        return inside[:-1] if inside[-1:] == [self.func_applied_name] else inside

    @property
    def modules_exited(self) -> list[str]:
        """The module calls whose output this is."""
        return self._history._exits.get(self.index, [])

    def __str__(self) -> str:
        return describe_op(self)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.tensor_shape)) or "scalar"
        return f"<Op {self.layer_label} {shape} {str(self.tensor_dtype).removeprefix('torch.')}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and other._history is self._history and other.index == self.index

    def __hash__(self) -> int:
        return hash((id(self._history), self.index))


def own_frames(lines: list[SourceLine]) -> list[SourceLine]:
    """Without the frames in which a torch function hands itself over to a mode."""
    kept: list[SourceLine] = []
    skip = 0
    for line in lines:
        if line.function == "handle_torch_function":
            skip = 2  # itself, and the function that called it
        if skip:
            skip -= 1
        else:
            kept.append(line)
    return kept


def is_torchs(file: str) -> bool:
    return file.startswith((_TORCH_HOME, "<"))


_TORCH_HOME = torch.__file__.removesuffix("__init__.py")

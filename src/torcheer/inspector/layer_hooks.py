"""Look at the layers of one share while a step runs: hooks that are there for this step alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.hooks import RemovableHandle

from torcheer.inspector.frame_writer import FrameWriter

if TYPE_CHECKING:
    from torcheer.inspector.watched_share import ParameterRows, Planned

Report = Callable[[Exception, str], None]  # takes the name of a row, empty where it is not one alone
StateOf = Callable[[Tensor], Mapping[str, Any]]  # what an optimizer keeps for a parameter
_NO_MODES = nullcontext()
_interpreters = torch._C._functorch.peek_interpreter_stack
_CONVOLUTIONS_OF_LINES = (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d)


class Look:
    """One share in the watched steps of one plan. The same object is used again and again."""

    def __init__(
        self,
        layers: Mapping[str, nn.Module],
        tensors: Mapping[str, Tensor],
        planned: Planned,
        writer: FrameWriter,
        report: Report,
    ) -> None:
        self.writer, self.planned = writer, planned
        self.seconds = 0.0  # that looking took in this step
        self._layers, self._tensors, self._report = layers, tensors, report
        self._handles: list[RemovableHandle] = []
        self._calls: dict[int, int] = {}  # by row of a gradient: how often its layer was called in this step
        self._needs_grad = False
        self._num_called = 0
        self.order: dict[int, int] = {}  # rows of activations, by when their layer was last called
        self.num_seen = 0
        has_lines = any(isinstance(module, _CONVOLUTIONS_OF_LINES) for module in layers.values())
        self._unit_dims = {2: 1, 3: 1 if has_lines else -1, 4: 1, 5: 1}

    def begin(self, step: int, *, with_excerpts: bool, needs_grad: bool) -> bool:
        """Install the hooks. False: there is no room. `needs_grad`: passes without gradients do not count."""
        self.seconds, self.num_seen = 0.0, 0
        self.remove_hooks()
        if not self.writer.begin(step, with_excerpts=with_excerpts):
            return False
        self._needs_grad = needs_grad
        self._calls.clear()
        try:
            self._install()
        except BaseException:
            self.remove_hooks()
            self.writer.abandon()
            raise
        return True

    def _install(self) -> None:
        for name, module in self._layers.items():
            rows = self.planned.activations.get(name), self.planned.gradients.get(name)
            is_scripted = isinstance(module, torch.jit.ScriptModule)  # which takes no hooks
            if rows != (None, None) and not is_scripted:
                self._handles.append(module.register_forward_hook(Hook(self._on_forward, *rows)))
        for name, tensor in self._tensors.items():
            row = self.planned.gradients.get(name)
            if row is not None and tensor.requires_grad:
                register: Callable[[Any], RemovableHandle] = tensor.register_hook
                self._handles.append(register(Hook(self._on_gradient, row, 0)))

    def await_weight_gradients(self) -> None:
        """Where no optimizer tells when they are ready: look at each as it comes."""
        for rows in self.planned.parameters:
            parameter = rows.parameter
            if rows.gradient is not None and parameter.requires_grad and parameter.is_leaf:
                register: Callable[[Any], RemovableHandle] = parameter.register_post_accumulate_grad_hook
                self._handles.append(register(Hook(self._on_weight_gradient, rows.gradient)))

    def remove_hooks(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _on_forward(
        self, row: int | None, gradient_row: int | None, _module: nn.Module, _args: Any, output: Any
    ) -> None:
        started = time.perf_counter()
        if not self.writer.is_open or (self._needs_grad and not torch.is_grad_enabled()) or _is_unreal():
            return
        try:
            tensor = first_tensor(output)
            if tensor is not None:
                self._look(row, gradient_row, tensor)
        except Exception as error:
            self._fail(error, gradient_row if row is None else row)
        self.seconds += time.perf_counter() - started

    def _look(self, row: int | None, gradient_row: int | None, tensor: Tensor) -> None:
        # A checkpoint computes again during the backward pass what was seen already.
        if gradient_row in self._calls and torch._C._current_graph_task_id() != -1:
            return
        self.num_seen += 1
        if row is not None:
            self._num_called += 1
            self.order[row] = self._num_called
            units = self.planned.plan.rows[row].unit_bytes and tensor.is_floating_point()
            with _outside_of_modes():
                self.writer.put(row, tensor, self._unit_dims.get(tensor.dim()) if units else None)
        if gradient_row is not None and tensor.requires_grad:
            # Of a layer that is called several times in a step, the last call holds.
            call = self._calls[gradient_row] = self._calls.get(gradient_row, 0) + 1
            register: Callable[[Any], RemovableHandle] = tensor.register_hook
            handle = register(partial(self._on_gradient, gradient_row, call))
            if tensor.is_leaf:  # all others go with their graph
                self._handles.append(handle)

    def _on_gradient(self, row: int, call: int, gradient: Tensor) -> None:
        if not self.writer.is_open or self._calls.get(row, 0) != call or _is_unreal():
            return
        started = time.perf_counter()
        try:
            self.num_seen += 1
            with _outside_of_modes():
                self.writer.put(row, gradient)
        except Exception as error:
            self._fail(error, row)
        self.seconds += time.perf_counter() - started

    def _on_weight_gradient(self, row: int, parameter: Tensor) -> None:
        if parameter.grad is not None:
            self._on_gradient(row, 0, parameter.grad)

    def _fail(self, error: Exception, row: int | None) -> None:
        name = "" if row is None else self.planned.plan.rows[row].name
        self._report(error, name)

    def look_before_update(self, parameters: frozenset[int] | None) -> None:
        """These weights as they are, to see afterwards what has changed; None for all."""
        with self._timed():
            self.writer.take(_updates(self._rows_of(parameters)), self._fail)

    def look_at_weight_gradients(self, parameters: frozenset[int] | None) -> None:
        with self._timed():
            self._put_all(
                [
                    (rows.gradient, rows.parameter.grad)
                    for rows in self._rows_of(parameters)
                    if rows.gradient is not None and rows.parameter.grad is not None
                ]
            )

    def look_at_changes(self, parameters: frozenset[int] | None) -> None:
        """What has become of the weights that were looked at before."""
        with self._timed():
            self.num_seen += self.writer.put_changes(_updates(self._rows_of(parameters)), self._fail)

    def look_after_update(self, state_of: StateOf) -> None:
        """The weights, what has changed, and what the optimizer keeps."""
        with self._timed():
            every = self.planned.parameters
            self._put_all([(rows.weight, rows.parameter) for rows in every if rows.weight is not None])
            self.num_seen += self.writer.put_changes(_updates(every), self._fail)
            self._put_all(list(self._kept(state_of)))
            self._put_all([(row, self._tensors[name]) for name, row in self.planned.tensors.items()])

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        except Exception as error:
            self._report(error, "")
        self.seconds += time.perf_counter() - started

    def _kept(self, state_of: StateOf) -> Iterator[tuple[int, Tensor]]:
        for rows in self.planned.parameters:
            if rows.states:
                kept = state_of(rows.parameter)
                for key, row in rows.states.items():
                    if isinstance(kept.get(key), Tensor):
                        yield row, kept[key]

    def _rows_of(self, parameters: frozenset[int] | None) -> list[ParameterRows]:
        every = self.planned.parameters
        return every if parameters is None else [rows for rows in every if id(rows.parameter) in parameters]

    def _put_all(self, found: list[tuple[int, Tensor]]) -> None:
        if found:
            self.num_seen += len(found)
            with _outside_of_modes():
                self.writer.put_many(found, self._fail)


def _updates(every: list[ParameterRows]) -> list[tuple[int, Tensor]]:
    return [(rows.update, rows.parameter) for rows in every if rows.update is not None]


def first_tensor(output: Any) -> Tensor | None:
    """What a layer gives: a tensor, or the first one in what it gives."""
    if isinstance(output, Tensor):
        return output
    if isinstance(output, Mapping):
        output = output.values()
    elif is_dataclass(output):
        output = [getattr(output, field.name) for field in fields(output)]
    elif not isinstance(output, list | tuple):
        return None
    return next((found for part in output if (found := first_tensor(part)) is not None), None)


def _is_unreal() -> bool:
    """True if the model is traced or transformed, so that its tensors have no values of their own."""
    return torch._C._get_tracing_state() is not None or _interpreters() is not None


@contextmanager
def _disabled_modes() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield


def _outside_of_modes() -> AbstractContextManager[None]:
    """Whoever records the operations of the model, as a pass does, must not see ours."""
    if torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack():
        return _disabled_modes()
    return _NO_MODES


class Hook:
    """Calls a function with some arguments before those of the hook.

    A copy of it takes anything and does nothing. It is of the standard library, so that a model that was
    saved while it was watched can be loaded where torcheer is not installed.
    """

    __slots__ = ("_first", "_function")

    def __init__(self, function: Callable[..., None], *first: Any) -> None:
        self._function, self._first = function, first

    def __call__(self, *rest: Any) -> None:
        # A model that is being compiled takes this call into its graph, or fails to; it runs without us.
        if not torch.compiler.is_compiling():
            self._function(*self._first, *rest)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (sys.audit, "torcheer.hook")

"""Run a model once with everything in place to record it: which module is running, in which thread.

Hooks on modules say which of them runs. A function mode belongs to one thread: threads that forward starts
get their own. TorchScript runs outside Python: there a dispatch mode records what no Python call shows.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from threading import get_ident
from time import perf_counter, sleep
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn, overrides
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.hooks import RemovableHandle

from torcheer.capture.function_mode import Catcher, ThreadCatcher, site_of_module_call
from torcheer.capture.function_traits import trait_of
from torcheer.capture.inputs import Call, input_tensors, map_tensors, swap_tensors, tensors_in
from torcheer.capture.model_walk import ModelWalk
from torcheer.capture.tape import IDENTITY, INPUT, OUTPUT, TENSOR, Scope, Tape, Use
from torcheer.errors import CaptureError
from torcheer.graph import Site
from torcheer.models import without_compiler

if TYPE_CHECKING:
    from torcheer.capture.analysis.edits import Editor


ModuleExit = Callable[[str, int, list[tuple[int, Tensor]]], None]

_in_capture = threading.local()
_WORD_OF_HOOKS = "Using `torch.compile\\(module\\)` when there are global hooks"


class Recorder:
    """One pass of one model onto one tape."""

    def __init__(
        self, model: nn.Module, walk: ModelWalk, tape: Tape, fast: bool, on_module_exit: ModuleExit | None
    ) -> None:
        self.tape = tape
        self.base = Scope(None, "", type(walk.root).__name__, (), 0)
        self.calls: dict[str, list[Scope]] = {"": [self.base]}  # by the address of a module, in order
        self._address_of = dict(walk.address_of)
        self._made: list[nn.Module] = []  # kept, so that an id stays its module's own
        self.elapsed_seconds = 0.0
        self._model = model
        self._root = walk.root
        self._walk = walk
        # Modules around the model, such as that of torch.compile.
        others = () if model is walk.root else model.modules()
        self._wrappers = frozenset(id(module) for module in others if id(module) not in walk.address_of)
        self._on_module_exit = on_module_exit
        self._fast = fast
        self._catchers: dict[int, Catcher] = {}
        self._scripted = {id(module) for _, module in walk.modules if is_scripted(module)}

    def run(self, call: Call) -> Any:
        """Record the pass; returns what the model returned."""
        for path, tensor in input_tensors(self._root, call):
            index = self.tape.add_node(INPUT, (), tensor, Use(self.base), address=path)
            if self.tape.keep_all:
                self.tape.input_tensors[index] = tensor
        if self.tape.editor is not None:
            call = Call(*self.tape.editor.swapped((call.args, call.kwargs)))
        self.base.first_op = len(self.tape.records)
        self.tape.other_threads = OtherThreads()
        try:
            with self._in_place():
                started = perf_counter()
                try:
                    result = self._model(*call.args, **call.kwargs)
                finally:
                    self.elapsed_seconds = perf_counter() - started
            return self._add_outputs(result)
        finally:
            # A pass that was left midway has scopes that never ended.
            for scope in chain.from_iterable(self.calls.values()):
                scope.close(len(self.tape.records))
                if scope.drill is not None:
                    scope.drill.close()
                    scope.drill = None
            self._address_of.clear()
            self._made.clear()

    def _add_outputs(self, result: Any) -> Any:
        tape, editor = self.tape, self.tape.editor
        if editor is not None:
            result = editor.swapped(result, into_objects=True)
        found = list(tensors_in(result, into_objects=True))
        parents = [tape.find(tensor, Use(self.base)) for _, tensor in found]
        now: list[Tensor] = []
        for (path, tensor), parent in zip(found, parents, strict=True):
            name = f"output.{path}" if path else "output"
            node = tape.add_node(OUTPUT, (parent,), tensor, Use(self.base), address=name)
            live = tape.memory.live(node)
            now.append(tensor if live is None else live)
        if editor is None:
            return result
        edited = iter(now)
        return map_tensors(result, lambda _: next(edited), into_objects=True)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        if _is_capturing():
            raise CaptureError(
                f"a capture of {_in_capture.model} is running in this thread: log_forward_pass cannot be "
                "called from inside a model that is being captured. Take that call out of forward."
            )
        _in_capture.model = type(self._root).__name__
        try:
            with ExitStack() as stack:
                if "torch._dynamo" in sys.modules:
                    stack.enter_context(without_compiler())  # it would hide the ops
                    # torch.compile warns of global hooks, which are ours and gone after the pass.
                    stack.enter_context(warnings.catch_warnings())
                    warnings.filterwarnings("ignore", message=_WORD_OF_HOOKS)
                stack.enter_context(module_hooks(self._enter, self._leave))
                stack.enter_context(recording_new_threads(self._catcher_for_thread))
                catcher = self._add(Catcher(self.tape, self.base))
                if uses_scripted_functions(self._walk.modules):
                    self._watch_dispatcher(catcher, stack)
                stack.callback(self.tape.end)
                stack.enter_context(catcher)
                yield
        finally:
            _in_capture.model = None

    def _add(self, catcher: Catcher) -> Catcher:
        catcher.fast = self._fast
        self._catchers[get_ident()] = catcher
        return catcher

    def _catcher_for_thread(self) -> Catcher:
        """For a thread that forward has started: its ops belong where it was started."""
        main = next(iter(self._catchers.values()))
        self._fast = main.fast = False
        while self.tape.is_busy:
            sleep(0)
        return self._add(ThreadCatcher(self.tape, main.scope, _is_capturing))

    def let_go(self) -> None:
        """The pass is over: what is told of it points back to us."""
        self._on_module_exit = None

    def _enter(self, module: nn.Module, _args: Any) -> bool:
        """Called when a module begins; whether it is recorded."""
        catcher = self._catchers.get(get_ident())
        if catcher is None or id(module) in self._wrappers or catcher.is_away() or _muted.depth:
            return False
        outer = catcher.scope
        if module is self._root and outer is self.base and not outer.started:
            scope = self.base
        else:
            address = self._address(module)
            scope = Scope(
                outer, address, type(module).__name__, site_of_module_call(), len(self.tape.records)
            )
            calls = self.calls.setdefault(address, [])
            calls.append(scope)
            scope.pass_num = len(calls)
            catcher.scope = scope
        scope.started = perf_counter()
        if id(module) in self._scripted and catcher.drill is None:
            scope.drill = ExitStack()
            self._watch_dispatcher(catcher, scope.drill)
        return True

    def _address(self, module: nn.Module) -> str:
        address = self._address_of.get(id(module))
        if address is None:
            # Made inside forward, or outside the model: it has no place in the tree.
            self._made.append(module)
            address = self._address_of[id(module)] = f"{type(module).__name__}#{len(self._made)}"
            self._walk.add_stranger(address, module)
        return address

    def _leave(self, module: nn.Module, _args: Any, output: Any) -> Any:
        """Called when a module ends; what it returns, if anything, goes on in the place of its output."""
        catcher = self._catchers.get(get_ident())
        if catcher is None or id(module) in self._wrappers or catcher.is_away() or _muted.depth:
            return None
        scope = catcher.scope
        address = self._address(module)
        while scope.address != address and scope.parent is not None:
            scope = scope.parent  # left by an exception that torch does not catch
        if not scope.started:
            return None
        if scope.drill is not None:
            scope.drill.close()
            scope.drill = None
        given = output
        if self.tape.editor is not None:
            self.tape.editor.begin_call()
            output = self.tape.editor.swapped(output, into_objects=True)
        index = self.tape.owner.get(id(output))
        outputs: list[tuple[int, Tensor]]
        if index is not None and index >= scope.first_op and self.tape.values[index] is output:
            scope.outputs = (index,)
            outputs = [(index, output)]  # type: ignore[list-item]
        else:
            # A hook runs under the mode: what we do here is no part of the model.
            with torch._C.DisableTorchFunction(), catcher.covering():
                outputs = self._outputs_of(scope, output)
            scope.outputs = tuple(index for index, _ in outputs)
        if self.tape.editor is not None and outputs:
            with torch._C.DisableTorchFunction(), catcher.covering():
                output = self._edit_output(self.tape.editor, scope, output, outputs)
        scope.close(len(self.tape.records))
        if scope.parent is not None:
            catcher.scope = scope.parent
        if self._on_module_exit is not None:
            with torch._C.DisableTorchFunction(), catcher.covering():
                self._on_module_exit(address, scope.pass_num, outputs)
        return None if output is given else output

    def _edit_output(
        self, editor: Editor, scope: Scope, output: Any, outputs: list[tuple[int, Tensor]]
    ) -> Any:
        """The first tensor that a module returns is the one that its address names."""
        op, tensor = outputs[0]
        # An op that says that the module did nothing may have been edited itself.
        new: Tensor = editor.swapped_output(tensor)
        rules = editor.rules_of_module(scope.address or "", scope.pass_num)
        if rules:
            if op < scope.first_op:
                # Made outside, where it is used as it is: what the module hands out is a thing of its own.
                op = self.tape.add_node(IDENTITY, (op,), new, Use(scope), args=(TENSOR,), is_extra=True)
            new = editor.apply_all(rules, op, new)
        if new is tensor:
            return output
        outputs[0] = (op, new)
        scope.outputs = tuple(index for index, _ in outputs)
        return swap_tensors(output, {id(tensor): (tensor, new)}, into_objects=True)

    def _outputs_of(self, scope: Scope, output: Any) -> list[tuple[int, Tensor]]:
        """The ops whose tensors a module returns. One that did nothing gets an op that says so."""
        if output is None:
            return []
        tape = self.tape
        tensors = (
            [output] if isinstance(output, Tensor) else [t for _, t in tensors_in(output, into_objects=True)]
        )
        did_nothing = len(tape.records) == scope.first_op
        found: list[tuple[int, Tensor]] = []
        for slot, tensor in enumerate(tensors):
            index = tape.find(tensor, Use(scope))
            if did_nothing and index < scope.first_op:
                use = Use(scope, slot=slot)
                index = tape.add_node(IDENTITY, (index,), tensor, use, args=(TENSOR,))
            if index >= 0:
                found.append((index, tensor))
        return found

    def _watch_dispatcher(self, catcher: Catcher, stack: ExitStack) -> None:
        """For as long as the stack is open, record what TorchScript runs."""
        watcher = DispatchWatcher(catcher._careful)
        before = catcher.fast
        catcher.drill, catcher.fast = watcher, False

        def undo() -> None:
            catcher.drill, catcher.fast = None, before

        stack.callback(undo)
        stack.enter_context(watcher)


def _is_capturing() -> bool:
    return getattr(_in_capture, "model", None) is not None


class _Muted(threading.local):
    depth = 0


_muted = _Muted()


@contextmanager
def muted() -> Iterator[None]:
    """While a function of the user's runs that is no part of the model, its modules are not recorded."""
    _muted.depth += 1
    try:
        yield
    finally:
        _muted.depth -= 1


@contextmanager
def module_hooks(enter: Callable[..., bool], leave: Callable[..., Any]) -> Iterator[None]:
    """Call `enter` before and `leave` after every module that runs.

    Where `enter` says that it took the module up, `leave` comes after the module's own hooks: what they put
    in the place of its output is what the rest of the model is given.
    """
    hooked: dict[int, tuple[nn.Module, RemovableHandle]] = {}  # kept, so that an id stays its module's own

    def enter_first(module: nn.Module, args: Any) -> None:
        took_up = enter(module, args)
        if took_up and module._forward_hooks and id(module) not in hooked and not is_scripted(module):
            hooked[id(module)] = module, module.register_forward_hook(leave, always_call=True)

    def leave_unless_hooked(module: nn.Module, args: Any, output: Any) -> Any:
        return None if id(module) in hooked else leave(module, args, output)

    # always_call: a forward that raises must still leave its module.
    handles = [
        register_module_forward_pre_hook(enter_first),
        register_module_forward_hook(leave_unless_hooked, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in (*handles, *(own for _, own in hooked.values())):
            handle.remove()


# Python calls a profile function first thing in each new thread: ours puts a mode on it, and takes it off at
# the first Python call after the pass has ended. All passes that run at once share this function: were each
# to put its own in place and the one before it back, one that is over would stay.


MakeMode = Callable[[], TorchFunctionMode]


class _Recording:
    """A pass that records the threads which its own thread starts."""

    def __init__(self, make_mode: MakeMode) -> None:
        self.thread = threading.get_ident()
        self.make_mode = make_mode
        self.is_open = True


_lock = threading.Lock()
_open: list[_Recording] = []
_others: Any = None  # somebody else's profile function, which goes on
_local = threading.local()


class OtherThreads:
    """The threads that run beside this one and may compute, as they were when a pass began."""

    def __init__(self) -> None:
        own = threading.current_thread()
        others = [thread for thread in threading.enumerate() if thread is not own]
        seconds = [(thread, _seconds_of(thread)) for thread in others if not _only_waits(thread)]
        self._others = [(thread, its) for thread, its in seconds if its != _ENDED]

    def at_work(self) -> list[str]:
        """The names of those that have done anything since."""
        return [
            thread.name
            for thread, before in self._others
            if before is None or not thread.is_alive() or _seconds_of(thread) != before
        ]


_ENDED: Final = -1.0
_THREAD_CLOCK: Final = 6  # of clock_gettime, in the lowest bits: processor time of a single thread
# Their threads redraw a bar, keep a notebook or a debugger alive, or wait for a process to end.
_KEEPERS = ("tqdm", "rich", "ipykernel", "IPython", "zmq", "debugpy", "pydevd", "_pydevd_bundle", "torcheer")


def _only_waits(thread: threading.Thread) -> bool:
    homes = (type(thread).__module__, getattr(getattr(thread, "_target", None), "__module__", None) or "")
    is_keeper = any(home.partition(".")[0] in _KEEPERS for home in homes)
    return is_keeper or thread.name.startswith("asyncio-waitpid-")


def _seconds_of(thread: threading.Thread) -> float | None:
    """How long a thread has computed; _ENDED where it has ended; None where the system does not say."""
    if sys.platform != "linux" or thread.native_id is None:
        return None
    # By the kernel's number of the thread: pthread_getcpuclockid reads memory that is gone with the thread,
    # and Python lists threads that it did not start, and that have called it once, for ever.
    try:
        return time.clock_gettime(~thread.native_id << 3 | _THREAD_CLOCK)
    except OSError:
        return _ENDED


@contextmanager
def recording_new_threads(make_mode: MakeMode) -> Iterator[None]:
    """While this is open, each thread that this one starts runs under a mode of its own."""
    global _others
    recording = _Recording(make_mode)
    with _lock:
        before = threading.getprofile()
        if before is not _profile:
            _others = before
            threading.setprofile(_profile)
        _open.append(recording)
    try:
        yield
    finally:
        recording.is_open = False
        with _lock:
            _open.remove(recording)
            if not _open and threading.getprofile() is _profile:
                threading.setprofile(_others)


def _profile(frame: FrameType, event: str, argument: Any) -> None:
    others = _others
    held: tuple[_Recording, Any] | None = getattr(_local, "held", None)  # a pass, and its mode
    if held is None:
        if event == "call" and not _begin():
            sys.setprofile(others)
    # While the mode handles a call torch keeps it aside, and puts it back: then a later event takes it off.
    elif not held[0].is_open and overrides._get_current_function_mode() is held[1]:  # type: ignore[no-untyped-call]
        held[1].__exit__(None, None, None)
        _local.held = None
        sys.setprofile(others)
    if others is not None:
        others(frame, event, argument)


def _begin() -> bool:
    """Put the mode of the pass that starts this thread on it; False where no pass does."""
    recording = _starter()
    if recording is None:
        return False
    mode: Any = recording.make_mode()
    _local.held = (recording, mode)
    mode.__enter__()
    return True


def _starter() -> _Recording | None:
    """The pass whose thread is just starting this one: the starter waits until it has begun."""
    new_thread, own = threading.current_thread(), threading.get_ident()
    starters = {
        ident
        for ident, frame in sys._current_frames().items()
        if ident != own and _is_starting(frame, new_thread)
    }
    passes = list(_open)
    if not starters and len(passes) == 1:  # started by other means than threading.Thread
        return passes[0]
    return next((one for one in passes if one.thread in starters), None)


def _is_starting(frame: FrameType | None, new_thread: threading.Thread) -> bool:
    while frame is not None:
        if frame.f_code is _START and frame.f_locals.get("self") is new_thread:
            return True
        frame = frame.f_back
    return False


_START = threading.Thread.start.__code__


# Stands for code that is not Python's: the nth op of a script is at its nth place.
_SCRIPT = compile("0", "<script>", "eval")


def is_in_script(site: Site) -> bool:
    """Whether an op was recorded below Python."""
    return bool(site) and site[0] is _SCRIPT


class DispatchWatcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Hands each ATen call to `record`, except below a call that is recorded already."""

    def __init__(self, record: Callable[..., Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._record = record
        self._depth = 0
        self._num_recorded = 0
        self._alive: list[Any] = []  # TorchScript's values have no other Python owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A function mode is not off in here: what we call must not come back to it.
        with torch._C.DisableTorchFunction():
            # detach: autograd setting a value aside for backward, not a step of the model.
            if self._depth or func is torch.ops.aten.detach.default:
                return func(*args, **(kwargs or {}))
            self._num_recorded += 1
            out = self._record(trait_of(func), args, kwargs or {}, (_SCRIPT, 2 * self._num_recorded))
        self._alive.append((args, out))
        return out

    @contextmanager
    def covered(self) -> Iterator[None]:
        """While this is open, what happens below is part of a call that is recorded already."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


# Functions of torch that make a tensor without any call that a mode sees.
_HIDDEN = frozenset(["nested_tensor", "as_nested_tensor"])


def uses_scripted_functions(modules: list[tuple[str, nn.Module]]) -> bool:
    """Whether a module of the model holds, or its forward names, a scripted function."""
    forwards = {getattr(type(module), "forward", None) for _, module in modules}
    seen: set[int] = set()
    return any(isinstance(f, FunctionType) and _names_scripted(f, seen, depth=0) for f in forwards) or any(
        torch.jit.ScriptFunction in map(type, vars(module).values()) for _, module in modules
    )


def _names_scripted(func: FunctionType, seen: set[int], depth: int) -> bool:
    is_torchs = (func.__module__ or "").split(".")[0] == "torch"
    if id(func.__code__) in seen or depth > 3 or is_torchs:
        return False
    seen.add(id(func.__code__))
    if not _HIDDEN.isdisjoint(_all_names(func.__code__)):
        return True
    cells = [cell.cell_contents for cell in func.__closure__ or () if _is_filled(cell)]
    named = [func.__globals__[name] for name in _all_names(func.__code__) if name in func.__globals__]
    for value in (*named, *cells):
        if isinstance(value, torch.jit.ScriptFunction):
            return True
        if isinstance(value, FunctionType) and _names_scripted(value, seen, depth + 1):
            return True
    return False


def _all_names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _all_names(constant)
    return names


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def is_scripted(module: nn.Module) -> bool:
    return isinstance(module, torch.jit.ScriptModule)

"""The engine: tensors that remember how they were made, and the walk back that gives every gradient.

Three ideas make up all of it.

*A node for each operation.* When an op is done on a tensor that wants a gradient, the result gets a `Node`:
which rule it was, on which inputs, and what came out. A node points to the nodes of its inputs, so the loss
at the end holds a graph that leads back to every parameter. Nothing else is written down.

*A rule for each kind of operation.* A `Rule` knows the op itself (forward) and, for each input,
how a gradient of the output becomes one of that input: a vector-Jacobian product, vjp for short. rules.py is
the table of them.

*The walk back.* Gradients start at the loss with 1 and go from each node to the nodes of its inputs, newest
node first, since an op is always newer than what it was made from. So all that flows into a node has arrived
before it is its turn, and what arrives by several ways is added up. That is backpropagation.

torch's own autograd has no part in this. A rule's forward is an ordinary torch function, called as if the
tensors were ordinary ones (`as_plain`), and gradients are computed by such functions as well.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

import torch
from torch import Tensor

from torcheer.autograd.modes import Recording, as_plain, modes, tracing
from torcheer.autograd.torch_calls import handler_of, settled, written_out
from torcheer.errors import AutogradError, InputError

# What is no larger than this stays after the walk back, so that it can still be explained.
SMALL: Final = 4096

_numbers = itertools.count()
_nothing: Final = torch.empty(0)
_NOT_OF_THE_USER: Final = (str(Path(__file__).parent), str(Path(torch.__file__).parent))


def like(gradient: Tensor, value: Tensor) -> Tensor:
    """In the shape and type of the input. What was broadcast on the way there is summed on the way back:
    an element that was used n times gets the gradients of all its n uses."""
    if gradient.shape != value.shape:
        shape, num_new = value.shape, gradient.dim() - len(value.shape)
        sizes = enumerate(shape, num_new)
        dims = [*range(num_new), *(at for at, size in sizes if size == 1 and gradient.shape[at] != 1)]
        gradient = (gradient.sum(dims, keepdim=True) if dims else gradient).reshape(shape)
    if gradient.dtype != value.dtype or gradient.device != value.device:
        gradient = gradient.to(device=value.device, dtype=value.dtype)
    return gradient


Vjp = Callable[..., Tensor]


class Way(NamedTuple):
    """How the gradient gets to one input: the function that computes it, and its formula as LaTeX."""

    vjp: Vjp  # of (gradient of the output, output, *inputs, **options)
    formula: str
    words: str = ""  # the formula said to a person, where those of the whole rule do not fit; {a} is a name


class Rule:
    """One kind of operation. Its inputs come by place; what has no gradient comes by name, as an option."""

    __slots__ = ("adds_part", "forward", "name", "symbols", "takes_many", "ways", "words")

    def __init__(
        self,
        name: str,
        forward: Callable[..., Tensor],
        ways: Mapping[str, Way],
        *,
        words: str = "",
        takes_many: bool = False,
    ) -> None:
        self.name = name
        self.forward = forward
        self.symbols = tuple(ways)  # what the inputs are called in the formulas
        self.ways = tuple(ways.values())
        self.words = words  # what the formulas say, for a person
        self.takes_many = takes_many  # any number of inputs, one way for all: its vjp is told which is meant
        self.adds_part: Callable[..., bool] | None = None  # of an op that takes a part: see Arrivals

    def way(self, position: int) -> Way:
        """That to the input at this place."""
        place = 0 if self.takes_many else position
        if place >= len(self.ways):
            raise AutogradError(
                f"input {position} of {self.name} wants a gradient, and its rule has none for it: it has "
                f"{', '.join(self.symbols)}."
            )
        return self.ways[place]

    def contribution(self, position: int, gradient: Tensor, output: Tensor, node: Node) -> Tensor:
        """What the gradient of the output makes that of one input, in the shape and type of the input."""
        which = (position,) if self.takes_many else ()
        raw = self.way(position).vjp(gradient, output, *which, *node.inputs, **node.options)
        if not isinstance(raw, Tensor):
            raise AutogradError(f"{self._way_to(position)} gave a {type(raw).__name__}, not a tensor.")
        try:
            return like(raw, node.inputs[position])
        except RuntimeError as error:
            raise AutogradError(
                f"{self._way_to(position)} gave the shape {tuple(raw.shape)}, and that input has "
                f"{tuple(node.inputs[position].shape)}: it must be the same, or one it was broadcast to."
            ) from error

    def _way_to(self, position: int) -> str:
        return f"the gradient for {self.symbols[0 if self.takes_many else position]} of the rule {self.name}"

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


class Arrivals:
    """At each node, the sum of the gradients that have come so far.

    Of a sequence that is read step by step, each step gives a gradient of its own small part. The first one
    makes a tensor of zeros for the whole; the others are written into that, where a tensor for each would be
    slow.
    """

    def __init__(self, seeds: Mapping[Node, Tensor], *, in_place: bool) -> None:
        self.sums = dict(seeds)
        self._in_place = in_place
        self._ours: set[Node] = set()  # whose sum is a tensor that nobody else has

    def add(self, node: Node, gradient: Tensor, rule: Rule) -> None:
        self.sums[node] = self.sums[node] + gradient if node in self.sums else gradient
        if self._in_place and rule.adds_part is not None:
            self._ours.add(node)

    def took_part(self, node: Node, gradient: Tensor, source: Node) -> bool:
        """Whether it was the gradient of a part, and is in the sum now."""
        if node not in self._ours or source.rule is None or source.rule.adds_part is None:
            return False
        return source.rule.adds_part(self.sums[node], gradient, **source.options)


def seeds_of(outputs: Sequence[Any], gradients: Sequence[Tensor | None]) -> dict[Node, Tensor]:
    """What the walk back starts with: 1, where the output is one number."""
    seeds: dict[Node, Tensor] = {}
    for output, gradient in zip(outputs, gradients, strict=True):
        node = getattr(output, "_node", None)
        if node is None:
            raise AutogradError(
                "this tensor was made of nothing that wants a gradient: call requires_grad_() on an input or "
                "a parameter before, and compute it outside of no_grad()."
            )
        if gradient is None:
            if output.numel() != 1:
                raise AutogradError(
                    f"backward() starts at one number, and this is a tensor of shape {tuple(output.shape)}: "
                    "sum it (x.sum().backward()), or say what arrives at each element (x.backward(gradient))."
                )
            with as_plain():
                gradient = torch.ones_like(output.data)
        elif gradient.shape != output.shape:
            raise InputError(f"a gradient of shape {tuple(gradient.shape)} for one of {tuple(output.shape)}.")
        seeds[node] = gradient if node not in seeds else seeds[node] + gradient
    return seeds


def nodes_of(inputs: Sequence[Any]) -> list[Node]:
    nodes = [getattr(one, "_node", None) for one in inputs]
    if None in nodes:
        raise AutogradError(
            f"input {nodes.index(None)} wants no gradient: call requires_grad_() on it before."
        )
    return cast("list[Node]", nodes)


class Node:
    """Where a value came from. That of a leaf has no rule, and there its gradient ends up.

    Filled once for each op, in the hot path: slots, and no more in them than is at hand.
    """

    __slots__ = (
        "__weakref__", "grad", "hooks", "inputs", "is_spent", "keeps_grad", "layer", "number", "options",
        "parents", "place", "refill", "rule", "value", "versions",
    )  # fmt: skip

    def __init__(
        self,
        rule: Rule | None,
        inputs: tuple[Any, ...],
        options: Mapping[str, Any],
        value: Tensor,
        parents: tuple[Node | None, ...],
    ) -> None:
        self.number = next(_numbers)  # inputs are always older than what is made of them
        self.rule = rule
        self.inputs = inputs  # tracers, tensors and numbers, as they were given
        self.options = options
        self.value = value  # not the tracer itself, which holds this node: a cycle would not be freed
        self.parents = parents  # the node of each input; None for one that wants no gradient
        self.grad: Tensor | None = None
        self.hooks: list[Callable[[Tensor], Tensor | None]] | None = None
        self.keeps_grad = rule is None
        self.is_spent = False
        self.layer = modes.layer
        self.place: tuple[Any, int] | None = None
        self.refill: Callable[[], None] | None = None  # brings back what a checkpoint let go
        # Changed in place after this, they would give a wrong gradient: torch counts writes in `_version`.
        self.versions: tuple[int, ...] = ()

    def output(self) -> tracer:
        """The result as a tracer again, for gradients of gradients."""
        made = Tensor._make_subclass(tracer, self.value)
        made._node = self
        return made

    def name(self) -> str:
        """As torch's own nodes are asked for it."""
        return "leaf" if self.rule is None else self.rule.name

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def apply(rule: Rule, *inputs: Any, **options: Any) -> Any:
    """Do an operation, and remember how if one of the inputs wants a gradient."""
    if not tracing():
        return rule.forward(*inputs, **options)  # on the way back, or in another rule: an ordinary op
    with as_plain():
        value = rule.forward(*inputs, **options)
        if not isinstance(value, Tensor):
            raise AutogradError(
                f"the forward of the rule {rule.name} gave a {type(value).__name__}, and a rule is for one "
                "tensor: write one for each that is needed (forward=lambda a: …[0])."
            )
        if isinstance(value, tracer):  # a forward that gives back its input
            value = value.data
        if value.requires_grad:
            raise AutogradError(
                "an input wants a gradient of torch's own autograd, which has no part here. A layer of "
                "torch.nn? Take it from torcheer.autograd.nn. A tensor? Use tracer(x, requires_grad=True), "
                "or x.detach()."
            )
        result = Tensor._make_subclass(tracer, value)
        if not modes.recording:
            return result
        parents = tuple([one._node if isinstance(one, tracer) else None for one in inputs])
        if any(parents) and (value.is_floating_point() or value.is_complex()):
            node = Node(rule, inputs, options, value, parents)
            node.versions = _versions(node)
            node.place = _place()
            result._node = node
            if modes.noted is not None:
                modes.noted.append(node)
    return result


def _versions(node: Node) -> tuple[int, ...]:
    """How often each tensor that the way back may ask for was written into: inputs, masks, and the result."""
    used = [one for one in (*node.inputs, *node.options.values(), node.value) if isinstance(one, Tensor)]
    try:
        return tuple([one._version for one in used])
    except RuntimeError:  # torch does not count where its own inference_mode() is on
        return tuple([0 if one.is_inference() else one._version for one in used])


def _place() -> tuple[Any, int] | None:
    """The line of the user's that the op stands in: the innermost that is neither ours nor torch's."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_OF_THE_USER):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else (frame.f_code, frame.f_lineno)


# --- the walk back ---------------------------------------------------------------------------------------

Watch = Callable[[Node, int, Tensor, Tensor], None]


def walk_back(
    seeds: Mapping[Node, Tensor],
    *,
    create_graph: bool = False,
    retain_graph: bool = False,
    wanted: Iterable[Node] | None = None,
    watch: Watch | None = None,
) -> dict[Node, Tensor]:
    """Take gradients from the nodes where they start to all that these were made from.

    They end in the `grad` of leaves, or are returned for the nodes that are `wanted`. With `create_graph` the
    way back is itself recorded: vjps are ordinary code, run on tracers then. `watch` is told of each
    contribution: the node, the place of the input, the gradient that arrived and the one that goes on.
    """
    goals = None if wanted is None else set(wanted)
    nodes = newest_first(seeds)
    leading = None if goals is None else _leading_to(goals, nodes)
    found: dict[Node, Tensor] = {}
    owned = {_memory(seed) for seed in seeds.values()}  # that of whoever called
    arriving = Arrivals(seeds, in_place=watch is None and not create_graph)
    with Recording(create_graph), nullcontext() if create_graph else as_plain():
        for node in nodes:
            if node not in arriving.sums:
                continue
            gradient = _hooked(node, arriving.sums.pop(node))
            if goals is not None and node in goals:
                found[node] = gradient
            elif goals is None and node.keeps_grad:
                deposit(node, gradient, owned)
            if node.rule is None:
                continue
            _prepare(node)
            output = node.output() if create_graph else node.value
            for position, parent in _ways_on(node, leading):
                if arriving.took_part(parent, gradient, node):
                    continue
                contribution = node.rule.contribution(position, gradient, output, node)
                if watch is not None:
                    watch(node, position, gradient, contribution)
                arriving.add(parent, contribution, node.rule)
            if not retain_graph:
                _spend(node)
    return found


def _ways_on(node: Node, leading: set[Node] | None) -> list[tuple[int, Node]]:
    """The inputs that want a gradient, each with its place; of these only those that lead to a goal."""
    parents = enumerate(node.parents)
    return [(at, one) for at, one in parents if one is not None and (leading is None or one in leading)]


def _hooked(node: Node, gradient: Tensor) -> Tensor:
    for hook in node.hooks or ():
        replaced = hook(gradient)
        gradient = gradient if replaced is None else replaced
    return gradient


def newest_first(seeds: Iterable[Node]) -> list[Node]:
    """All nodes that lead to these, each after all that was made from it: then its gradient is complete."""
    seen = set(seeds)
    waiting = list(seen)
    while waiting:
        for parent in waiting.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return sorted(seen, key=lambda node: node.number, reverse=True)


def _leading_to(goals: set[Node], nodes: Sequence[Node]) -> set[Node]:
    """Those that have something to do with the goals: the others need no gradient."""
    leading = set(goals)
    for node in reversed(nodes):
        if any(parent in leading for parent in node.parents):
            leading.add(node)
    return leading


def deposit(node: Node, gradient: Tensor, owned: set[int]) -> None:
    """Add to what a leaf has. Two leaves must not share memory: whoever clips one would clip the other."""
    if node.grad is not None:
        if type(node.grad) is Tensor and type(gradient) is Tensor:
            node.grad.add_(gradient)  # as torch: who holds on to a gradient sees what is added
        else:
            node.grad = node.grad + gradient
        return
    memory = _memory(gradient)
    if memory in owned or not gradient.is_contiguous():
        gradient = gradient.clone(memory_format=torch.contiguous_format)
    owned.add(memory)
    # Not as a view, which torch does not let be detached in place.
    node.grad = gradient.data if type(gradient) is Tensor else gradient


def _memory(value: Tensor) -> int:
    return value.untyped_storage().data_ptr()


def _spend(node: Node) -> None:
    """Let go of what was needed for the way back. Small things stay, for those who want it explained."""
    node.is_spent = True
    if node.value.numel() > SMALL or any(_is_large_step(one) for one in node.inputs):
        node.inputs, node.value = (), _nothing


def _is_large_step(value: Any) -> bool:
    """Something computed that only the graph holds on to, and that is worth letting go."""
    node = getattr(value, "_node", None)
    return node is not None and node.rule is not None and value.numel() > SMALL


def _prepare(node: Node) -> None:
    """See that the values of a node are there, and what they were."""
    if node.refill is not None:
        node.refill()
    if node.is_spent:
        raise AutogradError(
            f"the graph at {node} was walked back already, and its values are gone: pass retain_graph=True "
            "to the first backward(), or compute the loss again."
        )
    if _versions(node) != node.versions:
        raise AutogradError(
            f"an input or the result of {node} was changed in place after that, so the gradient would be "
            "wrong: make a new tensor (x = x + 1, not x += 1), or step the optimizer after backward()."
        )


_DATA: Final[Any] = Tensor.data  # torch's own attribute, beneath ours
_NO_GRADIENT: Final = "this tensor wants no gradient: x.requires_grad_() first."


class Hook:
    """A function that is called with a gradient, until it is removed."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook
        hooks.append(hook)

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


def _again(kind: type[Tensor], value: Tensor, requires_grad: bool) -> Tensor:
    with as_plain():
        made = Tensor._make_subclass(kind, value)
    return made.requires_grad_(requires_grad)


class tracer(Tensor):  # noqa: N801  (the name that its users know)
    """A tensor whose operations are remembered, if it or an input of theirs requires a gradient.

    Whatever is called with one, `x * 2`, `x.sum()`, `torch.exp(x)`, `F.relu(x)`, torch hands to
    `__torch_function__`, which looks up the rule.
    """

    _node: Node | None = None  # of a tensor that wants a gradient, or was made from one that does
    _resting: Node | None = None  # that of a leaf that has stopped wanting one, and may begin again

    @staticmethod
    def __new__(
        cls: type[tracer], data: Any, *, requires_grad: bool = False, dtype: Any = None, device: Any = None
    ) -> tracer:
        """A tensor or an array keeps its memory and type; numbers and lists become floats."""
        with as_plain():
            is_typed = hasattr(data, "dtype") or dtype is not None
            value = torch.as_tensor(data, dtype=dtype, device=device)
            if not is_typed and not value.is_complex():
                value = value.to(torch.get_default_dtype())
            made = Tensor._make_subclass(cls, value)
        return made.requires_grad_() if requires_grad else made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not kwargs:
            return handler_of(func)(*args)
        if kwargs.get("out") is not None:
            return written_out(func, args, kwargs)
        args, kwargs = settled(args, kwargs)
        return handler_of(func)(*args, **kwargs)

    if TYPE_CHECKING:  # `x.Sum()` and its like, which capitalised_names.py puts there

        def __getattr__(self, name: str) -> Any: ...

    # What torch keeps of its own autograd has another meaning here: it is about our node.

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted, of this or of something that it was made from."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> tracer:
        """Want a gradient of this tensor. What was computed from it before does not know."""
        if not requires_grad:
            if not self.is_leaf:
                raise AutogradError(
                    "only a leaf can stop wanting a gradient: use x.detach() for a computed tensor."
                )
            # What was computed before leads to this node still: it is kept, and takes nothing meanwhile.
            if self._node is not None:
                self._node.keeps_grad = False
                self._node, self._resting = None, self._node
        elif self._resting is not None:
            self._resting.keeps_grad, self._resting.value = True, self.data
            self._node, self._resting = self._resting, None
        elif self._node is None:
            with as_plain():
                if not self.is_floating_point():
                    raise InputError(
                        f"a tensor of {self.dtype} has no gradient, only one of floats has: "
                        "tracer(data, dtype=torch.float32)."
                    )
                self._node = Node(None, (), {}, self.data, ())
        return self

    @property
    def grad(self) -> Tensor | None:
        """What backward() has brought here so far; None before that. It adds up until it is set to None."""
        node = self._node or self._resting
        return None if node is None else node.grad

    @grad.setter
    def grad(self, gradient: Tensor | None) -> None:
        if gradient is not None and gradient.shape != self.shape:
            raise InputError(
                f"a gradient of shape {tuple(gradient.shape)} for a tensor of {tuple(self.shape)}."
            )
        node = self._node or self._resting
        if node is not None:
            node.grad = gradient
        elif gradient is not None:
            raise InputError(_NO_GRADIENT)

    @property
    def grad_fn(self) -> Node | None:  # type: ignore[override]
        """Where it came from; None for a leaf."""
        return None if self.is_leaf else self._node

    @property
    def is_leaf(self) -> bool:  # type: ignore[override]
        """Whether it was made by hand, not by an op that was remembered."""
        return self._node is None or self._node.rule is None

    @property
    def data(self) -> Tensor:
        """The same memory as an ordinary tensor; writing into it is not noticed."""
        with as_plain():
            return cast(Tensor, _DATA.__get__(self)).as_subclass(Tensor)

    @data.setter
    def data(self, value: Tensor) -> None:
        with as_plain():
            _DATA.__set__(self, value)
            if self._node is not None:
                self._node.value = self.data

    def detach(self) -> Self:
        """The same values, of which nobody knows where they came from."""
        with as_plain():
            return Tensor._make_subclass(type(self), self)

    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor, too, when the walk back comes by."""
        if self._node is None:
            raise AutogradError(_NO_GRADIENT)
        self._node.keeps_grad = True

    @property
    def retains_grad(self) -> bool:  # type: ignore[override]
        """Whether a computed tensor keeps its gradient."""
        return not self.is_leaf and self._node is not None and self._node.keeps_grad

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call it with the gradient of this tensor when that is known; what it returns takes its place."""
        if self._node is None:
            raise AutogradError(_NO_GRADIENT)
        if self._node.hooks is None:
            self._node.hooks = []
        return Hook(self._node.hooks, hook)

    def explain(self, path: Any = None, **options: Any) -> Any:
        """Show how the gradients of this number come about, step by step, as a page; or write it to `path`.

        Names of tensors are those of the variables where this is called.
        """
        # The one call that points up: the page of a lesson stands above the engine.
        learning = importlib.import_module("torcheer.learn.explain")
        caller = sys._getframe(1)
        return learning.explain(self, path, names={**caller.f_globals, **caller.f_locals}, **options)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        with as_plain():
            inside = repr(self.data)
        start = inside.index("(") + 1
        if self._node is None:
            of_graph = ""
        else:
            of_graph = ", requires_grad=True" if self.is_leaf else f", grad_fn={self._node}"
        return f"{type(self).__name__}({inside[start:-1]}{of_graph})"

    def __format__(self, spec: str) -> str:
        # torch writes a single number as a number, but only one of its own class.
        if self.dim() == 0:
            return format(self.item(), spec)
        return format(str(self), spec)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if not self.is_leaf:
            raise AutogradError("only leaves can be copied with all that they are: use x.detach().clone().")
        if id(self) not in memo:
            with as_plain():
                copied = Tensor._make_subclass(type(self), self.data.clone())
            if self._node is not None:
                copied.requires_grad_()
                copied.grad = None if self.grad is None else self.grad.clone()
            memo[id(self)] = copied
        return cast(Self, memo[id(self)])

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise AutogradError("a graph cannot be stored: use x.detach() to store the values.")
        return _again, (type(self), self.data, self._node is not None)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        *,
        show: bool = False,
    ) -> None:
        """Compute the gradient of this number by every leaf that it was made from, and add it to its `grad`.

        `show` prints the ops that it passes. `gradient` is what to start with where this is no single number.
        """
        seeds = seeds_of([self], [gradient])
        goals = None if inputs is None else nodes_of([inputs] if isinstance(inputs, Tensor) else inputs)
        keep = create_graph if retain_graph is None else retain_graph
        if show:
            importlib.import_module("torcheer.autograd.show").print_way_back(seeds)
        found = walk_back(seeds, create_graph=create_graph, retain_graph=keep, wanted=goals)
        owned = {_memory(seed) for seed in seeds.values()}
        for node, arrived in found.items():
            deposit(node, arrived, owned)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    *,
    only_inputs: bool = True,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs by inputs, returned and added to no `grad`. Outputs count by their sum.

    An input that has no part in them is an error, unless it may be unused: None, or zeros if materialised.
    `only_inputs` is always so, and taken for torch's sake.
    """
    ends, starts = _as_list(outputs), _as_list(inputs)
    seeds = seeds_of(ends, [None] * len(ends) if grad_outputs is None else _as_list(grad_outputs))
    keep = create_graph if retain_graph is None else retain_graph
    goals = nodes_of(starts)
    found = walk_back(seeds, create_graph=create_graph, retain_graph=keep, wanted=goals)
    gradients = tuple(found.get(node) for node in goals)
    missing = [place for place, gradient in enumerate(gradients) if gradient is None]
    if missing and materialize_grads:
        with as_plain():
            zeros = [torch.zeros_like(one) for one in starts]
        return tuple(zeros[at] if one is None else one for at, one in enumerate(gradients))
    if missing and not allow_unused:
        raise AutogradError(
            f"input {missing[0]} has no part in the outputs: leave it out, or pass allow_unused=True, which "
            "gives None for it."
        )
    return gradients


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) else list(value)

"""Which function of ours a call of torch's leads to: `x + y`, `x.add(y)` and `torch.add(x, y)` are one.

Also sorts out what such calls are given: sizes, dimensions, indices, and flags that cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import torch
import torch.overrides
from torch import Tensor

from torcheer.autograd.modes import as_plain, modes
from torcheer.errors import AutogradError, InputError


def sizes(given: tuple[Any, ...], named: dict[str, Any] | None = None) -> tuple[int, ...]:
    """`x.view(2, 3)`, `x.view((2, 3))` and `x.view(size=(2, 3))` alike."""
    given = given or tuple((named or {}).values())
    if len(given) == 1 and isinstance(given[0], Sequence):
        return tuple(int(one) for one in given[0])
    return tuple(int(one) for one in given)


def place_of(dim: int, num_dims: int) -> int:
    """A dimension counted from the front. A single number has one, too, as far as torch is concerned."""
    dims = max(num_dims, 1)
    if not -dims <= dim < dims:
        raise InputError(
            f"there is no dimension {dim} in a tensor of {num_dims}: use one from {-dims} to {dims - 1}."
        )
    return int(dim) % dims


def places_of(dims: Any, num_dims: int) -> tuple[int, ...]:
    """Several of them; none named means all."""
    if dims is None or (isinstance(dims, Sequence) and len(dims) == 0):
        return tuple(range(num_dims))
    named = dims if isinstance(dims, Sequence) else (dims,)
    return tuple(place_of(one, num_dims) for one in named)[:num_dims]


def plain(value: Any) -> Tensor:
    """An index or a mask without its history: there is no gradient by it."""
    with as_plain():
        return value.as_subclass(Tensor) if isinstance(value, Tensor) else torch.as_tensor(value)


def plain_key(key: Any) -> Any:
    """An index as it stands between brackets."""
    if isinstance(key, tuple):
        return tuple(plain_key(one) for one in key)
    return plain(key) if isinstance(key, Tensor) else key


def recipe(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A rule for this very call, in which only the gradient is left open."""
    path = torch.overrides.resolve_name(func) or f"torch.{name}"
    names = ["a", "b", *(f"x{place}" for place in range(2, len(args)))][: max(1, len(args))]
    inputs = ", ".join(names + ["**options"] * bool(kwargs))
    # Inputs have their gradients by place: each up to the last tensor has one.
    last = max((place for place, one in enumerate(args) if isinstance(one, Tensor)), default=0)
    ways = ", ".join(
        rf"{one}=(lambda g, c, {inputs}: g * ..., r'\bar c \cdot ...')" for one in names[: last + 1]
    )
    return (
        "    from torcheer.autograd import rule\n"
        f"    rule({name!r}, forward=lambda {inputs}: {path}({inputs}),  # the op itself\n"
        f"         {ways})  # its gradient, a formula"
    )


Handler = Callable[..., Any]
H = TypeVar("H", bound=Handler)

CALLS: Final[dict[str, Handler | Asking]] = {}  # filled by rules.py and composed/
_found: Final[dict[Any, Handler]] = {}  # for torch's functions, as they are met

# Questions about a tensor, and ops whose results are no smooth function of it: done as on an ordinary tensor.
PLAIN: Final = frozenset(
    """
    __len__ __bool__ __int__ __float__ __index__ __contains__ __format__ __hash__ __dir__ __array__
    __complex__ __dlpack__ __dlpack_device__ _is_view _is_zerotensor _nnz
    shape dtype device ndim layout is_cuda is_cpu is_mps is_meta is_sparse is_sparse_csr is_quantized
    is_mkldnn is_nested itemsize nbytes names _version _base volatile output_nr name is_mtia is_xpu is_vulkan
    is_maia is_ipu is_xla
    size dim numel nelement element_size stride storage_offset data_ptr untyped_storage storage is_contiguous
    is_floating_point is_complex is_inference is_pinned is_shared is_same_size is_set_to get_device
    ndimension is_conj is_neg is_signed is_nonzero is_tensor is_distributed is_coalesced sparse_dim dense_dim
    qscheme storage_type _typed_storage dim_order requires_grad grad_fn is_leaf retains_grad _backward_hooks
    _cdata
    item tolist has_names
    eq ne lt le gt ge equal allclose isclose isnan isinf isfinite isposinf isneginf isreal isin greater
    greater_equal less less_equal not_equal logical_not logical_and logical_or logical_xor bitwise_and
    bitwise_or bitwise_not
    __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__ __rand__ __ror__ __rxor__
    argmax argmin argsort argwhere nonzero unique unique_consecutive bincount histc searchsorted bucketize
    count_nonzero any all one_hot multinomial bernoulli poisson signbit heaviside nextafter gcd lcm histogram
    __lshift__ __rshift__ bitwise_xor bitwise_left_shift bitwise_right_shift
    zeros_like ones_like full_like rand_like randn_like randint_like empty_like new_zeros new_ones new_full
    new_empty new_tensor new_empty_strided new
    long int bool short byte char
    result_type can_cast promote_types broadcast_shapes broadcast_tensors_shapes manual_seed
    has_torch_function
    """.split()
)


class Asking(NamedTuple):
    """A handler that has torch's own function say what to do: it gets it first."""

    handler: Handler


def call(*names: str, replace: bool = False, asks: bool = False) -> Callable[[H], H]:
    """Say that these calls of torch's lead to a function of ours; one that `asks` gets torch's own first.

    A name belongs to one function: of two, the order of imports would decide. `replace`: this one is to take
    the place of what the names lead to so far, as a function that sorts out arguments does of a row of the
    table.
    """

    def register(handler: H) -> H:
        taken = [name for name in names if name in CALLS]
        if taken and not replace:
            raise InputError(f"{taken[0]} leads to a function already: enter it once, or pass replace=True.")
        CALLS.update(dict.fromkeys(names, Asking(handler) if asks else handler))
        _found.clear()  # a call that was refused before may have its rule now
        return handler

    return register


def enter(table: Mapping[str, Handler], *, replace: bool = False) -> None:
    """Several of them: `{"exp2 special_exp2": lambda a: …}`."""
    for names, handler in table.items():
        call(*names.split(), replace=replace)(handler)


def name_of(func: Any) -> str:
    """What a call is called: `add` for `Tensor.add` and `torch.add`, `T` for the attribute."""
    name = str(getattr(func, "__name__", func))
    if name in ("__get__", "__set__", "__delete__"):
        owner = getattr(getattr(func, "__self__", None), "__name__", "")
        return owner if name == "__get__" else f"{name} {owner}"
    return name


def handler_of(func: Any) -> Handler:
    """What a call of torch's on a tracer does."""
    handler = _found.get(func)
    if handler is None:
        handler = _found[func] = _look_up(func)
    return handler


def settled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as our functions take them: operands by their places, and nothing to write into."""
    rest = {name: value for name, value in kwargs.items() if name not in ("out", "inplace")}
    if kwargs.get("inplace"):
        raise InputError("inplace=True writes over its input, which the gradient needs: leave it out.")
    for name in ("input", "other", "exponent"):
        if name in rest:
            args = (*args, rest.pop(name))
    return args, rest


def written_out(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with `out=`, as a DataLoader makes to gather a batch: of what wants no gradient, as torch's."""
    out = kwargs["out"]
    if modes.recording and wants_gradient((args, kwargs)) and not _is_leaf_of_a_script(out):
        raise AutogradError("out= writes into a tensor, which has no gradient: assign the result instead.")
    if kwargs.get("requires_grad") is not None and isinstance(out, Tensor):
        kwargs = {**kwargs, "requires_grad": False}  # torch's own; ours is known to the tensor
    with as_plain():
        return func(*args, **kwargs)


def _look_up(func: Any) -> Handler:
    name = name_of(func)
    is_method = getattr(func, "__qualname__", "").startswith(("TensorBase.", "Tensor."))
    found = (CALLS.get(f"Tensor.{name}") if is_method else None) or CALLS.get(name)
    if isinstance(found, Asking):
        return partial(found.handler, func)
    if found is not None:
        return found
    if name in PLAIN:
        return _plainly(func)
    if getattr(func, "__module__", "") == "torch.nn.init":
        return _first_values(func)
    if name.endswith("_") and not name.endswith("__"):
        return _in_place(func, name)
    if name in ("__setitem__", "__delitem__") or (
        name.startswith("__i") and name not in ("__invert__", "__index__")
    ):
        return _in_place(func, name)
    return _without_rule(func, name)


def _plainly(func: Any) -> Handler:
    def answer(*args: Any, **kwargs: Any) -> Any:
        with as_plain():
            return func(*args, **kwargs)

    return answer


def _first_values(func: Any) -> Handler:
    """Those of `torch.nn.init` write into a parameter before anything is computed from it, and return it."""

    def write(*args: Any, **kwargs: Any) -> Any:
        with as_plain():
            func(*args, **kwargs)
        return args[0] if args else kwargs["tensor"]

    return write


def _in_place(func: Any, name: str) -> Handler:
    def write(*args: Any, **kwargs: Any) -> Any:
        if modes.recording and wants_gradient((args, kwargs)) and not _is_leaf_of_a_script(args[0]):
            raise AutogradError(
                f"{name} writes into a tensor, and the value that it had is needed for the gradient: make a "
                "new tensor instead (x = x + 1, torch.where, torch.cat); to change a parameter, do it inside "
                "of torcheer.autograd.no_grad()."
            )
        with as_plain():
            func(*args, **kwargs)
        return args[0]

    return write


def _is_leaf_of_a_script(value: Any) -> bool:
    """A parameter, or a view of one, that is written by hand inside of torch's own `no_grad()`."""
    node = getattr(value, "_node", None)
    if torch.is_grad_enabled():
        return False
    while node is not None and node.rule is not None:
        parents = [parent for parent in node.parents if parent is not None]
        if len(parents) != 1 or not _is_same_memory(node.value, parents[0].value):
            return False
        node = parents[0]
    return True


def _is_same_memory(one: Tensor, other: Tensor) -> bool:
    with as_plain():
        return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _without_rule(func: Any, name: str) -> Handler:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        if modes.recording and wants_gradient((args, kwargs)):
            raise AutogradError(
                f"there is no rule for {name}. To write one, say how the gradient g of its output c becomes "
                f"one of its input a:\n{recipe(func, name, args, kwargs)}\n"
                "or compute it inside of torcheer.autograd.no_grad(), if it needs no gradient."
            )
        with as_plain():
            return func(*args, **kwargs)

    return refuse


def wants_gradient(value: Any) -> bool:
    """Whether there is a tracer in it that requires a gradient."""
    return any(getattr(one, "_node", None) is not None for one in tensors_in(value))


def replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Arguments with others in place of their tensors, in the same order."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: replaced(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(one, change) for one in value]
    return value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All tensors of arguments, also those in lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)


# What computes forward, layers and optimizers, and nothing of its autograd. A test reads the sources and
# holds them against this list; whoever needs one more function adds it here.

# What the engine and the rules are made of.
_USED: Final = """
    abs add amax amin arange as_tensor asin atan atan2 atleast_1d atleast_2d atleast_3d broadcast_shapes cat
    ceil chunk clamp clamp_min clone cos cummax cummin cumsum diagonal div einsum embedding_renorm_ empty
    empty_like erf erfc exp expm1 eye flip floor full full_like gather isinf isnan isneginf isposinf
     log log1p log_softmax logsumexp matmul max maximum mean median min
    minimum movedim mul neg ones ones_like permute pow promote_types randn randperm relu
    repeat_interleave reshape roll round sigmoid sign sin softmax sort split sqrt square squeeze
    stack sum tanh
    tensor topk trunc unravel_index where zeros zeros_like nn.functional
    nn.functional.adaptive_avg_pool1d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
    nn.functional.avg_pool2d nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.fold
    nn.functional.interpolate nn.functional.linear nn.functional.max_pool1d nn.functional.max_pool2d
    nn.functional.normalize nn.functional.pad nn.functional.unfold Generator Tensor bfloat16 bool
    contiguous_format dtype finfo float16 float32 float64 channels_last get_default_dtype get_rng_state int64
    set_rng_state __file__
"""

# What nn and optim stand on: layers that compute with our tensors, and steps that move them.
_LAYERS: Final = """
    nn nn.Module nn.Parameter nn.Sequential nn.init nn.utils optim optim.Adam optim.Optimizer optim.SGD
    optim.lr_scheduler
"""

# How a call on a tracer comes to us, and how a tracer is an ordinary tensor inside of a rule.
_DISPATCH: Final = """
    _C.DisableTorchFunctionSubclass _C._EnableTorchFunction _C._is_torch_function_enabled
    _C._VariableFunctions overrides overrides.resolve_name
"""

# Of torch's own autograd only whether it is off: parameters may be written to where a script has it so.
_MODES: Final = "is_grad_enabled no_grad"

# What a script that moved over (`import torcheer.autograd as torch`) finds here as torch's own.
_OFFERED: Final = """
    Size device dtype Generator Tensor finfo iinfo layout memory_format strided contiguous_format
    channels_last preserve_format float float16 float32 float64 double half bfloat16 bool uint8 int8 int16
    int32 int64 short int long complex64 complex128 inf nan pi e newaxis FloatTensor DoubleTensor LongTensor
    IntTensor BoolTensor ByteTensor manual_seed seed initial_seed get_rng_state set_rng_state
    get_default_dtype set_default_dtype get_num_threads set_num_threads set_printoptions is_tensor
    is_floating_point numel save load compile cuda backends random utils linalg special version __version__
    testing accelerator mps cpu randint randint_like randperm bernoulli multinomial poisson tril_indices
    triu_indices hann_window hamming_window argmax argmin argsort argwhere nonzero unique unique_consecutive
    bincount histc histogram searchsorted bucketize count_nonzero any all isin eq ne lt le gt ge equal
    allclose isclose greater greater_equal less less_equal not_equal isnan isinf isfinite isposinf isneginf
    isreal logical_not logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor
    heaviside signbit gcd lcm nextafter result_type can_cast promote_types broadcast_shapes is_nonzero
    is_same_size logspace empty_strided
"""

WHITELIST: Final = tuple(
    sorted(
        {f"torch.{name}" for part in (_USED, _LAYERS, _DISPATCH, _MODES, _OFFERED) for name in part.split()}
    )
)

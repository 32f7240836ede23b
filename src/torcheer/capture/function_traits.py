"""What is known of a torch function before it runs: its name, and how it must be handled.

Learned once for each function that is met, then one dictionary look-up an op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from types import FunctionType
from typing import Any

import torch.nn.functional as F
from torch._ops import OpOverload, OpOverloadPacket

from torcheer.graph import type_of_function


class Kind(IntEnum):
    """How a call is handled; the order is the order of likelihood."""

    OP = 0  # record its output
    CAREFUL = 1  # record, but it may write into a tensor, draw random numbers or share its memory
    SKIP = 2  # never makes a tensor
    OPEN = 3  # written in Python: look inside
    READ = 4  # a tensor's value goes to Python


@dataclass(slots=True, eq=False)
class Trait:
    """One torch function. A plain slotted record: it is touched on the hot path."""

    func: Any
    name: str
    kind: Kind
    type: str = field(init=False)
    writes: bool = False  # into its first argument
    write_args: tuple[int | str, ...] = ()  # arguments that its schema says it writes into
    side_writes: tuple[int, ...] = ()  # buffers that it updates on the side, as batch_norm does
    is_random: bool = field(init=False)
    is_calm: Callable[[tuple[Any, ...], dict[str, Any]], bool] | None = field(init=False)
    exposes: bool = False  # hands its memory to somebody whose writes nobody sees

    def __post_init__(self) -> None:
        self.type = type_of_function(self.name) or self.name
        self.is_random = self.name in RANDOM
        self.is_calm = _CALM.get(self.name)


RANDOM = frozenset(
    (
        "dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout feature_dropout_ "
        "feature_alpha_dropout feature_alpha_dropout_ native_dropout dropout1d dropout2d dropout3d "
        "bernoulli bernoulli_ multinomial normal normal_ uniform_ rand rand_like randn randn_like randint "
        "randint_like randperm poisson exponential_ geometric_ log_normal_ cauchy_ random_ rrelu rrelu_ "
        "rrelu_with_noise rrelu_with_noise_ binomial _sample_dirichlet _standard_gamma "
        "fractional_max_pool2d fractional_max_pool3d gumbel_softmax scaled_dot_product_attention lstm gru "
        "rnn_tanh rnn_relu trunc_normal_ kaiming_uniform_ kaiming_normal_ xavier_uniform_ xavier_normal_ "
        "orthogonal_ sparse_ _fused_sdp_choice"
    ).split()
)
# Name ends in an underscore, but no value changes.
_NO_WRITE = frozenset(["requires_grad_", "share_memory_", "rename_"])
_WRITE_DUNDERS = frozenset(
    (
        "__setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ "
        "__ior__ __ixor__ __ilshift__ __irshift__ __imatmul__"
    ).split()
)
# Written in Python, but their inside is no part of the model's mathematics, or is made of no torch calls.
_CLOSED = frozenset(
    (
        "__repr__ __str__ __format__ __deepcopy__ __reduce_ex__ __reduce__ __setstate__ __array__ "
        "__array_wrap__ __dlpack__ __dlpack_device__ __len__ __hash__ __dir__ backward grad register_hook "
        "retain_grad storage _typed_storage storage_type share_memory_ is_shared "
        "register_post_accumulate_grad_hook _reduce_ex_internal __cuda_array_interface__ module_load "
        "dim_order"
    ).split()
)
# Written in Python around a single operation, whatever their arguments: there is nothing to open.
_SINGLE = frozenset(
    getattr(F, name)
    for name in (
        "relu relu6 leaky_relu elu selu celu silu mish glu sigmoid tanh hardtanh hardswish hardsigmoid "
        "softmax log_softmax layer_norm group_norm batch_norm dropout max_pool1d max_pool2d max_pool3d "
        "adaptive_avg_pool2d adaptive_avg_pool3d"
    ).split()
)
_NO_TENSOR = frozenset(
    (
        "shape dtype device layout requires_grad is_leaf grad_fn ndim is_cuda is_sparse is_quantized "
        "is_meta is_nested is_cpu is_mkldnn is_mps is_xpu is_vulkan is_sparse_csr name names output_nr "
        "_version _backward_hooks retains_grad nbytes itemsize volatile _cdata is_ipu is_xla is_maia "
        "is_mtia _post_accumulate_grad_hooks size dim stride numel nelement element_size is_contiguous "
        "is_floating_point is_complex is_signed storage_offset data_ptr get_device is_inference is_pinned "
        "is_neg is_conj ndimension __len__ __repr__ __format__ is_same_size is_set_to has_names "
        "_set_grad_enabled __dlpack_device__ register_hook retain_grad type_promotion result_type "
        "promote_types can_cast get_default_dtype is_tensor is_storage is_grad_enabled __hash__ "
        "untyped_storage_offset set_default_dtype register_post_accumulate_grad_hook dim_order "
        "is_coalesced sparse_dim dense_dim _is_view _is_zerotensor _has_symbolic_sizes_strides"
    ).split()
)
_READS = frozenset(
    (
        "__bool__ __int__ __float__ __index__ __complex__ item tolist is_nonzero equal allclose __contains__"
    ).split()
)
_EXPOSES = frozenset(
    (
        "numpy __array__ __dlpack__ storage untyped_storage _typed_storage from_numpy from_dlpack "
        "frombuffer __cuda_array_interface__"
    ).split()
)
# Ordinary names that update running statistics all the same: name -> which arguments.
_SIDE_WRITES: dict[str, tuple[int, ...]] = {
    "batch_norm": (3, 4),
    "instance_norm": (3, 4),
    "native_batch_norm": (3, 4),
    "_native_batch_norm_legit": (3, 4),
    "sync_batch_norm": (3, 4),
}

_known: dict[Any, Trait] = {}
known_trait = _known.get  # for the hot path


def trait_of(func: Any) -> Trait:
    trait = _known.get(func)
    if trait is None:
        trait = _learn(func)
        if not isinstance(func, FunctionType) or "<locals>" not in func.__qualname__:
            # A function made inside another may be a new one each time: do not collect those.
            _known[func] = trait
    return trait


def own_trait(func: Callable[..., Any], layer_type: str) -> Trait:
    """The trait of a node that no torch call made: an input, a buffer, an output…"""
    trait = Trait(func, layer_type, Kind.OP)
    trait.type = layer_type
    return trait


def _learn(func: Any) -> Trait:
    name, is_setter = _name_of(func)
    trait = Trait(func, name, Kind.OP)
    if name in _NO_TENSOR and not is_setter:
        trait.kind = Kind.SKIP
    elif name in _READS:
        trait.kind = Kind.READ
    elif isinstance(func, FunctionType) and name not in _CLOSED and func not in _SINGLE:
        trait.kind = Kind.OPEN
    _learn_writes(trait, is_setter)
    careful = trait.writes or trait.write_args or trait.side_writes or trait.is_random or trait.exposes
    if trait.kind is Kind.OP and careful:
        trait.kind = Kind.CAREFUL
    return trait


def _learn_writes(trait: Trait, is_setter: bool) -> None:
    name, func = trait.name, trait.func
    trait.exposes = name in _EXPOSES
    if isinstance(func, OpOverload | OpOverloadPacket):
        trait.write_args = _schema_writes(func)
    elif is_setter:
        trait.writes = name == "data"
        trait.type = f"set{trait.type}"
    elif name.endswith("_") and not name.endswith("__"):
        trait.writes = name not in _NO_WRITE
    else:
        trait.writes = name in _WRITE_DUNDERS
        trait.side_writes = (1, 2) if func is F.batch_norm else _SIDE_WRITES.get(name, ())


def _schema_writes(func: OpOverload | OpOverloadPacket) -> tuple[int | str, ...]:
    overload: Any = func
    if isinstance(func, OpOverloadPacket):
        overload = getattr(func, func.overloads()[0])  # type: ignore[no-untyped-call]
    return tuple(
        position if not argument.kwarg_only else argument.name
        for position, argument in enumerate(overload._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def _name_of(func: Any) -> tuple[str, bool]:
    """The name of a torch function, and whether it sets a property."""
    name = getattr(func, "__name__", None) or type(func).__name__
    if name in ("__get__", "__set__", "__delete__"):
        return getattr(func.__self__, "__name__", name), name != "__get__"
    if isinstance(func, OpOverload):
        return func.overloadpacket.__name__, False
    return str(name), False


# Functions that write or draw random numbers only when told to: name -> whether this call does neither.
def _calm_dropout(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    told = kwargs.get("training", kwargs.get("train"))
    return not (told if told is not None else args[2] if len(args) > 2 else True)


def _calm_norm(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return not kwargs.get("training", kwargs.get("use_input_stats", args[5] if len(args) > 5 else True))


_CALM: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], bool]] = {
    **dict.fromkeys(["dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"], _calm_dropout),
    **dict.fromkeys(["batch_norm", "instance_norm", "_native_batch_norm_legit"], _calm_norm),
    # (input, hx, weights, has_biases, num_layers, dropout, train, …); a packed input comes with one more.
    **dict.fromkeys(
        ["lstm", "gru", "rnn_tanh", "rnn_relu"],
        lambda args, kwargs: not any(type(arg) is float and arg > 0 for arg in args),
    ),
    "scaled_dot_product_attention": lambda args, kwargs: (
        not kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
    ),
    "rrelu": lambda args, kwargs: not kwargs.get("training", args[3] if len(args) > 3 else False),
}


def is_random_call(trait: Trait, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this call really draws random numbers: dropout does so only in training."""
    if not trait.is_random:
        return False
    if trait.name.startswith(("dropout", "alpha_dropout", "feature_")):
        return not _calm_dropout(args, kwargs)
    return trait.is_calm is None or not trait.is_calm(args, kwargs)

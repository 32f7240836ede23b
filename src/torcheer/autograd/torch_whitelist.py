"""All that is used of torch: what computes forward, layers and optimizers, and nothing of its autograd.

A test reads the sources and holds them against this list; whoever needs one more function adds it here.
"""

from __future__ import annotations

from typing import Final

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
    nn.functional.pad nn.functional.unfold Generator Tensor bfloat16 bool contiguous_format dtype finfo
    float16 float32 float64 channels_last get_default_dtype get_rng_state int64 return_types
    return_types.aminmax set_rng_state __file__
"""

# What nn and optim stand on: layers that compute with our tensors, and steps that move them.
_LAYERS: Final = """
    nn nn.Module nn.Parameter nn.Sequential nn.init nn.utils optim optim.Adam optim.Optimizer optim.SGD
    optim.lr_scheduler
"""

# How a call on a tracer comes to us, and how a tracer is an ordinary tensor inside of a rule.
_DISPATCH: Final = """
    _C.DisableTorchFunctionSubclass _C._EnableTorchFunction _C._is_torch_function_enabled
    _C._VariableFunctions
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

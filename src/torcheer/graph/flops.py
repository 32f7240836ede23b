"""How many floating-point operations an op needs, from shapes alone.

The conventions, chosen so that `torch.utils.flop_counter` is the oracle for every matmul-like op:

- A multiply-add is two FLOPs and one MAC. Only ops that contract (matmul, convolution, attention,
  recurrent layers, einsum) have MACs; their FLOPs are twice the MACs, plus one a bias element added.
- What a fused op does around its matmuls is left out, as torch's counter leaves it out: softmax and
  mask in attention (a causal mask halves nothing), gates in recurrent layers, alpha and beta in addmm.
- Padding is counted as if it were data.
- Elsewhere one scalar operation on one element is one FLOP, also exp, gelu or a comparison.
- A reduction of n elements costs n times its scalar steps; what is done once a result is left out.
- Moving, making, indexing and casting data, and logic on bits, cost nothing.
- None means that nobody knows: the op is not in the table, depends on values (sort, unique), or its
  shapes do not fit. It never means zero.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt, prod
from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one execution of an op costs."""

    flops: int
    macs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a call as they were passed, with a placeholder where a tensor stood."""

    positional: Sequence[object] = ()
    keywords: Mapping[str, object] = field(default_factory=dict)

    def get(self, position: int, name: str, default: object = None) -> object:
        if position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    inputs: Sequence[Shape]
    output: Shape
    arguments: Arguments


_Rule: TypeAlias = Callable[[_Call], Work]


def work_of(op_type: str, inputs: Sequence[Shape], output: Shape, arguments: Arguments) -> Work | None:
    """What the op costs, or None if that is not known.

    `op_type` is torch's function name, lower case, without underscores. `inputs` are the shapes of all
    tensors in the call, positional ones first, in the order passed (conv2d: input, weight, maybe bias).
    `output` is the shape of the output, of the first one if there are several.
    """
    rule = _RULES.get(op_type)
    if rule is None:
        return None
    try:
        return rule(_Call(inputs=inputs, output=output, arguments=arguments))
    except (IndexError, TypeError, ValueError):
        # Inspecting never raises: a call that its rule did not foresee has an unknown cost.
        return None


# --- ops that contract -------------------------------------------------------------------------------


def _contraction(macs: int, *, added: int = 0) -> Work:
    return Work(flops=2 * macs + added, macs=macs)


def _bias(call: _Call) -> int:
    return prod(call.output) if len(call.inputs) > 2 else 0


def _convolution(call: _Call) -> Work:
    # The weight is [out, in / groups, *kernel]: what one output element sums over, groups included.
    return _contraction(prod(call.output) * prod(call.inputs[1][1:]), added=_bias(call))


def _transposed_convolution(call: _Call) -> Work:
    # The weight is [in, out / groups, *kernel]: what one input element is spread over.
    return _contraction(prod(call.inputs[0]) * prod(call.inputs[1][1:]), added=_bias(call))


def _any_convolution(call: _Call) -> Work:
    transposed = call.arguments.get(6, "transposed")
    return _transposed_convolution(call) if transposed else _convolution(call)


def _linear(call: _Call) -> Work:
    return _contraction(prod(call.output) * call.inputs[0][-1], added=_bias(call))


def _matmul(call: _Call) -> Work:
    return _contraction(prod(call.output) * call.inputs[0][-1])


def _reflected_matmul(call: _Call) -> Work:
    return _contraction(prod(call.output) * call.inputs[1][-1])


def _added_matmul(call: _Call) -> Work:
    # Not from the output: addbmm sums its batch away.
    _, left, right = call.inputs
    columns = right[-1] if len(right) > 1 else 1
    return _contraction(prod(left) * columns, added=prod(call.output))


def _tensordot(call: _Call) -> Work:
    # With free sizes a, b and contracted size c: (a c) (b c) (a b) = (a b c) squared, whatever `dims` says.
    left, right = call.inputs
    return _contraction(isqrt(prod(left) * prod(right) * prod(call.output)))


def _vecdot(call: _Call) -> Work:
    dim = call.arguments.keywords.get("dim", -1)
    if not isinstance(dim, int):
        raise TypeError(f"a dimension is an int, not {dim!r}")
    return _contraction(prod(call.output) * call.inputs[0][dim])


def _bilinear(call: _Call) -> Work:
    # Three factors a term: two multiplications and an addition.
    terms = prod(call.output) * prod(call.inputs[2][1:])
    return Work(flops=3 * terms + (prod(call.output) if len(call.inputs) > 3 else 0), macs=terms)


def _attention(call: _Call) -> Work:
    # Rows come from the output, which has the query's heads: key and value may have fewer (enable_gqa).
    query, key, value = call.inputs[:3]
    return _contraction(prod(call.output[:-1]) * key[-2] * (query[-1] + value[-1]))


def _at_every_step(sequence: Shape, weights: Sequence[Shape]) -> Work:
    """Every matrix and every bias is used once for each element of a batch at each step."""
    steps = prod(sequence[:-1])
    matrices = sum(prod(weight) for weight in weights if len(weight) == 2)
    biases = sum(prod(weight) for weight in weights if len(weight) == 1)
    return _contraction(steps * matrices, added=steps * biases)


def _recurrent(call: _Call) -> Work:
    # Before the first matrix stand the hidden states (3-D) and, for a packed sequence, its batch sizes.
    sequence, *rest = call.inputs
    first = [len(shape) for shape in rest].index(2)
    return _at_every_step(sequence, rest[first:])


def _recurrent_cell(*, num_states: int) -> _Rule:
    return lambda call: _at_every_step(call.inputs[0], call.inputs[1 + num_states :])


def _einsum_labels(term: str, rank: int) -> list[str]:
    before, dots, after = term.partition("...")
    num_hidden = rank - len(before) - len(after) if dots else 0
    # Counted from the right, as broadcasting is.
    return [*before, *(f"...{i}" for i in reversed(range(num_hidden))), *after]


def _einsum(call: _Call) -> Work:
    equation = call.arguments.get(0, "equation")
    if not isinstance(equation, str):
        raise TypeError("einsum over sublists of integers is not counted")
    sizes: dict[str, int] = {}
    terms = equation.replace(" ", "").split("->")[0].split(",")
    for term, shape in zip(terms, call.inputs, strict=True):
        for label, size in zip(_einsum_labels(term, len(shape)), shape, strict=True):
            if sizes.get(label, 1) == 1:
                sizes[label] = size
    num_terms, num_multiplications = prod(sizes.values()), len(call.inputs) - 1
    if num_terms == prod(call.output):
        # Nothing is summed: a permutation or an outer product, and torch runs it as one.
        return Work(flops=num_terms * num_multiplications)
    return Work(flops=num_terms * (num_multiplications + 1), macs=num_terms if num_multiplications else 0)


# --- ops on elements ---------------------------------------------------------------------------------


def _nothing(call: _Call) -> Work:
    return Work(flops=0)


def _per_output(flops: int) -> _Rule:
    return lambda call: Work(flops=flops * prod(call.output))


def _largest(call: _Call) -> int:
    return max(map(prod, [*call.inputs, call.output]))


def _per_element(flops: int) -> _Rule:
    """For what reads more than it writes; `max` of two tensors, which broadcasts, is right as well."""
    return lambda call: Work(flops=flops * _largest(call))


def _per_element_of(index: int) -> _Rule:
    return lambda call: Work(flops=prod(call.inputs[index]))


def _pairwise_distance(call: _Call) -> Work:
    # Subtract, square, add, for every coordinate of every pair.
    return Work(flops=3 * prod(call.output) * call.inputs[0][-1])


def _normalisation(flops: int) -> _Rule:
    """Weight and bias, where there are any, cost one each."""
    return lambda call: Work(flops=(flops + len(call.inputs) - 1) * prod(call.output))


# Mean (add), variance (subtract, square, add), scale (multiply); with known statistics the ends only.
_NORMALISE, _NORMALISE_BY_KNOWN = 5, 2


def _batch_norm(call: _Call) -> Work:
    # Three tensors are read as input and running statistics: torch passes those first or last.
    flops = _NORMALISE if call.arguments.get(5, "training", False) else _NORMALISE_BY_KNOWN
    return Work(flops=(flops + max(0, len(call.inputs) - 3)) * prod(call.output))


def _instance_norm(call: _Call) -> Work:
    num_extra = len(call.inputs) - 1
    by_input = call.arguments.get(5, "use_input_stats", True)
    num_statistics = 0 if by_input and num_extra < 3 else 2
    flops = _NORMALISE if by_input else _NORMALISE_BY_KNOWN
    return Work(flops=(flops + num_extra - num_statistics) * prod(call.output))


def _dropout(flops: int, *, trains_unasked: bool) -> _Rule:
    def rule(call: _Call) -> Work:
        training = call.arguments.get(2, "training", call.arguments.keywords.get("train", trains_unasked))
        return Work(flops=flops * prod(call.output) if training else 0)

    return rule


def _window(kernel: object, num_dims: int) -> int:
    if isinstance(kernel, int):
        return int(kernel**num_dims)
    if not isinstance(kernel, Sequence):
        raise TypeError(f"a kernel size is an int or several, not {kernel!r}")
    return int(prod(kernel) ** (num_dims if len(kernel) == 1 else 1))


def _pool(num_dims: int, *, flops: int = 1, position: int = 1) -> _Rule:
    def rule(call: _Call) -> Work:
        kernel = call.arguments.get(position, "kernel_size")
        return Work(flops=flops * prod(call.output) * _window(kernel, num_dims))

    return rule


def _adaptive_windows(size: int, num_windows: int) -> int:
    # Neighbouring windows share elements where the sizes do not divide.
    return sum(-(-(i + 1) * size // num_windows) - i * size // num_windows for i in range(num_windows))


def _adaptive_pool(num_dims: int) -> _Rule:
    def rule(call: _Call) -> Work:
        shape = call.inputs[0]
        windows = map(_adaptive_windows, shape[-num_dims:], call.output[-num_dims:])
        return Work(flops=prod(shape[:-num_dims]) * prod(windows))

    return rule


def _embedding_bag(call: _Call) -> Work:
    # torch.embedding_bag takes (weight, indices), F.embedding_bag (indices, weight). A weight is 2-D.
    first, second = call.inputs[:2]
    return Work(flops=prod(second if len(second) == 1 else first) * call.output[-1])


# A weighted sum of n neighbours is n multiplications and n - 1 additions.
_INTERPOLATIONS: dict[object, _Rule] = {
    "nearest": _nothing,
    "nearest-exact": _nothing,
    "linear": _per_output(3),
    "bilinear": _per_output(7),
    "bicubic": _per_output(31),
    "trilinear": _per_output(15),
    "area": lambda call: _adaptive_pool(len(call.output) - 2)(call),
}


def _interpolate(call: _Call) -> Work:
    mode = call.arguments.get(3, "mode", "nearest")
    if mode not in _INTERPOLATIONS:
        raise ValueError(f"interpolation by {mode!r} is not counted")
    return _INTERPOLATIONS[mode](call)


# --- the table ---------------------------------------------------------------------------------------


def _each(rule: _Rule, names: str) -> dict[str, _Rule]:
    return dict.fromkeys(names.split(), rule)


_CONTRACTIONS: dict[str, _Rule] = {
    **_each(_convolution, "conv1d conv2d conv3d"),
    **_each(_transposed_convolution, "convtranspose1d convtranspose2d convtranspose3d"),
    "convolution": _any_convolution,
    "linear": _linear,
    **_each(_matmul, "matmul linalgmatmul mm bmm mv dot vdot inner"),
    "rmatmul": _reflected_matmul,
    **_each(_added_matmul, "addmm baddbmm addbmm addmv"),
    "tensordot": _tensordot,
    **_each(_vecdot, "linalgvecdot vecdot"),
    "bilinear": _bilinear,
    "einsum": _einsum,
    **_each(
        _attention,
        "scaleddotproductattention scaleddotproductflashattention scaleddotproductflashattentionforcpu "
        "scaleddotproductefficientattention scaleddotproductcudnnattention",
    ),
    **_each(_recurrent, "lstm gru rnntanh rnnrelu"),
    "lstmcell": _recurrent_cell(num_states=2),
    **_each(_recurrent_cell(num_states=1), "grucell rnntanhcell rnnrelucell"),
}

_ELEMENTWISE: dict[str, _Rule] = {
    **_each(
        _per_output(1),
        # arithmetic, with Python's reflected and in-place operators
        "add radd iadd sub subtract rsub isub mul multiply rmul imul div divide truedivide truediv rdiv "
        "rtruediv idiv itruediv floordivide floordiv rfloordiv ifloordiv remainder fmod mod rmod imod "
        "pow rpow ipow floatpower square neg negative abs absolute reciprocal sign sgn copysign ldexp "
        "outer ger kron diff "
        # scalar functions
        "exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 xlogy sqrt rsqrt sin cos tan asin acos "
        "atan atan2 arcsin arccos arctan arctan2 sinh cosh asinh acosh atanh arcsinh arccosh arctanh sinc "
        "erf erfc erfinv lgamma digamma polygamma hypot deg2rad rad2deg logit i0 angle "
        "round floor ceil trunc fix frac clamp clampmin clampmax clip maximum minimum fmax fmin "
        "heaviside nantonum "
        # comparisons
        "eq ne notequal lt less le lessequal gt greater ge greaterequal isnan isinf isfinite isclose "
        # activations
        "relu relu6 leakyrelu prelu rrelu elu celu selu gelu silu mish sigmoid tanh logsigmoid "
        "hardsigmoid hardswish hardtanh hardshrink softshrink tanhshrink softplus softsign threshold glu",
    ),
    **_each(_per_output(2), "addcmul addcdiv addr"),
    **_each(_per_output(3), "lerp cross linalgcross"),
    **_each(
        _dropout(2, trains_unasked=True),
        "dropout dropout1d dropout2d dropout3d featuredropout nativedropout",
    ),
    **_each(_dropout(3, trains_unasked=False), "alphadropout featurealphadropout"),
}

_REDUCTIONS: dict[str, _Rule] = {
    **_each(
        _per_element(1),
        "sum nansum mean nanmean prod amax amin aminmax max min argmax argmin countnonzero "
        "cumsum cumprod cummax cummin fold col2im",
    ),
    **_each(_per_element(2), "norm linalgvectornorm frobeniusnorm"),
    **_each(_per_element(3), "normalize weightnorm weightnorminterface dist pairwisedistance mseloss l1loss"),
    **_each(_per_element(4), "var std varmean stdmean logsumexp logcumsumexp kldiv"),
    **_each(_per_element(6), "cosinesimilarity smoothl1loss huberloss"),
    **_each(_per_element(9), "binarycrossentropy binarycrossentropywithlogits"),
    # largest, subtract, exp, add, divide (or, of the logarithm, subtract)
    **_each(_per_element(5), "softmax logsoftmax crossentropy crossentropyloss"),
    "softmin": _per_element(6),
    **_each(_per_element_of(1), "nllloss nlllossnd"),
    **_each(_per_element_of(2), "scatteradd indexadd scatterreduce indexreduce"),
    "cdist": _pairwise_distance,
    "embeddingbag": _embedding_bag,
}

_NORMALISATIONS: dict[str, _Rule] = {
    **_each(_normalisation(_NORMALISE), "layernorm groupnorm nativelayernorm nativegroupnorm"),
    "rmsnorm": _normalisation(3),
    **_each(_batch_norm, "batchnorm nativebatchnorm"),
    "instancenorm": _instance_norm,
}

_POOLS: dict[str, _Rule] = {
    f"{name}{n}d{suffix}": rule
    for n in (1, 2, 3)
    for name, suffix, rule in (
        ("maxpool", "", _pool(n)),
        ("maxpool", "withindices", _pool(n)),
        ("avgpool", "", _pool(n)),
        ("lppool", "", _pool(n, flops=2, position=2)),
        ("adaptiveavgpool", "", _adaptive_pool(n)),
        ("adaptivemaxpool", "", _adaptive_pool(n)),
        ("adaptivemaxpool", "withindices", _adaptive_pool(n)),
    )
}

_UPSAMPLES: dict[str, _Rule] = {
    **_each(_interpolate, "interpolate upsample"),
    **_each(
        _nothing,
        "upsamplenearest upsamplenearest1d upsamplenearest2d upsamplenearest3d "
        "upsamplenearestexact1d upsamplenearestexact2d upsamplenearestexact3d",
    ),
    "upsamplelinear1d": _INTERPOLATIONS["linear"],
    **_each(_INTERPOLATIONS["bilinear"], "upsamplebilinear upsamplebilinear2d"),
    "upsamplebicubic2d": _INTERPOLATIONS["bicubic"],
    "upsampletrilinear3d": _INTERPOLATIONS["trilinear"],
}

_MOVEMENTS: dict[str, _Rule] = _each(
    _nothing,
    # the same numbers, seen differently
    "view viewas viewasreal viewascomplex unsafeview reshape reshapeas flatten ravel unflatten squeeze "
    "unsqueeze transpose swapaxes swapdims t adjoint permute movedim moveaxis expand expandas broadcastto "
    "broadcasttensors asstrided unfold im2col narrow select diagonal detach alias real imag conj resolveconj "
    "resolveneg atleast1d atleast2d atleast3d chunk unsafechunk split unsafesplit splitwithsizes "
    "tensorsplit hsplit vsplit dsplit unbind positive pos requiresgrad "
    # copied, moved, cast
    "clone contiguous copy to tocopy type typeas cpu cuda float double half bfloat16 int long short bool "
    "char byte cat concat concatenate stack hstack vstack dstack columnstack rowstack repeat "
    "repeatinterleave tile roll flip fliplr flipud rot90 pad constantpadnd tril triu diag diagembed "
    "diagflat blockdiag meshgrid cartesianprod pixelshuffle pixelunshuffle channelshuffle set "
    # chosen and placed
    "getitem setitem index indexselect indexput indexcopy indexfill gather scatter take takealongdim put "
    "maskedfill maskedselect maskedscatter where nonzero argwhere selectscatter slicescatter "
    "diagonalscatter embedding onehot maxunpool1d maxunpool2d maxunpool3d "
    # made
    "zeros zeroslike newzeros ones oneslike newones empty emptylike newempty full fulllike newfull fill "
    "zero eye arange linspace logspace tensor astensor asarray fromnumpy newtensor scalartensor tolist item "
    "rand randlike randn randnlike randint randintlike randperm bernoulli normal uniform multinomial "
    "exponential complex "
    # bits
    "logicaland logicalor logicalxor logicalnot bitwiseand bitwiseor bitwisexor bitwisenot and or xor "
    "invert iand ior ixor all any equal",
)

_RULES: dict[str, _Rule] = {
    **_CONTRACTIONS,
    **_ELEMENTWISE,
    **_REDUCTIONS,
    **_NORMALISATIONS,
    **_POOLS,
    **_UPSAMPLES,
    **_MOVEMENTS,
}

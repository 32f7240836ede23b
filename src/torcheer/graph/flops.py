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
from functools import partial
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


# The shapes of the inputs, that of the output, and the other arguments. A number is one of FLOPs.
_Rule: TypeAlias = Callable[[Sequence[Shape], Shape, Arguments], Work | int]
_Count: TypeAlias = Callable[[Sequence[Shape], Shape, Arguments], int]


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
        work = rule(inputs, output, arguments)
        return Work(flops=work) if isinstance(work, int) else work
    except (IndexError, KeyError, TypeError, ValueError):
        # Inspecting never raises: a call that its rule did not foresee has an unknown cost.
        return None


def _macs(count: _Count, *, bias_at: int | None = None) -> _Rule:
    """Two FLOPs a MAC. With an input at `bias_at`, one more for each output."""

    def rule(x: Sequence[Shape], out: Shape, arguments: Arguments) -> Work:
        macs = count(x, out, arguments)
        has_bias = bias_at is not None and len(x) > bias_at
        return Work(flops=2 * macs + (prod(out) if has_bias else 0), macs=macs)

    return rule


def _convolution(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # The weight is [out, in / groups, *kernel]: what one output element sums over, groups included.
    return prod(out) * prod(x[1][1:])


def _transposed_convolution(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # The weight is [in, out / groups, *kernel]: what one input element is spread over.
    return prod(x[0]) * prod(x[1][1:])


def _any_convolution(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    return (_transposed_convolution if arguments.get(6, "transposed") else _convolution)(x, out, arguments)


def _matmul(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    return prod(out) * x[0][-1]


def _added_matmul(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # Not from the output: addbmm sums its batch away.
    _, left, right = x
    return prod(left) * (right[-1] if len(right) > 1 else 1)


def _tensordot(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # With free sizes a, b and contracted size c: (a c) (b c) (a b) = (a b c) squared, whatever `dims` says.
    left, right = x
    return isqrt(prod(left) * prod(right) * prod(out))


def _vecdot(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    dim = arguments.keywords.get("dim", -1)
    return prod(out) * x[0][dim]  # type: ignore[call-overload,no-any-return]  # TypeError: not known


def _attention(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # Rows come from the output, which has the query's heads: key and value may have fewer (enable_gqa).
    query, key, value = x[:3]
    return prod(out[:-1]) * key[-2] * (query[-1] + value[-1])


def _bilinear(x: Sequence[Shape], out: Shape, arguments: Arguments) -> Work:
    # Three factors a term: two multiplications and an addition.
    terms = prod(out) * prod(x[2][1:])
    return Work(flops=3 * terms + (prod(out) if len(x) > 3 else 0), macs=terms)


def _recurrent(first_weight: int | None) -> _Rule:
    """Every matrix and every bias is used once for each element of a batch at each step."""

    def rule(x: Sequence[Shape], out: Shape, arguments: Arguments) -> Work:
        # Before the first matrix stand the hidden states (3-D) and, for a packed sequence, its batch sizes.
        ranks = [len(shape) for shape in x]
        weights = x[ranks.index(2, 1) if first_weight is None else first_weight :]
        steps = prod(x[0][:-1])
        macs = steps * sum(prod(weight) for weight in weights if len(weight) == 2)
        return Work(
            flops=2 * macs + steps * sum(weight[0] for weight in weights if len(weight) == 1), macs=macs
        )

    return rule


def _einsum(x: Sequence[Shape], out: Shape, arguments: Arguments) -> Work:
    equation = arguments.get(0, "equation")
    if not isinstance(equation, str):
        raise TypeError("einsum over sublists of integers is not counted")
    sizes: dict[str, int] = {}
    terms = equation.replace(" ", "").split("->")[0].split(",")
    for term, shape in zip(terms, x, strict=True):
        before, dots, after = term.partition("...")
        num_hidden = len(shape) - len(before) - len(after) if dots else 0
        # Counted from the right, as broadcasting is.
        labels = [*before, *(f"...{i}" for i in reversed(range(num_hidden))), *after]
        for label, size in zip(labels, shape, strict=True):
            if sizes.get(label, 1) == 1:
                sizes[label] = size
    num_terms, num_multiplications = prod(sizes.values()), len(x) - 1
    if num_terms == prod(out):
        # Nothing is summed: a permutation or an outer product, and torch runs it as one.
        return Work(flops=num_terms * num_multiplications)
    return Work(flops=num_terms * (num_multiplications + 1), macs=num_terms if num_multiplications else 0)


def _per_output(flops: int) -> _Rule:
    return lambda x, out, arguments: flops * prod(out)


def _per_element(flops: int) -> _Rule:
    """For what reads more than it writes; `max` of two tensors, which broadcasts, is right as well."""
    return lambda x, out, arguments: flops * max(map(prod, [*x, out]))


def _per_element_of(index: int) -> _Rule:
    return lambda x, out, arguments: prod(x[index])


def _normalisation(flops: int) -> _Rule:
    """Weight and bias, where there are any, cost one each."""
    return lambda x, out, arguments: (flops + len(x) - 1) * prod(out)


# Mean (add), variance (subtract, square, add), scale (multiply); with known statistics the ends only.
_NORMALISE, _NORMALISE_BY_KNOWN = 5, 2


def _batch_norm(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # Three tensors are read as input and running statistics: torch passes those first or last.
    flops = _NORMALISE if arguments.get(5, "training", False) else _NORMALISE_BY_KNOWN
    return (flops + max(0, len(x) - 3)) * prod(out)


def _instance_norm(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    num_extra = len(x) - 1
    by_input = arguments.get(5, "use_input_stats", True)
    num_statistics = 0 if by_input and num_extra < 3 else 2
    return ((_NORMALISE if by_input else _NORMALISE_BY_KNOWN) + num_extra - num_statistics) * prod(out)


def _dropout(flops: int, *, trains_unasked: bool) -> _Rule:
    def count(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
        training = arguments.get(2, "training", arguments.keywords.get("train", trains_unasked))
        return flops * prod(out) if training else 0

    return count


def _pool(num_dims: int, *, flops: int = 1, position: int = 1) -> _Rule:
    def count(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
        kernel = arguments.get(position, "kernel_size")
        if isinstance(kernel, int):
            kernel = [kernel]
        if not isinstance(kernel, Sequence):
            raise TypeError(f"a kernel size is an int or several, not {kernel!r}")
        window = int(prod(kernel) ** (num_dims if len(kernel) == 1 else 1))
        return flops * prod(out) * window

    return count


def _adaptive_pool(x: Sequence[Shape], out: Shape, arguments: Arguments, num_dims: int) -> int:
    def num_read(size: int, num_windows: int) -> int:
        # Neighbouring windows share elements where the sizes do not divide.
        return sum(-(-(i + 1) * size // num_windows) - i * size // num_windows for i in range(num_windows))

    shape = x[0]
    return prod(shape[:-num_dims]) * prod(map(num_read, shape[-num_dims:], out[-num_dims:]))


def _embedding_bag(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    # torch.embedding_bag takes (weight, indices), F.embedding_bag (indices, weight). A weight is 2-D.
    first, second = x[:2]
    return prod(second if len(second) == 1 else first) * out[-1]


# A weighted sum of n neighbours is n multiplications and n - 1 additions.
_INTERPOLATIONS: dict[object, int] = {
    "nearest": 0, "nearest-exact": 0, "linear": 3, "bilinear": 7, "bicubic": 31, "trilinear": 15,
}  # fmt: skip


def _interpolate(x: Sequence[Shape], out: Shape, arguments: Arguments) -> int:
    mode = arguments.get(3, "mode", "nearest")
    if mode == "area":
        return _adaptive_pool(x, out, arguments, len(out) - 2)
    return _INTERPOLATIONS[mode] * prod(out)


_TABLE: list[tuple[_Rule, str]] = [
    (_macs(_convolution, bias_at=2), "conv1d conv2d conv3d"),
    (_macs(_transposed_convolution, bias_at=2), "convtranspose1d convtranspose2d convtranspose3d"),
    (_macs(_any_convolution, bias_at=2), "convolution"),
    (_macs(_matmul, bias_at=2), "linear"),
    (_macs(_matmul), "matmul linalgmatmul mm bmm mv dot vdot inner"),
    (_macs(lambda x, out, _: prod(out) * x[1][-1]), "rmatmul"),
    (_macs(_added_matmul, bias_at=0), "addmm baddbmm addbmm addmv"),
    (_macs(_tensordot), "tensordot"),
    (_macs(_vecdot), "linalgvecdot vecdot"),
    (
        _macs(_attention),
        "scaleddotproductattention scaleddotproductflashattention scaleddotproductflashattentionforcpu "
        "scaleddotproductefficientattention scaleddotproductcudnnattention",
    ),
    (_bilinear, "bilinear"),
    (_einsum, "einsum"),
    (_recurrent(None), "lstm gru rnntanh rnnrelu"),
    (_recurrent(3), "lstmcell"),
    (_recurrent(2), "grucell rnntanhcell rnnrelucell"),
    (
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
    (_per_output(2), "addcmul addcdiv addr"),
    (_per_output(3), "lerp cross linalgcross"),
    (_dropout(2, trains_unasked=True), "dropout dropout1d dropout2d dropout3d featuredropout nativedropout"),
    (_dropout(3, trains_unasked=False), "alphadropout featurealphadropout"),
    (
        _per_element(1),
        "sum nansum mean nanmean prod amax amin aminmax max min argmax argmin countnonzero "
        "cumsum cumprod cummax cummin fold col2im",
    ),
    (_per_element(2), "norm linalgvectornorm frobeniusnorm"),
    (_per_element(3), "normalize weightnorm weightnorminterface dist pairwisedistance mseloss l1loss"),
    (_per_element(4), "var std varmean stdmean logsumexp logcumsumexp kldiv"),
    # largest, subtract, exp, add, divide (or, of the logarithm, subtract)
    (_per_element(5), "softmax logsoftmax crossentropy crossentropyloss"),
    (_per_element(6), "softmin cosinesimilarity smoothl1loss huberloss"),
    (_per_element(9), "binarycrossentropy binarycrossentropywithlogits"),
    (_per_element_of(1), "nllloss nlllossnd"),
    (_per_element_of(2), "scatteradd indexadd scatterreduce indexreduce"),
    # Subtract, square, add, for every coordinate of every pair.
    (lambda x, out, _: 3 * prod(out) * x[0][-1], "cdist"),
    (_embedding_bag, "embeddingbag"),
    (_normalisation(_NORMALISE), "layernorm groupnorm nativelayernorm nativegroupnorm"),
    (_normalisation(3), "rmsnorm"),
    (_batch_norm, "batchnorm nativebatchnorm"),
    (_instance_norm, "instancenorm"),
    *[
        row
        for n in (1, 2, 3)
        for row in (
            (_pool(n), f"maxpool{n}d maxpool{n}dwithindices avgpool{n}d"),
            (_pool(n, flops=2, position=2), f"lppool{n}d"),
            (
                partial(_adaptive_pool, num_dims=n),
                f"adaptiveavgpool{n}d adaptivemaxpool{n}d adaptivemaxpool{n}dwithindices",
            ),
        )
    ],
    (_interpolate, "interpolate upsample"),
    (_per_output(3), "upsamplelinear1d"),
    (_per_output(7), "upsamplebilinear upsamplebilinear2d"),
    (_per_output(15), "upsampletrilinear3d"),
    (_per_output(31), "upsamplebicubic2d"),
    (
        _per_output(0),
        "upsamplenearest upsamplenearest1d upsamplenearest2d upsamplenearest3d "
        "upsamplenearestexact1d upsamplenearestexact2d upsamplenearestexact3d "
        # the same numbers, seen differently
        "view viewas viewasreal viewascomplex unsafeview reshape reshapeas flatten ravel unflatten squeeze "
        "unsqueeze transpose swapaxes swapdims t adjoint permute movedim moveaxis expand expandas "
        "broadcastto broadcasttensors asstrided unfold im2col narrow select diagonal detach alias real imag "
        "conj resolveconj resolveneg atleast1d atleast2d atleast3d chunk unsafechunk split unsafesplit "
        "splitwithsizes tensorsplit hsplit vsplit dsplit unbind positive pos requiresgrad "
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
        "zero eye arange linspace logspace tensor astensor asarray fromnumpy newtensor scalartensor tolist "
        "item rand randlike randn randnlike randint randintlike randperm bernoulli normal uniform "
        "multinomial exponential complex "
        # bits
        "logicaland logicalor logicalxor logicalnot bitwiseand bitwiseor bitwisexor bitwisenot and or xor "
        "invert iand ior ixor all any equal",
    ),
]

_RULES: dict[str, _Rule] = {name: rule for rule, names in _TABLE for name in names.split()}

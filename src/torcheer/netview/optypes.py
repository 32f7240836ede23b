"""What a kind of op means for a NetView: does it compute, or only hand values on? No torch."""

from __future__ import annotations

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Types are torch's function names, lower case and without underscores, as a pass has them.

# The same values in the same order: a reader of the result reads the layer before it.
HANDING_ON: Final = _words(
    "view reshape flatten unflatten ravel viewas reshapeas unsqueeze squeeze atleast1d atleast2d "
    "atleast3d contiguous clone detach detachcopy identity to float double half bfloat16 type typeas "
    "cpu cuda requiresgrad positive alias assubclass data real resolveconj resolveneg aliascopy tocopy "
    "unsafeview liftfresh dropout dropout1d dropout2d dropout3d alphadropout featuredropout "
    "featurealphadropout nativedropout output"
)

# The same values in another order, where more than one dimension is longer than one.
REORDERING: Final = _words(
    "transpose permute t movedim moveaxis swapaxes swapdims mt h mh adjoint transposecopy permutecopy numpyt"
)

# What only picks, repeats, masks or scales: no layer by itself.
MINOR: Final = REORDERING | _words(
    "getitem select slice narrow split splitwithsizes tensorsplit hsplit vsplit dsplit chunk unbind "
    "unsafechunk unsafesplit indexselect index gather take takealongdim maskedselect maskedfill "
    "maskedscatter where tril triu pad expand expandas repeat tile repeatinterleave broadcastto "
    "broadcasttensors flip fliplr flipud roll rot90 unfold fold pixelshuffle pixelunshuffle "
    "channelshuffle asstrided diagonal neg abs sign pow square sqrt rsqrt exp exp2 expm1 log log2 log10 "
    "log1p cos sin tan reciprocal round floor ceil trunc frac clamp clampmin clampmax clip nantonum "
    "nanmean setitem copy fill zero scatter scatteradd indexadd indexcopy indexfill indexput std var "
    "varmean stdmean norm vectornorm cumsum cumprod zeros ones full empty arange linspace eye zeroslike "
    "oneslike fulllike emptylike newzeros newones newfull newempty newtensor tensor astensor rand randn "
    "randint randlike randnlike bernoulli normal uniform scalartensor meshgrid argmax argmin argsort "
    "sort topk eq ne lt le gt ge isnan isinf isfinite logicaland logicalor logicalnot logicalxor "
    "bitwiseand bitwiseor bitwisenot and or xor invert not isclose any all int long bool short item "
    "onehot setdata updated complex polar viewascomplex viewasreal outer floordivide remainder fmod "
    "rpow rfloordiv sum prod logsumexp numpy tolist"
)

# Where they join two layers, or a layer and a parameter, they are a layer; else they only change one.
COMBINING: Final = _words(
    "add sub subtract mul multiply div divide truedivide truediv radd rsub rmul rdiv rtruediv iadd isub "
    "imul idiv itruediv addcmul addcdiv lerp cat concat concatenate stack hstack vstack dstack "
    "columnstack maximum minimum fmax fmin max min matmul rmatmul imatmul mm bmm mv dot vdot inner "
    "tensordot einsum addmm baddbmm addbmm addmv multidot chainmatmul kron cdist cosinesimilarity hypot "
    "atan2"
)

# Of these only the form without `keepdim` gives something that a person would call a layer.
REDUCING: Final = _words("mean amax amin nanmean median sum")

NONLINEAR: Final = _words(
    "relu relu6 leakyrelu prelu rrelu elu selu celu gelu silu swish mish hardswish hardsigmoid hardtanh "
    "hardshrink softshrink tanhshrink softplus softsign softmax softmin logsoftmax logsigmoid sigmoid "
    "tanh threshold expit"
)

# A module that is written as a formula, known by the name of its class: NewGELUActivation, QuickGELU.
_NONLINEAR_CLASS: Final = re.compile(
    r"(?:relu\d?|gelu\w*|silu|swish|swish\w*|mish|tanh|sigmoid|softmax\d?d?|softplus|softsign|elu|selu|celu"
    r"|hardtanh|softmin|activation)$",
    re.IGNORECASE,
)

CONVOLUTIONS: Final = {"conv1d": 1, "conv2d": 2, "conv3d": 3}  # dimensions of the picture
TRANSPOSED_CONVOLUTIONS: Final = {"convtranspose1d": 1, "convtranspose2d": 2, "convtranspose3d": 3}
PRODUCTS: Final = _words("matmul mm bmm baddbmm addmm einsum")
ATTENTION: Final = "scaleddotproductattention"

# Ops that a person would look into a module for, if it has more than one of them.
WEIGHTY: Final = (
    frozenset(CONVOLUTIONS)
    | frozenset(TRANSPOSED_CONVOLUTIONS)
    | _words("linear bilinear embedding matmul mm bmm addmm baddbmm einsum tensordot")
    | {ATTENTION}
)


def is_nonlinear_class(name: str) -> bool:
    return _NONLINEAR_CLASS.search(name) is not None

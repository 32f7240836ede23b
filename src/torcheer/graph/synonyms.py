"""Different names for the same operation, so that two programs can be laid side by side."""

from __future__ import annotations

# Each line: names of one operation, the first being the one that stands for all.
_SAME = """
add iadd radd
sub isub subtract
mul imul rmul multiply
div idiv rdiv truediv itruediv rtruediv divide truedivide
pow ipow rpow
neg negative
abs absolute
matmul rmatmul imatmul mm bmm linalgmatmul
cat concat concatenate
clamp clip
relu clampmin
hardtanh relu6
softmax specialsoftmax
logsoftmax speciallogsoftmax
sigmoid specialexpit
layernorm nativelayernorm
groupnorm nativegroupnorm
batchnorm nativebatchnorm cudnnbatchnorm
maxpool1d maxpool1dwithindices
maxpool2d maxpool2dwithindices
maxpool3d maxpool3dwithindices
dropout nativedropout dropout1d dropout2d dropout3d featuredropout
linear addmm baddbmm
conv convolution conv1d conv2d conv3d
reshape view viewas reshapeas flatten unflatten ravel unsafeview
permute transpose swapaxes swapdims t mt h mh movedim moveaxis
squeeze unsqueeze
to float double half bfloat16 type tocopy typeas
clone contiguous detach alias
getitem select narrow slice index
expand expandas broadcastto
chunk split tensorsplit splitwithsizes unbind
where maskedfill
scaleddotproductattention scaleddotproductflashattention scaleddotproductflashattentionforcpu
"""
# What may stand for something else where nothing nearer is to be had.
_AKIN = """
linear matmul conv einsum
add sub rsub
mul div reciprocal
reshape squeeze getitem expand permute
"""


def _table(text: str) -> dict[str, str]:
    lines = [line.split() for line in text.split("\n") if line]
    return {name: names[0] for names in lines for name in names}


_MOVES = frozenset("reshape permute squeeze getitem expand chunk clone to".split())
_STANDS_FOR = _table(_SAME)
_FAMILY = _table(_AKIN)


def common_name(layer_type: str) -> str:
    """One name for all spellings of an operation: `iadd` is `add`, `view` is `reshape`."""
    return _STANDS_FOR.get(layer_type, layer_type)


def family_name(layer_type: str) -> str:
    """A wider circle: a `linear` may be a `matmul` in another program."""
    name = common_name(layer_type)
    return _FAMILY.get(name, name)


def is_move(layer_type: str) -> bool:
    """Whether an operation only shows, moves or copies what it is given."""
    return common_name(layer_type) in _MOVES

"""A pass as a flow of values: what each op reads, what its kind means, which module is shown as one thing.

And where it attends: the weights of attention, also of those kernels that never write them down.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.capture import (
    INPUT,
    OUTPUT,
    ModelHistory,
    PassRecord,
    Record,
    Scope,
    tensor_places,
    undisturbed,
)


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

# With the dimensions of the picture.
CONVOLUTIONS: Final = {f"conv{way}{n}d": n for way in ("", "transpose") for n in (1, 2, 3)}
PRODUCTS: Final = _words("matmul mm bmm baddbmm addmm einsum")
ATTENTION: Final = "scaleddotproductattention"

# Ops that a person would look into a module for, if it has more than one of them.
WEIGHTY: Final = (
    frozenset(CONVOLUTIONS)
    | _words("linear bilinear embedding matmul mm bmm addmm baddbmm einsum tensordot")
    | {ATTENTION}
)


def is_nonlinear_class(name: str) -> bool:
    return _NONLINEAR_CLASS.search(name) is not None


def are_same_numbers(one: Tensor, other: Tensor) -> bool:
    """NaN is the same as NaN, and as nothing else."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if torch.equal(one, other):
        return True
    if not (one.is_floating_point() or one.is_complex()):
        return False
    is_nan = torch.isnan(one)
    if not bool(is_nan.any()) or not torch.equal(is_nan, torch.isnan(other)):
        return False
    return torch.equal(one[~is_nan], other[~is_nan])


MULTIHEAD = "MultiheadAttention"  # torch's own, which calls none of its modules
_PARAMETRIZATIONS = "parametrizations"  # the child of a module whose weights are computed


class Flow:
    """What capturing asks of a pass. Ops are numbers; a parameter that is read is a negative one."""

    def __init__(self, history: ModelHistory) -> None:
        self.history = history
        self.record = PassRecord(history)
        self.tape = self.record.tape
        self.records: list[Record] = self.tape.records
        self._closed: dict[int, Scope | None] = {}  # by the id of a scope
        self._arguments: dict[int, dict[int | str, int]] = {}

    def type(self, op: int) -> str:
        return self.records[op].trait.type

    def is_input(self, op: int) -> bool:
        return self.records[op].trait is INPUT

    def is_output(self, op: int) -> bool:
        return self.records[op].trait is OUTPUT

    def value(self, op: int) -> Tensor | None:
        """Of an op, or of a parameter as it was when the pass read it."""
        return self.record.value_of(op)

    def shape(self, op: int) -> tuple[int, ...]:
        if op < 0:
            return tuple(self.tape.params[-op - 1][1].shape)
        return tuple(self.tape.meta(op).shape)

    def size(self, op: int) -> int:
        return math.prod(self.shape(op))

    def is_real_or_complex(self, op: int) -> bool:
        dtype = self.tape.meta(op).dtype
        return bool(dtype.is_floating_point or dtype.is_complex)

    def param(self, op: int) -> str:
        """The address of a parameter."""
        return self.tape.params[-op - 1][0]

    def argument(self, op: int, position: int, *names: str) -> int | None:
        """The op, or the parameter, that stood at this place of the call."""
        found = self._slots(op)
        return next((found[slot] for slot in (position, *names) if slot in found), None)

    def plain(self, op: int, position: int, name: str, default: Any = None) -> Any:
        """An argument that is no tensor."""
        record = self.records[op]
        value = record.args[position] if position < len(record.args) else None
        return (record.kwargs or {}).get(name, default) if value is None else value

    def _slots(self, op: int) -> dict[int | str, int]:
        found = self._arguments.get(op)
        if found is None:
            record = self.records[op]
            given = zip(tensor_places(record), record.parents, strict=False)
            found = self._arguments[op] = {place[0]: parent for place, parent in given if len(place) == 1}
        return found

    @cached_property
    def children(self) -> list[list[int]]:
        """The ops that read each op."""
        found: list[list[int]] = [[] for _ in self.records]
        for op, record in enumerate(self.records):
            for parent in set(record.parents):
                if parent >= 0:
                    found[parent].append(op)
        return found

    def handed_on(self, op: int) -> int | None:
        """The op, or parameter, whose values these are, one for one and in the same order; None: new ones."""
        record = self.records[op]
        parents = record.parents
        if not parents:
            return None
        kind, first = record.trait.type, parents[0]
        if kind in COMBINING:
            # A cache that is still empty is put before the keys: nothing is added.
            full = [parent for parent in parents if self.size(parent)]
            is_joined = kind in ("cat", "concat", "concatenate") and len(full) == 1 and len(parents) > 1
            return full[0] if is_joined else None
        if self.size(first) != self.size(op):
            return None
        if kind in HANDING_ON:
            return first
        if kind in REORDERING or kind in ("expand", "expandas", "broadcastto"):
            return (
                first if _long(self.shape(first)) == _long(self.shape(op)) and self._is_in_row(op) else None
            )
        is_plain_index = kind == "getitem" and len(parents) == 1 and _is_plain(record.args[1:])
        return first if is_plain_index else None

    def _is_in_row(self, op: int) -> bool:
        """Dimensions of equal length may have changed places."""
        sizes = _long(self.shape(op))
        if self.type(op) not in REORDERING or len(set(sizes)) == len(sizes):
            return True
        value = self.value(op)
        return value is not None and value.layout == torch.strided and value.is_contiguous()

    def origin(self, op: int) -> int:
        """Where the values come from, through all that only hands them on."""
        while op >= 0:
            before = self.handed_on(op)
            if before is None:
                return op
            op = before
        return op

    def closed(self, op: int) -> Scope | None:
        """The call of a module around an op that is shown as one thing; None where the op stands open."""
        scope = self.records[op].scope
        key = id(scope)
        if key not in self._closed:
            chain = [one for one in scope.chain() if one.is_module]
            self._closed[key] = next((one for one in chain if self._is_closed(one)), None)
        return self._closed[key]

    def _is_closed(self, scope: Scope) -> bool:
        info = self.history.module_tree.modules.get(scope.address or "")
        if info is None:  # made in forward: nothing is known of what is in it
            return True
        if info.class_name == MULTIHEAD or not scope.address:
            return info.class_name == MULTIHEAD  # of the model itself, the inside is what one wants to see
        names = {child.rpartition(".")[2] for child in info.children}
        return names <= {_PARAMETRIZATIONS} and self._num_weighty.get(id(scope), 0) < 2

    @cached_property
    def _num_weighty(self) -> dict[int, int]:
        """By call of a module: how many of its own ops are products, convolutions and the like."""
        counts: dict[int, int] = {}
        for record in self.records:
            if record.trait.type in WEIGHTY:
                scope = id(record.scope.module())
                counts[scope] = counts.get(scope, 0) + 1
        return counts

    def class_of(self, address: str) -> str:
        info = self.history.module_tree.modules.get(address)
        return address.partition("#")[0] if info is None else info.class_name

    def num_calls(self, address: str) -> int:
        return len(self.history.module_tree.passes_of(address) or ())


def _long(shape: tuple[int, ...]) -> list[int]:
    return [size for size in shape if size != 1]


def _is_plain(index: Any) -> bool:
    """Whole dimensions, new ones and single places keep the order; lists of places need not."""
    if isinstance(index, tuple):
        return all(_is_plain(part) for part in index)
    return index is None or index is Ellipsis or isinstance(index, slice | int)


_JOINS: Final = frozenset(("matmul", "bmm"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One place where queries, keys and values meet. All but `weights` and `scope` are ops."""

    out: int
    weights: int | None  # the softmax; None where one kernel does it all
    asks: tuple[int, ...]  # what the weights are made of
    value: int
    scores: frozenset[int]  # products that are read by nothing but the softmax
    module: Scope | None  # torch's MultiheadAttention around it


def find_sites(flow: Flow) -> list[Site]:
    found = (_site_at(flow, op) for op in range(len(flow.records)))
    return [site for site in found if site is not None]


def _site_at(flow: Flow, op: int) -> Site | None:
    if flow.type(op) in _JOINS:
        return _written_out(flow, op)
    if flow.type(op) != ATTENTION:
        return None
    given = [flow.argument(op, place, name) for place, name in enumerate(("query", "key", "value"))]
    read = [one for one in given if one is not None and one >= 0]
    if len(read) < 3:
        return None
    return Site(
        out=op,
        weights=None,
        asks=(read[0], read[1]),
        value=read[2],
        scores=frozenset(),
        module=_multihead(flow, op),
    )


def _written_out(flow: Flow, op: int) -> Site | None:
    """`softmax(scores) @ values`."""
    left, right = flow.argument(op, 0, "input"), flow.argument(op, 1, "other", "mat2")
    if left is None or right is None or left < 0 or right < 0:
        return None
    weights = flow.origin(left)
    if weights < 0 or flow.type(weights) != "softmax" or len(flow.shape(weights)) < 3:
        return None
    if flow.record.structure.from_input[right] is None:  # a constant: nothing is attended to
        return None
    return Site(
        out=op,
        weights=weights,
        asks=(flow.records[weights].parents[0],),
        value=right,
        scores=_scores(flow, weights),
        module=_multihead(flow, op),
    )


def _scores(flow: Flow, weights: int) -> frozenset[int]:
    """What is scaled and masked on its way to the softmax, and read by nothing else."""
    size = flow.size(weights)
    inside, found, waiting = {weights}, set(), [weights]
    while waiting:
        for parent in flow.records[waiting.pop()].parents:
            if parent < 0 or parent in inside or flow.size(parent) != size:
                continue
            if any(child not in inside for child in flow.children[parent]):
                continue
            inside.add(parent)
            kind = flow.type(parent)
            if kind in PRODUCTS:
                found.add(parent)
            elif kind in COMBINING or kind in MINOR:
                found.add(parent)
                waiting.append(parent)
            elif flow.handed_on(parent) is not None:
                waiting.append(parent)
    return frozenset(found)


def _multihead(flow: Flow, op: int) -> Scope | None:
    scope = flow.closed(op)
    return scope if scope is not None and flow.class_of(scope.address or "") == MULTIHEAD else None


def attention_weights(site: Site, flow: Flow, num_items: int | None) -> Tensor | None:
    """[items, heads, queries, keys] of a site; `num_items` None: all of them."""
    value = _computed(flow, site, num_items) if site.weights is None else flow.value(site.weights)
    if value is None or value.dim() < 3:
        return None
    with undisturbed():
        heads = num_heads(flow, site)
        if site.module is not None and value.dim() == 3:  # items and heads in one dimension
            value = value.reshape(-1, heads, *value.shape[1:])
        elif value.dim() == 3:
            value = value.unsqueeze(1)
        return value if num_items is None else value[:num_items]


def num_heads(flow: Flow, site: Site) -> int:
    """Of torch's own module, whose parameters know it; elsewhere by the shape."""
    shape = flow.shape(site.out)
    if site.module is None or len(shape) == 4:
        return shape[1] if len(shape) == 4 else 1
    width = flow.shape(site.module.outputs[0])[-1]
    return max(1, width // shape[-1])


def _computed(flow: Flow, site: Site, num_items: int | None) -> Tensor | None:
    """As the kernel computes them: softmax(query · key · scale + mask)."""
    query, key = (flow.value(op) for op in site.asks)
    if query is None or key is None:
        return None
    op = site.out
    mask_op = flow.argument(op, 3, "attn_mask")
    mask = None if mask_op is None else flow.value(mask_op)
    scale = flow.plain(op, 6, "scale")
    with undisturbed():
        num_all = query.shape[0]
        if num_items is not None and query.dim() > 2:
            query, key = query[:num_items], key[:num_items]
            if mask is not None and mask.dim() == query.dim() and mask.shape[0] == num_all:
                mask = mask[:num_items]
        if flow.plain(op, 7, "enable_gqa", False) and query.dim() > 3 and key.shape[-3] != query.shape[-3]:
            key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        wide = torch.promote_types(query.dtype, torch.float32)
        scores = query.to(wide) @ key.to(wide).transpose(-2, -1)
        scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else float(scale))
        if flow.plain(op, 5, "is_causal", False):
            seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
            scores = scores.masked_fill(~seen, -math.inf)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        # A query that may look at nothing gives nothing.
        blind = (scores == -math.inf).all(-1, keepdim=True)
        return scores.softmax(-1).masked_fill(blind, 0.0)


def merged(flow: Flow, site: Site, op: int) -> Tensor | None:
    """[items, tokens, features] of a tensor that has its heads apart, or in one dimension with the items."""
    value = flow.value(op)
    if value is None or value.dim() not in (3, 4):
        return None
    with undisturbed():
        if value.dim() == 3:
            heads = num_heads(flow, site) if site.module is not None else 1
            value = value.reshape(-1, heads, *value.shape[1:])
        return value.transpose(1, 2).flatten(2)

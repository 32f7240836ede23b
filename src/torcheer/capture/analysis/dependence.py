"""Which elements of a call's arguments its outputs depend on, and the other way round.

A call is run again in double precision, with its constants as they are and random values where data stood,
and is differentiated: what has a derivative depends. On random values a derivative that is not zero
everywhere is practically never zero.

`relu` has no gradient where it is off, `max_pool2d` only at the winner, `x > 0` none at all; yet their output
can change with each of those elements. A rule takes the arguments of such a function and gives something
smooth that depends on the same elements. Data is always floating point here; a constant index or mask keeps
its type, so a floating index is data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.capture.aliasing import has_data
from torcheer.capture.analysis.replay import (
    called,
    is_same_call,
    namespace_of,
    replay,
    why_not_replayable,
    written_over,
)
from torcheer.capture.inputs import collect_tensors
from torcheer.capture.tape import ALIAS, BUFFER, IDENTITY, OUTPUT, OWN_TRAITS, UPDATED, Record

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

Masks = dict[int, Tensor]  # by op: which of its elements

# Values beyond this are an additive mask (-10000, -1e9, the least float, -inf), not activations: they stay.
_DWARFS = 9_000.0
# Only the shape, type or device of their argument counts, or they write over what was there.
_SHAPE_ONLY = frozenset(
    "normal_ uniform_ random_ exponential_ geometric_ cauchy_ log_normal_ resize_as_ new".split()
)


class Call(NamedTuple):
    """One call of the pass with all its outputs."""

    record: Record
    name: str  # without leading and trailing underscores
    ops: range
    shapes: list[torch.Size]  # of all outputs
    data: tuple[int, ...]  # the parents that are data, each once
    dtypes: frozenset[torch.dtype]  # that the data had in the pass


class Dependence:
    """Answers for one call at a time, and remembers where it was in doubt.

    Data is what descends from the origins. Single elements of data may still be fixed: no data reaches them,
    as in the masked half of scores. They keep their values, and so do those to which a constant was added
    that dwarfs all data.
    """

    def __init__(self, history: ModelHistory, origins: Iterable[int], ops: Iterable[int]) -> None:
        self._history = history
        self._tape = history._tape
        self._origins = frozenset(origins)
        self._data: list[bool] = []
        for op, parents in enumerate(history._structure.parents):
            self._data.append(op in self._origins or any(self._data[parent] for parent in parents))
        self._constants: dict[int, Tensor] = {}
        self._fixed: Masks = {}
        self._held: dict[int, tuple[Tensor, Tensor]] = {}  # the elements that keep their values; the values
        self.doubts: dict[int, str] = {}  # by op: why everything was taken to reach everything
        self.unknown: dict[str, None] = {}  # constants whose values are not there
        settled: set[int] = set()  # calls, by their first op
        for op in ops:
            if self._data[op] and op not in self._origins and op not in settled:
                settled.update(self._settle(self.call(op)))
        self.doubts.clear()

    def is_data(self, parent: int) -> bool:
        return parent >= 0 and self._data[parent]

    def call(self, op: int) -> Call:
        """The call that made an op."""
        records, record = self._tape.records, self._tape.records[op]
        # Strides may look at all the memory that what it was made of lies in.
        is_strided = record.trait.name == "as_strided"
        parents = sorted(self._history._structure.ancestors(op)) if is_strided else record.parents
        data = tuple(dict.fromkeys(parent for parent in parents if self.is_data(parent)))
        first = last = op
        while first > 0 and is_same_call(records[first - 1], records[first]):
            first -= 1
        while last + 1 < len(records) and is_same_call(records[last], records[last + 1]):
            last += 1
        ops = range(first, last + 1)
        shapes, dtypes = [self.shape(each) for each in ops], frozenset(map(self._dtype, data))
        return Call(record, record.trait.name.strip("_"), ops, shapes, data, dtypes)

    def reached(self, call: Call, masks: Masks, *, is_back: bool) -> Masks:
        """Back: the elements of each parent that the marked ones of the outputs depend on.

        Else the elements of each output that depend on the marked ones of the parents.
        """
        try:
            return self._pull(call, masks) if is_back else self._push(call, masks)
        except Exception as error:
            # Whatever went wrong: an answer that is too large is still right.
            raised = f"it raised {type(error).__name__} when run again"
            self.doubts[call.ops[0]] = str(error) if isinstance(error, UndecidedError) else raised
            ends = call.data if is_back else call.ops
            return {op: torch.ones(self.shape(op), dtype=torch.bool) for op in ends}

    def _pull(self, call: Call, masks: Masks) -> Masks:
        leaves, outs = self._differentiable(call)
        ends = [(outs[op], mask) for op, mask in masks.items() if outs[op].requires_grad]
        given = [_weighted(mask, out.dtype, place) for place, (out, mask) in enumerate(ends)]
        grads = _gradients([out for out, _ in ends], leaves, given)
        return {parent: grad != 0 for parent, grad in zip(call.data, grads, strict=True)}

    def _push(self, call: Call, masks: Masks) -> Masks:
        """By differentiating the backward pass, which is linear in what it is given."""
        leaves, made = self._differentiable(call)
        found = {op: torch.zeros(self.shape(op), dtype=torch.bool) for op in call.ops}
        outs = {op: out for op, out in made.items() if out.requires_grad}
        given = [torch.zeros_like(out).requires_grad_() for out in outs.values()]
        grads = _gradients(list(outs.values()), leaves, given, create_graph=True)
        moves = [
            (grad, _weighted(masks[parent], leaf.dtype, parent))
            for parent, leaf, grad in zip(call.data, leaves, grads, strict=True)
            if parent in masks and grad.requires_grad
        ]
        moved = _gradients([grad for grad, _ in moves], given, [move for _, move in moves])
        found |= {op: move != 0 for op, move in zip(outs, moved, strict=True)}
        return found

    def _differentiable(self, call: Call) -> tuple[list[Tensor], dict[int, Tensor]]:
        """Random values where data stood, and the outputs that the call gives on them."""
        leaves = [self._sample(parent).requires_grad_() for parent in call.data]
        made = self._run(call, leaves)
        first = self._tape.records[call.ops[0]].position if call.record.trait not in OWN_TRAITS else 0
        outs = {op: made[0 if len(made) == 1 else first + op - call.ops[0]] for op in call.ops}
        if any(out.shape != self.shape(op) for op, out in outs.items()):
            raise UndecidedError("its output has another shape when it is run again")
        return leaves, outs

    def _run(self, call: Call, leaves: list[Tensor]) -> list[Tensor]:
        record, name = call.record, call.record.trait.name
        data = frozenset(slot for slot, parent in enumerate(record.parents) if self.is_data(parent))
        if record.trait is OUTPUT or record.trait is IDENTITY:
            return leaves
        if data == {0} and (name in _SHAPE_ONLY or name.startswith("new_") or name.endswith("_like")):
            return [torch.zeros(shape) for shape in call.shapes]
        reason = why_not_replayable(self._tape, record)
        if reason:
            raise UndecidedError(reason)
        of_parent = dict(zip(call.data, leaves, strict=True))
        if record.trait is UPDATED or record.trait is ALIAS:
            return [self._moved(record, of_parent)]
        if namespace_of(record) not in ("", "aten", "prims"):
            raise UndecidedError("there is no rule for it")
        rule = rule_for(call.name)
        writes = bool(record.context and record.context.num_targets) or bool(record.trait.side_writes)
        tensors = [
            of_parent[parent] if parent in of_parent else self._constant_for(call, slot, writes and slot == 0)
            for slot, parent in enumerate(record.parents)
        ]
        if writes:
            # A leaf cannot be written into; and `x.mul_(x)` must read what it was.
            tensors = [tensor.clone() for tensor in tensors]

        def call_rule(*args: Any, out: Any = None, inplace: Any = None, **kwargs: Any) -> Any:
            return rule(call, *args, **kwargs)

        return called(record, tensors, call_rule, _in_double)

    def _constant_for(self, call: Call, slot: int, is_target: bool) -> Tensor:
        value = self._constant(call.record.parents[slot])
        if value.is_complex():
            return value.to(torch.complex128)
        # A target that takes data takes numbers; an index or a mask keeps its type.
        return value.to(torch.float64) if value.is_floating_point() or is_target else value

    def _moved(self, record: Record, of_parent: dict[int, Tensor]) -> Tensor:
        """A tensor whose memory was written through others: follow each element by its number."""
        if len({self._dtype(parent).itemsize for parent in record.parents}) > 1:
            raise UndecidedError("its memory was written as another type")
        shapes = [self.shape(parent) for parent in record.parents]
        numbers = torch.split(torch.arange(sum(s.numel() for s in shapes)), [s.numel() for s in shapes])
        parts = [part.reshape(shape) for part, shape in zip(numbers, shapes, strict=True)]
        geometries = record.args if record.trait is UPDATED else (record.args[1], record.args[0])
        nothing = next(iter(of_parent.values())).new_zeros(())
        whole = [
            of_parent.get(p, nothing.expand(s)).flatten() for p, s in zip(record.parents, shapes, strict=True)
        ]
        return torch.cat(whole)[written_over(geometries, parts)]

    def shape(self, parent: int) -> torch.Size:
        return self._tape.params[-parent - 1][1].shape if parent < 0 else self._tape.meta(parent).shape

    def _dtype(self, parent: int) -> torch.dtype:
        return self._tape.params[-parent - 1][1].dtype if parent < 0 else self._tape.meta(parent).dtype

    def _sample(self, op: int) -> Tensor:
        """Random values, the same at each call; elements that are held keep theirs."""
        dtype = torch.complex128 if self._dtype(op).is_complex else torch.float64
        values = torch.rand(self.shape(op), generator=torch.Generator().manual_seed(op * 31), dtype=dtype)
        values = values * 0.8 + 0.1 if self._dtype(op) == torch.bool else values + 0.5
        if op in self._held:
            where, value = self._held[op]
            values = torch.where(where, value.to(dtype), values)
        return values

    def _constant(self, parent: int) -> Tensor:
        """A parameter, a buffer or a constant, as it was."""
        if parent in self._constants:
            return self._constants[parent]
        value = _usable(self._history._value_of(parent))
        if value is None and parent >= 0:
            record = self._tape.records[parent]
            is_buffer = record.trait is BUFFER and not record.parents
            value = self._from_model(parent) if is_buffer else self._replayed(parent, self._constant)
        if value is None:
            name = self._tape.params[-parent - 1][0] if parent < 0 else self._history._label(parent)
            self.unknown[name] = None
            value = torch.ones(self.shape(parent), dtype=self._dtype(parent))
        self._constants[parent] = value
        return value

    def _from_model(self, op: int) -> Tensor | None:
        """A buffer that was not saved, as the model has it now."""
        model = None if self._history._model is None else self._history._model()
        buffers = {} if model is None else dict(model.named_buffers(remove_duplicate=False))
        value = _usable(buffers.get(self._tape.addresses.get(op, "")))
        return value if value is not None and value.shape == self.shape(op) else None

    def _replayed(self, op: int, values: Callable[[int], Tensor]) -> Tensor | None:
        record = self._tape.records[op]
        if why_not_replayable(self._tape, record):
            return None
        try:
            made = replay(record, values)
        except Exception:
            return None
        value = _usable(made[0 if len(made) == 1 else record.position])
        return value if value is not None and value.shape == self.shape(op) else None

    def _settle(self, call: Call) -> range:
        """Find the elements of a call's outputs that keep their values; those of its parents are known."""
        reached: Masks = {}
        if call.data:
            is_open = {
                p: ~self._fixed[p] if p in self._fixed else torch.ones(self.shape(p), dtype=torch.bool)
                for p in call.data
            }
            reached = self.reached(call, is_open, is_back=False)
        is_pinned = self._may_be_pinned(call)
        for op in call.ops:
            if op in self._origins:
                continue
            fixed = ~reached[op] if op in reached else torch.zeros(self.shape(op), dtype=torch.bool)
            if not call.data:
                self._data[op] = False  # all that it was given turned out to be constant
            elif is_pinned or fixed.any():
                self._hold(op, fixed, is_pinned)
        return call.ops

    def _hold(self, op: int, fixed: Tensor, is_pinned: bool) -> None:
        if fixed.any():
            self._fixed[op] = fixed
        # What the op gives on what is known is right where no data plays a part.
        value = self._replayed(op, self._certain)
        value = _usable(self._history._value_of(op)) if value is None else value
        if value is None:
            self.unknown.update({self._history._label(op): None} if fixed.any() else {})
        elif fixed.all():
            self._data[op] = False
            self._constants[op] = value
        else:
            held = fixed | _dwarfing(value) if is_pinned else fixed
            if held.any():
                self._held[op] = (held, value)

    def _may_be_pinned(self, call: Call) -> bool:
        """Whether a constant that dwarfs data was added to it: a mask of scores before their softmax."""
        if any(self.is_data(p) and self._dtype(p) == torch.bool for p in call.record.parents):
            return False  # the data decides what is masked
        return any(
            parent in self._held if self.is_data(parent) else bool(_dwarfing(self._constant(parent)).any())
            for parent in call.record.parents
            if parent >= 0
        )

    def _certain(self, parent: int) -> Tensor:
        """What is known of a parent; zero where nothing is."""
        if not self.is_data(parent):
            return self._constant(parent)
        nothing = torch.zeros(self.shape(parent), dtype=self._dtype(parent))
        if parent not in self._held:
            return nothing
        where, value = self._held[parent]
        return torch.where(where, value, 0).to(nothing.dtype)


def _gradients(
    outputs: list[Tensor], inputs: list[Tensor], given: list[Tensor], create_graph: bool = False
) -> Sequence[Tensor]:
    """Of each input; zero where nothing hangs on it."""
    if not outputs:
        return [torch.zeros_like(each) for each in inputs]
    return torch.autograd.grad(
        outputs, inputs, given, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )


def _weighted(mask: Tensor, dtype: torch.dtype, seed: int) -> Tensor:
    """Random weights on the marked elements, other ones for each tensor, so that nothing cancels."""
    # Complex numbers too are drawn: along one axis alone a derivative may be zero.
    return (torch.rand(mask.shape, generator=torch.Generator().manual_seed(seed), dtype=dtype) + 0.5) * mask


def _in_double(leaf: Any) -> Any:
    if isinstance(leaf, torch.dtype):
        return torch.complex128 if leaf.is_complex else torch.float64
    return torch.device("cpu") if isinstance(leaf, torch.device) else leaf


def _usable(value: Tensor | None) -> Tensor | None:
    """A value with numbers in it, on the CPU; None where there are none."""
    if value is None or not has_data(value) or value.layout != torch.strided:
        return None
    if value.is_nested or value.is_quantized:
        return None
    value = value.detach().cpu()
    return value.clone() if value.is_inference() else value


def _dwarfing(value: Tensor) -> Tensor:
    if not (value.is_floating_point() or value.is_complex()):
        return torch.zeros(value.shape, dtype=torch.bool)
    return (value.abs() >= _DWARFS) & ~value.isnan()


Rule = Callable[..., Any]  # of a Call and its arguments


class UndecidedError(Exception):
    """No rule covers this call."""


def rule_for(name: str) -> Rule:
    if name in _RULES:
        return _RULES[name]
    if name not in _ITSELF and not name.startswith(("fft_", "linalg_")):
        raise UndecidedError("there is no rule for it")
    return lambda call, *args, **kwargs: call.record.trait.func(*args, **kwargs)


# Their own derivative shows everything, at values that are positive and random.
_ITSELF = frozenset(
    (
        "linear matmul rmatmul mm bmm addmm baddbmm addmv addbmm mv dot vdot inner outer ger kron bilinear "
        "tensordot einsum cross trace conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
        "conv_transpose3d convolution add sub subtract mul multiply div divide true_divide iadd isub imul "
        "itruediv idiv radd rsub rmul rtruediv rdiv addcmul addcdiv lerp pow ipow rpow float_power atan2 "
        "arctan2 hypot xlogy logaddexp complex polar angle view_as_real view_as_complex real imag reshape "
        "permute transpose t T mT H mH adjoint flatten ravel unflatten squeeze unsqueeze expand expand_as "
        "view_as reshape_as cat concat concatenate stack hstack vstack dstack column_stack row_stack split "
        "split_with_sizes chunk tensor_split hsplit vsplit unbind narrow select slice movedim moveaxis "
        "swapaxes swapdims repeat repeat_interleave tile roll flip fliplr flipud rot90 pad constant_pad_nd "
        "unfold fold im2col col2im diagonal diag diag_embed tril triu pixel_shuffle pixel_unshuffle "
        "channel_shuffle copy fill zero broadcast_to broadcast_tensors meshgrid take index index_put "
        "index_add index_copy index_fill masked_select masked_scatter slice_scatter select_scatter "
        "diagonal_scatter scatter scatter_add gather take_along_dim softmax log_softmax softmin layer_norm "
        "group_norm batch_norm instance_norm rms_norm native_layer_norm normalize glu sum nansum mean "
        "nanmean var std var_mean std_mean logsumexp logcumsumexp cumsum cumprod prod diff dist cdist "
        "pairwise_distance cosine_similarity avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
        "upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d interpolate "
        "mse_loss l1_loss nll_loss nll_loss_nd nll_loss2d cross_entropy_loss smooth_l1_loss huber_loss "
        "kl_div binary_cross_entropy binary_cross_entropy_with_logits inverse det logdet pinverse "
        "matrix_exp stft istft pack_padded_sequence pad_packed_sequence lstm_cell gru_cell rnn_tanh_cell "
        "rnn_relu_cell"
    ).split()
)


def number(value: Any) -> Any:
    """A tensor of truth values or whole numbers as numbers; anything else as it is."""
    is_whole = isinstance(value, Tensor) and not (value.is_floating_point() or value.is_complex())
    return value.to(torch.float64) if is_whole else value


def is_data(index: Any) -> bool:
    return isinstance(index, Tensor) and index.is_floating_point()


def _pointwise(call: Call, *args: Any, **kwargs: Any) -> Any:
    # Of one tensor given twice both must count, also in `x != x`.
    tensors = collect_tensors((args, kwargs))
    return sum((1 + 0.37 * i) * number(tensor) for i, tensor in enumerate(tensors))


def _or(call: Call, a: Any, b: Any, **_: Any) -> Any:
    a, b = number(a), number(b)
    return a + b - a * b if call.dtypes <= {torch.bool} else a + b


def _view(call: Call, x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    if any(isinstance(value, torch.dtype) for value in (*shape, *kwargs.values())):
        return x  # the same bits as another type, through which torch does not differentiate
    return x.view(*shape, **kwargs)


def _choose(condition: Tensor, a: Any, b: Any) -> Tensor:
    a, b = (number(value if isinstance(value, Tensor) else torch.tensor(value)) for value in (a, b))
    if not is_data(condition):
        return torch.where(condition.bool(), a, b)
    finite = (torch.where(value.isfinite(), value, -7.31) for value in (a, b))
    mixed = condition * next(finite) + (1 - condition) * next(finite)
    # Where a constant part of the condition decides, the other side is cut off, be it infinite.
    return torch.where(condition == 1, a, torch.where(condition == 0, b, mixed))


def _where(call: Call, *args: Any, **kwargs: Any) -> Tensor:
    given = (*args, *(kwargs[name] for name in ("condition", "input", "self", "other") if name in kwargs))
    if len(given) != 3:
        raise UndecidedError("its output has as many rows as the data decides")
    if call.record.trait.func is torch.Tensor.where:
        return _choose(given[1], given[0], given[2])
    return _choose(*given)


# Which argument after the first is the dimension, and what it is where it is not given.
_DIMENSIONS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys("argmax argmin amax amin aminmax any all max min".split(), (0, None)),
    **dict.fromkeys("count_nonzero median nanmedian".split(), (0, None)),
    **dict.fromkeys("sort argsort mode".split(), (0, -1)),
    **dict.fromkeys("topk kthvalue".split(), (1, -1)),
    **dict.fromkeys("norm linalg_vector_norm".split(), (1, None)),
    "multinomial": (99, -1),
    "msort": (99, 0),
}


def _along(call: Call, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(value, Tensor) for value in (*args, *kwargs.values())):
        return _pointwise(call, x, *args, **kwargs)  # max(a, b)
    place, default = _DIMENSIONS[call.name]
    dim = kwargs.get("dim", kwargs.get("axis", args[place] if len(args) > place else default))
    dims = tuple(range(x.dim())) if dim is None or dim == () or dim == [] else dim
    total = number(x).sum(dims, keepdim=True) if x.dim() else number(x)
    return [
        (total if total.dim() == len(shape) else total.reshape(shape)).expand(shape) for shape in call.shapes
    ]


def _max_pool(
    call: Call,
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *_: Any,
    **__: Any,
) -> Any:
    """The mean of each window."""
    if dilation != 1 and any(gap != 1 for gap in dilation):
        raise UndecidedError("its windows have gaps")
    mean = getattr(F, f"avg_pool{call.name.partition('pool')[2][0]}d")
    return [mean(x, kernel_size, stride or None, padding, ceil_mode)] * len(call.shapes)


def _getitem(call: Call, x: Tensor, key: Any) -> Any:
    if not any(is_data(each) for each in (key if isinstance(key, tuple) else (key,))):
        return x[key]
    if not isinstance(key, Tensor) or torch.bool in call.dtypes:
        raise UndecidedError("its data decides which elements it takes")
    return number(x).sum(0) + key.reshape(*key.shape, *[1] * (x.dim() - 1))


def _setitem(call: Call, x: Tensor, key: Any, value: Any) -> Tensor:
    if is_data(key) and torch.bool in call.dtypes:
        if isinstance(value, Tensor) and value.dim():
            raise UndecidedError("its data decides which elements it writes")
        return _choose(key.reshape(*key.shape, *[1] * (x.dim() - key.dim())), value, x)
    x = x.clone()
    x[key] = value
    return x


def _attention(
    call: Call, q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, *args: Any, **kw: Any
) -> Any:
    if is_data(attn_mask) and torch.bool in call.dtypes:
        attn_mask = torch.where(attn_mask == 0, -torch.inf, attn_mask)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return call.record.trait.func(q, k, v, attn_mask, 0.0, *args, **kw)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "relu relu6 leaky_relu elu selu celu silu mish sigmoid logsigmoid log_sigmoid tanh hardtanh "
            "hardswish hardsigmoid hardshrink softshrink tanhshrink softplus softsign gelu threshold prelu "
            "rrelu rrelu_with_noise dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout "
            "feature_alpha_dropout bernoulli poisson exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square "
            "abs absolute neg negative positive reciprocal sin cos tan asin acos atan arcsin arccos arctan "
            "sinh cosh asinh acosh atanh erf erfc erfinv lgamma digamma sinc logit expit round floor ceil "
            "trunc fix frac sign sgn signbit nan_to_num deg2rad rad2deg isnan isinf isfinite isposinf "
            "isneginf isreal logical_not bitwise_not invert detach contiguous clone alias requires_grad to "
            "type type_as float double half bfloat16 long int short char byte bool cpu cuda cdouble cfloat "
            "chalf fake_quantize_per_tensor_affine quantize_per_tensor dequantize identity lift lift_fresh "
            "resolve_conj resolve_neg conj conj_physical pin_memory to_dense special_expit output"
        ).split(),
        lambda call, *args, **kwargs: collect_tensors((args, kwargs))[0],
    ),
    **dict.fromkeys(
        (
            "eq ne lt le gt ge greater greater_equal less less_equal not_equal isclose maximum minimum fmax "
            "fmin clamp clip clamp_min clamp_max fmod remainder floor_divide floordiv rfloordiv ifloordiv "
            "mod imod rmod heaviside copysign nextafter logical_xor bitwise_xor xor ixor rxor "
            "bitwise_left_shift bitwise_right_shift lshift rshift ilshift irshift gcd lcm normal"
        ).split(),
        _pointwise,
    ),
    # A constant False, or 0, decides.
    **dict.fromkeys(
        "logical_and bitwise_and and iand rand".split(), lambda call, a, b, **_: number(a) * number(b)
    ),
    **dict.fromkeys("logical_or bitwise_or or ior ror".split(), _or),
    "view": _view,
    "data": lambda call, *args: collect_tensors(args)[-1],  # `x.data = y` is y
    "where": _where,
    "masked_fill": lambda call, x, mask, value: _choose(mask, value, x),
    **dict.fromkeys(_DIMENSIONS, _along),
    **dict.fromkeys("cummax cummin".split(), lambda call, x, dim: [x.cumsum(dim)] * 2),
    **dict.fromkeys([f"max_pool{n}d{end}" for n in (1, 2, 3) for end in ("", "_with_indices")], _max_pool),
    **{
        f"adaptive_max_pool{n}d": lambda call, x, size, *_, n=n, **__: (
            [getattr(F, f"adaptive_avg_pool{n}d")(x, size)] * len(call.shapes)
        )
        for n in (1, 2, 3)
    },
    "embedding": lambda call, weight, index, *_, **__: _getitem(call, weight, index),
    "one_hot": lambda call, index, *_, **__: index.unsqueeze(-1).expand(call.shapes[0]),
    "isin": lambda call, x, others, **_: number(x) + number(others).sum(),
    "bucketize": lambda call, x, steps, **_: number(x) + number(steps).sum(),
    "index_select": lambda call, x, dim, index: _getitem(call, x.movedim(dim, 0), index).movedim(0, dim),
    "getitem": _getitem,
    "setitem": _setitem,
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(
        "lstm gru rnn_tanh rnn_relu".split(),
        lambda call, *args: call.record.trait.func(*(0.0 if type(arg) is float else arg for arg in args)),
    ),
}

"""Products of matrices and vectors, and einsum, which says any of them in letters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.signatures import matmul
from torcheer.autograd.torch_calls import broadcast, call, needs_dims, place_of
from torcheer.errors import InputError

# --- vectors ---------------------------------------------------------------------------------------------


@call("dot", "vdot")
def dot(a: Tensor, other: Tensor) -> Any:
    needs_dims(a, 1, "dot", "(a * b).sum()")
    needs_dims(other, 1, "dot", "(a * b).sum()")
    return matmul(a, other)


@call("outer", "ger")
def outer(a: Tensor, vec2: Tensor) -> Any:
    needs_dims(a, 1, "outer", "a.unsqueeze(-1) * b.unsqueeze(-2)")
    needs_dims(vec2, 1, "outer", "a.unsqueeze(-1) * b.unsqueeze(-2)")
    return a.unsqueeze(1) * vec2.unsqueeze(0)


@call("inner")
def inner(a: Tensor, other: Tensor) -> Any:
    """Over the last dimension of both."""
    if not len(a.shape) or not len(other.shape):
        return a * other
    return tensordot(a, other, ([-1], [-1]))


@call("linalg_vecdot")
def vecdot(a: Tensor, other: Tensor, *, dim: int = -1) -> Any:
    return torch.sum(a * other, dim)


@call("linalg_cross")
def linalg_cross(a: Tensor, other: Tensor, *, dim: int = -1) -> Any:
    if a.shape[dim] != 3 or other.shape[dim] != 3:
        raise InputError(
            f"a cross product is one of vectors in space, so dimension {dim} must have 3 elements: "
            f"{tuple(a.shape)}, {tuple(other.shape)}."
        )
    return torch.roll(a, -1, dim) * torch.roll(other, -2, dim) - torch.roll(a, -2, dim) * torch.roll(
        other, -1, dim
    )


@call("cross")
def cross(a: Tensor, other: Tensor, dim: int | None = None) -> Any:
    """Without a dimension, along the first that has three elements."""
    if dim is None:
        shape = broadcast(a.shape, other.shape)
        if 3 not in shape:
            raise InputError(f"no dimension of {shape} has the 3 elements that a cross product needs.")
        dim = shape.index(3) - len(shape)
    return linalg_cross(a, other, dim=dim)


# --- matrices --------------------------------------------------------------------------------------------


@call("mm")
def mm(a: Tensor, mat2: Tensor) -> Any:
    needs_dims(a, 2, "mm", "a @ b")
    needs_dims(mat2, 2, "mm", "a @ b")
    return matmul(a, mat2)


@call("mv")
def mv(a: Tensor, vec: Tensor) -> Any:
    needs_dims(a, 2, "mv", "a @ b")
    needs_dims(vec, 1, "mv", "a @ b")
    return matmul(a, vec)


@call("bmm")
def bmm(a: Tensor, mat2: Tensor) -> Any:
    needs_dims(a, 3, "bmm", "a @ b")
    needs_dims(mat2, 3, "bmm", "a @ b")
    if a.shape[0] != mat2.shape[0]:
        raise InputError(f"bmm takes as many matrices as there are: {a.shape[0]} and {mat2.shape[0]}.")
    return matmul(a, mat2)


@call("addmm", "addmv", "baddbmm")
def addmm(
    a: Tensor, mat1: Any = None, mat2: Any = None, *, beta: Any = 1, alpha: Any = 1, **named: Any
) -> Any:
    """beta a + alpha b c. The factors have other names for each kind: mat and vec, batch1 and batch2."""
    rest = iter(named.values())
    mat1 = next(rest) if mat1 is None else mat1
    mat2 = next(rest) if mat2 is None else mat2
    return _added(a, matmul(mat1, mat2), beta, alpha)


@call("addbmm")
def addbmm(a: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(a, torch.sum(bmm(batch1, batch2), 0), beta, alpha)


@call("addr")
def addr(a: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(a, outer(vec1, vec2), beta, alpha)


def _added(a: Tensor, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return product  # whatever is in a, be it NaN
    return (a if beta == 1 else beta * a) + product


@call("linalg_multi_dot")
def multi_dot(tensors: Sequence[Tensor]) -> Any:
    """In the order that takes the fewest multiplications."""
    if len(tensors) < 2:
        raise InputError("multi_dot takes at least two tensors.")
    widths = [1 if len(tensors[0].shape) == 1 else tensors[0].shape[0]]
    widths += [1 if len(one.shape) == 1 and place else one.shape[-1] for place, one in enumerate(tensors)]
    return _chained(tensors, 0, len(tensors), widths)


def _chained(tensors: Sequence[Tensor], start: int, end: int, widths: Sequence[int]) -> Any:
    """The product of the tensors from start to end."""
    where = _cut(start, end, widths, {})[1]
    if where is None:
        return tensors[start]
    return matmul(_chained(tensors, start, where, widths), _chained(tensors, where, end, widths))


def _cut(
    start: int, end: int, widths: Sequence[int], cuts: dict[tuple[int, int], Any]
) -> tuple[float, int | None]:
    """The cheapest place for the last product, and what all cost."""
    if end - start == 1:
        return 0, None
    if (start, end) not in cuts:
        cuts[start, end] = min(
            (
                _cut(start, where, widths, cuts)[0]
                + _cut(where, end, widths, cuts)[0]
                + widths[start] * widths[where] * widths[end],
                where,
            )
            for where in range(start + 1, end)
        )
    found: tuple[float, int | None] = cuts[start, end]
    return found


@call("chain_matmul")
def chain_matmul(*matrices: Tensor) -> Any:
    return multi_dot(matrices) if len(matrices) > 1 else matrices[0]


# --- tensors ---------------------------------------------------------------------------------------------


@call("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """The named dimensions become one on each side, and all others one: a product of two matrices."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        dims = (list(range(len(a.shape) - dims, len(a.shape))), list(range(dims)))
    left = [place_of(one, len(a.shape)) for one in dims[0]]
    right = [place_of(one, len(b.shape)) for one in dims[1]]
    if [a.shape[one] for one in left] != [b.shape[one] for one in right]:
        raise InputError(
            f"tensordot sums over dimensions of one size: {[a.shape[one] for one in left]} and "
            f"{[b.shape[one] for one in right]}."
        )
    rows = [one for one in range(len(a.shape)) if one not in left]
    columns = [one for one in range(len(b.shape)) if one not in right]
    shared = math.prod(a.shape[one] for one in left)
    high, wide = math.prod(a.shape[one] for one in rows), math.prod(b.shape[one] for one in columns)
    product = matmul(
        a.permute(rows + left).reshape(high, shared), b.permute(right + columns).reshape(shared, wide)
    )
    return product.reshape([a.shape[one] for one in rows] + [b.shape[one] for one in columns])


@call("kron")
def kron(a: Tensor, other: Tensor) -> Any:
    """Each element of the first times all of the second."""
    num_dims = max(len(a.shape), len(other.shape))
    first = (1,) * (num_dims - len(a.shape)) + tuple(a.shape)
    second = (1,) * (num_dims - len(other.shape)) + tuple(other.shape)
    apart = a.reshape([one for size in first for one in (size, 1)])
    product = apart * other.reshape([one for size in second for one in (1, size)])
    return product.reshape([one * two for one, two in zip(first, second, strict=True)])


@call("bilinear")
def bilinear(a: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    product = torch.einsum("...i,oij,...j->...o", a, weight, input2)
    return product if bias is None else product + bias


Labels = list[str]  # one for each dimension; those of the ellipsis are "…0", "…1" and so on, from the right


@call("einsum")
def einsum(equation: str, *operands: Any) -> Any:
    tensors = list(operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands)
    inputs, output = _parse(equation.replace(" ", ""), tensors)
    tensors, inputs = _without_repeats(tensors, inputs)
    tensors = _of_one_size(tensors, inputs, output)
    result, labels = tensors[0], inputs[0]
    if len(tensors) == 1:
        result, labels = _summed(result, labels, output)
    for place in range(1, len(tensors)):
        wanted = {*output, *(label for later in inputs[place + 1 :] for label in later)}
        result, labels = _product(result, labels, tensors[place], inputs[place], wanted)
    return rules.permute(result, dims=tuple(labels.index(label) for label in output))


# --- reading ---------------------------------------------------------------------------------------------


def _parse(equation: str, tensors: Sequence[Tensor]) -> tuple[list[Labels], Labels]:
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise InputError(f"einsum {equation!r} speaks of {len(terms)} tensors, and got {len(tensors)}.")
    inputs = [_labels(term, len(one.shape), equation) for term, one in zip(terms, tensors, strict=True)]
    ellipsis = max((len(one) for one in map(_ellipsis_of, inputs)), default=0)
    if arrow:
        output = _labels(right, len(right.replace("...", "")) + (ellipsis if "..." in right else 0), equation)
    else:
        letters = [label for one in inputs for label in one if not label.startswith("…")]
        once = sorted(label for label in set(letters) if letters.count(label) == 1)
        output = [f"…{place}" for place in reversed(range(ellipsis))] + once
    known = {label for one in inputs for label in one}
    if len(set(output)) != len(output) or not known.issuperset(output):
        raise InputError(
            f"einsum {equation!r}: each letter of the output stands there once, and in an input."
        )
    return inputs, output


def _labels(term: str, num_dims: int, equation: str) -> Labels:
    before, dots, after = term.partition("...")
    num_hidden = num_dims - len(before) - len(after)
    if not (before + after).replace("_", "a").isalpha() and before + after:
        raise InputError(f"einsum {equation!r}: dimensions are letters, with ... for any number of them.")
    if num_hidden < 0 or (num_hidden and not dots):
        raise InputError(f"einsum {equation!r}: {term!r} is said of a tensor of {num_dims} dimensions.")
    return [*before, *[f"…{place}" for place in reversed(range(num_hidden))], *after]


def _ellipsis_of(labels: Labels) -> Labels:
    return [label for label in labels if label.startswith("…")]


# --- making alike ----------------------------------------------------------------------------------------


def _without_repeats(tensors: Sequence[Any], inputs: Sequence[Labels]) -> tuple[list[Any], list[Labels]]:
    """`ii` is the diagonal."""
    new_tensors, new_inputs = [], []
    for one, given in zip(tensors, inputs, strict=True):
        tensor, labels = one, list(given)
        for label in dict.fromkeys(given):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                if tensor.shape[first] != tensor.shape[second]:
                    raise InputError(
                        f"einsum: {label!r} is {tensor.shape[first]} and {tensor.shape[second]}."
                    )
                tensor = torch.diagonal(tensor, 0, first, second)
                labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
        new_tensors.append(tensor)
        new_inputs.append(labels)
    return new_tensors, new_inputs


def _of_one_size(tensors: Sequence[Any], inputs: Sequence[Labels], output: Labels) -> list[Any]:
    """A dimension of size 1 is as large as the others of its letter."""
    size_of: dict[str, int] = {}
    for tensor, labels in zip(tensors, inputs, strict=True):
        for label, size in zip(labels, tensor.shape, strict=True):
            known = size_of.setdefault(label, size)
            if 1 not in (known, size) and known != size:
                raise InputError(
                    f"einsum: {label!r} has {known} elements in one tensor and {size} in another."
                )
            size_of[label] = size if known == 1 else known
    shapes = [tuple(size_of[label] for label in labels) for labels in inputs]
    return [
        one if tuple(one.shape) == shape else rules.expand(one, shape=shape)
        for one, shape in zip(tensors, shapes, strict=True)
    ]


# --- multiplying -----------------------------------------------------------------------------------------


def _summed(a: Any, labels: Labels, wanted: Any) -> tuple[Any, Labels]:
    """Without the dimensions that nobody asks for any more."""
    gone = [place for place, label in enumerate(labels) if label not in wanted]
    kept = [label for label in labels if label in wanted]
    return (torch.sum(a, gone) if gone else a), kept


def _product(a: Any, left: Labels, b: Any, right: Labels, wanted: set[str]) -> tuple[Any, Labels]:
    a, left = _summed(a, left, wanted | set(right))
    b, right = _summed(b, right, wanted | set(left))
    batch = [label for label in left if label in right and label in wanted]
    inner = [label for label in left if label in right and label not in wanted]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    size_of = dict(zip(left + right, [*a.shape, *b.shape], strict=True))
    if not inner:  # nothing to sum over: each with each
        a = _arranged(a, left, [*batch, *rows], [*batch, *rows, *columns], size_of)
        b = _arranged(b, right, [*batch, *columns], [*batch, *rows, *columns], size_of)
        return a * b, [*batch, *rows, *columns]
    sizes = [[size_of[label] for label in group] for group in (batch, rows, inner, columns)]
    deep, high, shared, wide = (math.prod(group) for group in sizes)
    first = a.permute([left.index(label) for label in [*batch, *rows, *inner]]).reshape(deep, high, shared)
    second = b.permute([right.index(label) for label in [*batch, *inner, *columns]]).reshape(
        deep, shared, wide
    )
    return matmul(first, second).reshape(sizes[0] + sizes[1] + sizes[3]), [*batch, *rows, *columns]


def _arranged(a: Any, labels: Labels, order: Labels, whole: Labels, size_of: dict[str, int]) -> Any:
    """In this order, with dimensions of size 1 for the labels that it does not have."""
    turned = a.permute([labels.index(label) for label in order])
    return turned.reshape([size_of[label] if label in order else 1 for label in whole])

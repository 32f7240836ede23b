"""Products of matrices and vectors, and einsum, which says any of them in letters."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.torch_calls import broadcast, call, plain
from torcheer.errors import InputError


@call("matmul", "__matmul__", "linalg_matmul", replace=True)
def matmul(a: Tensor, other: Tensor) -> Any:
    """Vectors count as matrices of one row or column; a single matrix on the right is there for all items."""
    rows, columns = tuple(a.shape), tuple(other.shape)
    if not rows or not columns:
        raise InputError("a matrix product needs vectors or matrices, not single numbers: use a * b.")
    left = rules.reshape(a, shape=(1, *rows)) if len(rows) == 1 else a
    right = rules.reshape(other, shape=(*columns, 1)) if len(columns) == 1 else other
    if len(rows) > 2 and len(columns) < 3 and 0 not in rows:
        flat = rules.matmul(rules.reshape(left, shape=(-1, rows[-1])), right)
        result = rules.reshape(flat, shape=(*rows[:-1], right.shape[-1]))
    else:
        result = rules.matmul(left, right)
    if len(rows) > 1 and len(columns) > 1:
        return result
    shape = list(result.shape)
    shape[len(shape) - 2 :] = [*shape[-2:-1][: len(rows) - 1], *shape[-1:][: len(columns) - 1]]
    return rules.reshape(result, shape=tuple(shape))


@call("__rmatmul__")
def rmatmul(a: Tensor, other: Tensor) -> Any:
    return matmul(other, a)


@call("linear", replace=True)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if len(weight.shape) == 1:  # one unit, whose dimension is left out
        product = matmul(x, weight)
        return product if bias is None else product + bias
    return rules.linear(x, weight, bias)


call("mm", "mv", "bmm", "dot", "vdot")(lambda a, other=None, **named: matmul(a, *_factors(named, other)))


def _factors(named: dict[str, Any], *given: Any) -> list[Any]:
    """torch has other names for each kind: other, mat2, vec; mat and vec, batch1 and batch2."""
    return [*(one for one in given if one is not None), *named.values()]


@call("addmm", "addmv", "baddbmm")
def addmm(a: Tensor, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:
    return _added(a, matmul(*_factors(named, *factors)), beta, alpha)


@call("addbmm")
def addbmm(a: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(a, torch.sum(matmul(batch1, batch2), 0), beta, alpha)


@call("addr")
def addr(a: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(a, outer(vec1, vec2), beta, alpha)


def _added(a: Tensor, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return product  # whatever is in a, be it NaN
    return (a if beta == 1 else beta * a) + product


@call("outer", "ger")
def outer(a: Tensor, vec2: Tensor) -> Any:
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


@call("cross", "linalg_cross", asks=True)
def cross(function: Any, a: Tensor, other: Tensor, dim: int | None = None) -> Any:
    """Without a dimension, along the last; of the older function, along the first that has three elements."""
    if dim is None:
        shape = broadcast(a.shape, other.shape)
        dim = -1 if function.__name__ == "linalg_cross" else shape.index(3) - len(shape)
    function(plain(a), plain(other), dim=dim)  # torch says if these are no vectors in space
    (a1, a2), (b1, b2) = ([torch.roll(one, -step, dim) for step in (1, 2)] for one in (a, other))
    return a1 * b2 - a2 * b1


@call("linalg_multi_dot")
def multi_dot(tensors: Sequence[Tensor]) -> Any:
    return functools.reduce(matmul, tensors)


@call("chain_matmul")
def chain_matmul(*matrices: Tensor) -> Any:
    return multi_dot(matrices)


# --- tensors ---------------------------------------------------------------------------------------------


@call("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """Dimensions that are summed over together have the same letter."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        dims = (range(len(a.shape) - dims, len(a.shape)), range(dims))
    left, right = ascii_letters[: len(a.shape)], list(ascii_letters[-len(b.shape) :])
    for one, other in zip(*dims, strict=True):
        right[other] = left[one]
    kept = [letter for letter in (*left, *right) if (letter in left) != (letter in right)]
    return torch.einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)


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


@call("einsum", replace=True)
def einsum(equation: str, *operands: Any) -> Any:
    """In the form that the rule has: a letter for each dimension, none twice, and each of one size."""
    tensors = list(operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands)
    terms, output = _letters(equation.replace(" ", ""), tensors)
    for place, term in enumerate(terms):
        tensors[place], terms[place] = _without_repeats(tensors[place], term)
    sizes: dict[str, int] = {}
    for tensor, term in zip(tensors, terms, strict=True):
        for letter, size in zip(term, tensor.shape, strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    shapes = [[sizes[letter] for letter in term] for term in terms]
    wide = [one.expand(shape) for one, shape in zip(tensors, shapes, strict=True)]
    return rules.einsum(*wide, terms=tuple(terms), output=output)


def _letters(equation: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    """The term of each tensor and that of the result, with letters for what `...` stands for."""
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    hidden = [len(one.shape) - len(term.replace("...", "")) for one, term in zip(tensors, terms, strict=True)]
    spare = "".join(letter for letter in ascii_letters if letter not in equation)[: max(0, *hidden, 0)]
    if not arrow:
        once = sorted(letter for letter in left if letter.isalpha() and left.count(letter) == 1)
        output = f"...{''.join(once)}"
    each = [term.replace("...", spare[len(spare) - num :]) for term, num in zip(terms, hidden, strict=True)]
    return each, output.replace("...", spare)


def _without_repeats(tensor: Any, term: str) -> tuple[Any, str]:
    """`ii` is the diagonal."""
    for letter in term:
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            tensor = torch.diagonal(tensor, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return tensor, term

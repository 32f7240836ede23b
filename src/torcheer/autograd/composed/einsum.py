"""einsum: each pair of tensors becomes a product of matrices, whatever the letters say.

A label is in one of four places. In both tensors and in what is still to come it goes along (a batch); in
both and nowhere else it is summed over (the inner dimension of the product); in one of them and in what is to
come it is a row or a column; in one and nowhere else it is summed over before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call
from torcheer.autograd.signatures import matmul
from torcheer.errors import InputError

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

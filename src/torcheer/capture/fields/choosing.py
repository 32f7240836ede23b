"""Stand-ins for functions in which the data says which elements are taken or written."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.capture.fields.standins import About, UndecidedError, choose, number, stands_for, tensors_of


@stands_for("embedding")
def _embedding(about: About, weight: Tensor, indices: Tensor, *_: Any, **__: Any) -> Tensor:
    if not indices.is_floating_point():
        return F.embedding(indices, weight)
    table = weight.sum(0) if 0 in about.data else torch.zeros(weight.shape[1:], dtype=indices.dtype)
    return indices.unsqueeze(-1) + table


@stands_for("one_hot")
def _one_hot(about: About, indices: Tensor, *_: Any, **__: Any) -> Tensor:
    return indices.unsqueeze(-1).expand(about.shapes[0])


@stands_for("gather take_along_dim")
def _gather(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    index = next(t for t in tensors_of(args, kwargs))
    dim = kwargs.get("dim", next((arg for arg in args if isinstance(arg, int)), None))
    if not index.is_floating_point():
        return about.func(x, *args, **kwargs)
    if dim is None:
        return x.sum() + index
    for other in (d for d in range(x.dim()) if d != dim % x.dim() and index.shape[d] != 1):
        x = x.narrow(other, 0, min(x.shape[other], index.shape[other]))
    return number(x).sum(dim, keepdim=True) + index


@stands_for("index_select")
def _index_select(about: About, x: Tensor, dim: int, index: Tensor) -> Any:
    if not index.is_floating_point():
        return x.index_select(dim, index)
    sizes = [1] * x.dim()
    sizes[dim] = -1
    return number(x).sum(dim, keepdim=True) + index.reshape(sizes)


@stands_for("getitem")
def _getitem(about: About, x: Tensor, key: Any) -> Any:
    keys = key if isinstance(key, tuple) else (key,)
    chosen = [i for i, each in enumerate(keys) if isinstance(each, Tensor) and each.is_floating_point()]
    if not chosen:
        return x[key]
    others = [each for i, each in enumerate(keys) if i not in chosen]
    is_plain = all(each is None or each is Ellipsis or isinstance(each, slice) for each in others)
    if len(chosen) > 1 or not is_plain or torch.bool in about.dtypes:
        raise UndecidedError("its data decides which elements it takes")
    index = keys[chosen[0]]
    # Which dimension it stands for: follow a mark through the same slices.
    plain = tuple(slice(None) if i in chosen else each for i, each in enumerate(keys))
    before = keys[: chosen[0]]
    if Ellipsis in [each for each in before if not isinstance(each, Tensor)]:
        rest = keys[chosen[0] + 1 :]
        dim = x[plain].dim() - sum(each is not Ellipsis for each in rest) - 1
    else:
        dim = chosen[0]
    total = number(x)[plain].sum(dim)
    lead, tail = total.shape[:dim], total.shape[dim:]
    return total.reshape(*lead, *[1] * index.dim(), *tail) + index.reshape(*index.shape, *[1] * len(tail))


@stands_for("setitem")
def _setitem(about: About, x: Tensor, key: Any, value: Any) -> Tensor:
    if isinstance(key, Tensor) and key.is_floating_point() and about.dtypes >= {torch.bool}:
        if isinstance(value, Tensor) and value.dim():
            raise UndecidedError("its data decides which elements it writes")
        return choose(key.reshape(*key.shape, *[1] * (x.dim() - key.dim())), value, x)
    x = x.clone()
    x[key] = value
    return x


@stands_for("scatter scatter_add scatter_reduce")
def _scatter(
    about: About, x: Tensor, dim: int, index: Tensor, src: Any = None, *args: Any, **kwargs: Any
) -> Any:
    reduce = kwargs.pop("reduce", args[0] if args else None)
    source = kwargs.pop("value", None) if src is None else src
    if not index.is_floating_point():
        if reduce is None:
            add_only = about.func in (torch.scatter_add, torch.Tensor.scatter_add, torch.Tensor.scatter_add_)
            return (x.scatter_add if add_only else x.scatter)(dim, index, _like(source, index))
        return x.scatter_reduce(dim, index, _like(source, index), "sum", **kwargs)
    dim %= x.dim()
    if any(x.shape[d] != index.shape[d] for d in range(x.dim()) if d != dim):
        raise UndecidedError("its data decides where it writes")
    return x + (_like(source, index) + index).sum(dim, keepdim=True)


def _like(source: Any, index: Tensor) -> Tensor:
    """What is written: of a source that is larger than the index only the part that is read."""
    if not isinstance(source, Tensor):
        return torch.full(index.shape, float(source), dtype=torch.float64)
    return source[tuple(slice(size) for size in index.shape)]


@stands_for("grid_sampler grid_sampler_2d grid_sampler_3d")
def _grid_sample(about: About, x: Tensor, grid: Tensor, *args: Any, **kwargs: Any) -> Any:
    if 1 not in about.data:
        return about.func(x, grid, *args, **kwargs)
    places = grid.sum(-1).unsqueeze(1)
    return x.flatten(2).sum(-1).reshape(*x.shape[:2], *[1] * (places.dim() - 2)) + places


@stands_for("as_strided")
def _as_strided(about: About, *args: Any, **kwargs: Any) -> Any:
    raise UndecidedError("how its memory lay is not known any more")


@stands_for("isin")
def _is_in(about: About, elements: Any, others: Any, **_: Any) -> Any:
    return sum((number(others).sum(), number(elements)))


@stands_for("searchsorted bucketize")
def _search(about: About, a: Any, b: Any, **_: Any) -> Any:
    values, steps = (a, b) if "bucketize" in str(about.func) else (b, a)
    if steps.dim() > 1:
        raise UndecidedError("it searches in several rows")
    return number(values) + number(steps).sum()


@stands_for("nll_loss nll_loss_nd nll_loss2d cross_entropy_loss")
def _class_loss(about: About, scores: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Any:
    is_class = target.is_floating_point() and (target.dim() < scores.dim() or target.dim() == 0)
    if not is_class or 1 not in about.data:
        return about.func(scores, target, *args, **kwargs)
    each = scores.sum(1 if scores.dim() > 1 else 0) + target
    return each if each.shape == about.shapes[0] else each.sum()

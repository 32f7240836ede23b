"""Where a pass attends: the weights of attention, also of those kernels that never write them down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from torcheer.capture import Scope, undisturbed
from torcheer.netview.flow import ATTENTION, COMBINING, MINOR, MULTIHEAD, PRODUCTS, Flow

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
    sites = []
    for op in range(len(flow.records)):
        kind = flow.type(op)
        if kind == ATTENTION:
            found = [flow.argument(op, place, name) for place, name in enumerate(("query", "key", "value"))]
            if all(one is not None and one >= 0 for one in found):
                query, key, value = (one for one in found if one is not None)
                sites.append(
                    Site(
                        out=op,
                        weights=None,
                        asks=(query, key),
                        value=value,
                        scores=frozenset(),
                        module=_multihead(flow, op),
                    )
                )
        elif kind in _JOINS:
            site = _written_out(flow, op)
            sites += [] if site is None else [site]
    return sites


def _written_out(flow: Flow, op: int) -> Site | None:
    """`softmax(scores) @ values`."""
    left, right = flow.argument(op, 0, "input"), flow.argument(op, 1, "other")
    if right is None:
        right = flow.argument(op, 1, "mat2")
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


# --- values ------------------------------------------------------------------------------------------


def weights_of(flow: Flow, site: Site, num_items: int | None) -> Tensor | None:
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

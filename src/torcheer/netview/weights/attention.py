"""Attention: a unit of a head receives from the values of all tokens, each by the attention to it.

`output[query, feature]` is the sum over keys of `attention[head, query, key] * value[key, feature]`: a unit
connects to units of the same feature. Layers lie as [tokens, features], head after head, or as [heads,
tokens, features of a head]. Of values there may be fewer heads, each for several heads of queries. Where one
layer gives queries, keys and values side by side, the values are its last features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from torcheer.netview.weights.ends import Ends, Laid, Shape, Values


def attention_received(ends: Ends, unit: int) -> Laid:
    outputs, values = _both(ends)
    head, query, feature = outputs.find(unit)
    keys = numpy.arange(ends.weight.shape[2])
    return Laid(values.units(head // values.group, keys, feature), ends.weight[head, query])


def attention_sent(ends: Ends, unit: int) -> Laid:
    outputs, values = _both(ends)
    value_head, key, feature = values.find(unit)
    if not 0 <= value_head < values.num_heads:  # a query, or a key
        return Laid(numpy.zeros(0, numpy.int64), ends.weight[:0, 0, 0])
    heads = numpy.arange(value_head * values.group, (value_head + 1) * values.group)
    queries = numpy.arange(ends.weight.shape[1])
    return Laid(outputs.units(heads[:, None], queries, feature), ends.weight[heads, :, key])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """Where a head's feature of a token stands in a layer."""

    num_tokens: int
    num_heads: int
    num_features: int  # of a head
    group: int  # heads of queries for each head here
    start: int  # the first feature, where others stand before
    width: int  # features of a token; 0 where heads come before tokens

    def units(self, head: int | Values, token: Values, feature: int) -> Values:
        if not self.width:
            return (head * self.num_tokens + token) * self.num_features + feature
        return token * self.width + self.start + head * self.num_features + feature

    def find(self, unit: int) -> tuple[int, int, int]:
        """Head, token and feature. Before the first head, the head is negative."""
        if not self.width:
            row, feature = divmod(unit, self.num_features)
            return *divmod(row, self.num_tokens), feature
        token, column = divmod(unit, self.width)
        head, feature = divmod(column - self.start, self.num_features)
        return head, token, feature


def _both(ends: Ends) -> tuple[_Heads, _Heads]:
    if ends.weight.ndim != 3 or 0 in ends.weight.shape:
        raise ends.misfit()
    num_heads, num_queries, num_keys = ends.weight.shape
    outputs = _heads(ends, ends.target_shape, num_queries, num_heads)
    if outputs.num_heads != num_heads or outputs.start:
        raise ends.misfit()
    values = _heads(ends, ends.source_shape, num_keys, num_heads, outputs.num_features)
    return outputs, values


def _heads(ends: Ends, shape: Shape, num_tokens: int, most_heads: int, num_features: int = 0) -> _Heads:
    """`num_features`: of a head, where that is known."""
    if len(shape) == 3:
        num_heads, tokens, features = shape
        width, start = 0, 0
        fits = tokens == num_tokens and features == (num_features or features) > 0
    elif len(shape) == 2:
        tokens, width = shape
        features = num_features or width // most_heads
        num_heads = width // features if features else 0
        if num_heads > most_heads:
            num_heads, rest = divmod(num_heads - most_heads, 2)
            num_heads = 0 if rest else num_heads
        start = width - num_heads * features if width > most_heads * features else 0
        fits = tokens == num_tokens and features > 0 and width % features == 0
    else:
        raise ends.misfit()
    if not fits or num_heads < 1 or most_heads % num_heads:
        raise ends.misfit()
    return _Heads(
        num_tokens=num_tokens,
        num_heads=num_heads,
        num_features=features,
        group=most_heads // num_heads,
        start=start,
        width=width,
    )

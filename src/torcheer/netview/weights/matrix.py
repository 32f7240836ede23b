"""A row or a column of a matrix: linear layers, and embeddings."""

from __future__ import annotations

import numpy

from torcheer.errors import InputError
from torcheer.netview.weights.ends import Ends, Laid, Shape, Values


def linear_received(ends: Ends, unit: int) -> Laid:
    """A layer over the last dimension connects what has the same place in all others, the same token say."""
    matrix = _matrix(ends)
    num_out, num_in = matrix.shape
    row, column = divmod(unit, num_out)
    return Laid(row * num_in + numpy.arange(num_in), matrix[column])


def linear_sent(ends: Ends, unit: int) -> Laid:
    matrix = _matrix(ends)
    num_out, num_in = matrix.shape
    row, column = divmod(unit, num_in)
    return Laid(row * num_out + numpy.arange(num_out), matrix[:, column])


def _matrix(ends: Ends) -> Values:
    """[out, in], checked."""
    matrix = ends.weight
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ends.misfit()
    if ends.connection.is_transposed:
        matrix = matrix.T
    num_out, num_in = matrix.shape
    num_rows = ends.num_target_units // num_out
    if not _is_cut_in_rows(ends.source_shape, num_in) or not _is_cut_in_rows(ends.target_shape, num_out):
        raise ends.misfit()
    if (num_rows * num_in, num_rows * num_out) != (ends.num_source_units, ends.num_target_units):
        raise ends.misfit()
    return matrix


def _is_cut_in_rows(shape: Shape, num_units: int) -> bool:
    """Can a view make rows of so many units? Dimensions that have changed places on the way mostly cannot."""
    for size in reversed(shape):
        if num_units % size:
            return size % num_units == 0
        num_units //= size
    return num_units == 1


def embedding_received(ends: Ends, unit: int) -> Laid:
    """Each unit receives one weight, of the token at its place."""
    place, feature = divmod(unit, _num_features(ends))
    return Laid(numpy.array([place]), _row_of_token(ends, place)[[feature]])


def embedding_sent(ends: Ends, unit: int) -> Laid:
    num_features = _num_features(ends)
    return Laid(unit * num_features + numpy.arange(num_features), _row_of_token(ends, unit))


def _num_features(ends: Ends) -> int:
    num_features = int(ends.weight.shape[-1]) if ends.weight.ndim == 2 else 0
    if not num_features or ends.num_target_units != ends.num_source_units * num_features:
        raise ends.misfit()
    return num_features


def _row_of_token(ends: Ends, place: int) -> Values:
    source = ends.connection.source
    if ends.source_values is None:
        raise InputError(
            f"which weights {ends.connection.target!r} receives depends on the tokens, and those of "
            f"{source!r} are not known: record its variable Act."
        )
    if ends.source_values.size != ends.num_source_units:
        raise ends.misfit()
    token = float(ends.source_values.ravel()[place])
    num_tokens = len(ends.weight)
    if not token.is_integer() or not 0 <= token < num_tokens:
        raise InputError(
            f"unit {place} of {source!r} is {token:g}, and there are weights of the tokens 0 to "
            f"{num_tokens - 1}."
        )
    row: Values = ends.weight[int(token)]
    return row

"""Every composed op, as torch's users call it, against torch: values, gradients, gradients of gradients."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torcheer.autograd as ag
from tests.autograd.against import agrees, close, sampled
from torcheer.errors import AutogradError, InputError

# One line each: an expression of x (y, z), the shapes of these, and where their numbers lie.
ELEMENTWISE = """
    x.square()                          | 2,3
    torch.square(input=x)               | 2,3
    x.rsqrt()                           | 2,3 | positive
    x.reciprocal()                      | 2,3 | apart
    torch.exp2(x)                       | 2,3
    torch.special.exp2(x)               | 2,3
    x.log2() + x.log10()                | 2,3 | positive
    x.tan()                             | 2,3 | unit
    x.sinh() + x.cosh()                 | 2,3
    x.acos() + torch.arccos(x)          | 2,3 | unit
    x.asinh() + torch.arcsinh(x)        | 2,3
    (x * 1e-9).asinh()                  | 2,3
    (x * 1e9).asinh()                   | 2,3
    x.atanh() + torch.arctanh(x)        | 2,3 | unit
    x.acosh() + torch.arccosh(x)        | 2,3 | above one
    torch.atan2(x, y)                   | 40; 40
    x.arctan2(y)                        | 2,3; 3
    torch.hypot(x, y)                   | 2,3; 3
    torch.hypot(x * 1e200, y * 1e200)   | 2,3; 3 | apart
    torch.logaddexp(x, y)               | 2,3; 3
    torch.logaddexp(x, x)               | 2,3
    torch.logaddexp(x * 500, y * 500)   | 2,3; 3
    torch.logit(x)                      | 2,3 | share
    torch.logit(x, eps=0.3)             | 7   | share
    torch.special.logit(x, 1e-6)        | 2,3 | share
    torch.deg2rad(x) + x.rad2deg()      | 2,3
    torch.lerp(x, y, 0.3)               | 2,3; 2,3
    x.lerp(y, weight=z)                 | 2,3; 2,3; 2,3
    torch.addcmul(x, y, z, value=0.5)   | 2,3; 3; 2,1
    x.addcmul(y, z)                     | 2,3; 3; 2,1
    torch.addcdiv(x, y, z, value=2)     | 2,3; 3; 2,1 | apart
    torch.nan_to_num(x)                 | 2,3
    x.abs() + torch.absolute(x) + abs(x) | 2,3
    x.sign() + x.floor() + x.ceil() + x.trunc() + x.fix() | 2,3
    x.round() + torch.round(x, decimals=1) + torch.special.round(x) | 2,3
    x.sgn()                             | 2,3
    x.frac()                            | 2,3
    torch.fmod(x, 0.4) + x.fmod(y)      | 2,3; 3 | apart
    x % 0.4 + torch.remainder(x, y)     | 2,3; 3 | apart
    torch.div(x, y, rounding_mode="floor") + torch.divide(x, y, rounding_mode="trunc") | 2,3; 3 | apart
    torch.div(x, y) + x.true_divide(other=y) + x / y | 2,3; 3 | apart
    0.1 - x + (0.1 / x)                 | 2,3 | apart
    torch.rsub(x, 2, alpha=3)           | 2,3
    torch.rsub(x, y)                    | 2,3; 3
    torch.add(x, y, alpha=2) + torch.sub(x, other=y, alpha=3) | 2,3; 3
    torch.add(x, 2, alpha=3)            | 2,3
    x.multiply(y) + torch.mul(input=x, other=y) | 2,3; 3
    2 ** x + x ** 2 + x ** -1.5 + x ** 0 | 2,3 | positive
    x ** y                              | 2,3; 3 | positive
    torch.pow(2.5, x) + torch.pow(x, exponent=3) | 2,3
    torch.float_power(x, 2)             | 2,3
    x.expm1() + torch.special.expm1(x)  | 2,3
    x.erf() + torch.special.erf(x)      | 2,3
    torch.special.expit(x)              | 2,3
    -x + x.neg() + torch.negative(x) + (+x) | 2,3
    torch.where(x > 0, x, y)            | 2,3; 3
    torch.where(x > 0, 1.5, x)          | 2,3
    x.where(x > 0, y)                   | 2,3; 3
    x.real.conj()                       | 2,3
"""

ACTIVATIONS = """
    F.relu(x) + torch.relu(x) + x.relu() | 2,3
    F.relu6(x * 5)                      | 2,3
    F.leaky_relu(x) + F.leaky_relu(x, 0.2) | 2,3
    F.elu(x) + F.elu(x, alpha=0.5)      | 2,3
    F.elu(x * 1000)                     | 2,3
    F.selu(x) + torch.selu(x)           | 2,3
    F.celu(x) + torch.celu(x, alpha=2.0) | 2,3
    F.gelu(x)                           | 2,3
    F.gelu(x, approximate="tanh")       | 2,3
    F.silu(x)                           | 2,3
    F.mish(x)                           | 2,3
    F.hardtanh(x) + F.hardtanh(x, -0.5, 0.2) | 2,3
    F.hardsigmoid(x * 3)                | 2,3
    F.hardswish(x * 3)                  | 2,3
    F.softplus(x) + F.softplus(x, beta=2) + F.softplus(x * 30, 1, 10) | 2,3
    F.softplus(x * 1000)                | 2,3
    F.softsign(x)                       | 2,3
    F.tanhshrink(x)                     | 2,3
    F.logsigmoid(x) + F.logsigmoid(x * 900) | 2,3
    F.threshold(x, 0.1, 20.0) + torch.threshold(x, 0.2, 3.0) | 2,3
    F.prelu(x, y)                       | 2,3; 1
    F.prelu(x, y)                       | 2,3,2; 3
    torch.prelu(x, y)                   | 4; 1
    F.hardshrink(x) + x.hardshrink(0.2) | 2,3
    F.softshrink(x, 0.3)                | 2,3
    F.glu(x)[:2] + F.glu(x, 0)[:, :2]   | 4,4
    F.softmin(x, 1)                     | 2,3
    F.softmax(x, dim=-1) + torch.softmax(x, 0) + x.softmax(1) | 2,3
    F.log_softmax(x, -1) + x.log_softmax(0) | 2,3
    F.sigmoid(x) + F.tanh(x)            | 2,3
"""

BOUNDS = """
    x.clamp(-0.5, 0.5) + torch.clip(x, min=-0.1) + x.clip(max=0.3) | 2,3
    x.clamp(min=y)                      | 2,3; 3
    torch.clamp(x, y - 2, z + 2)        | 2,3; 3; 2,1
    torch.clamp(x, y, z)                | 20; 20; 20
    x.clamp_min(0.1) + torch.clamp_max(x, 0.2) | 2,3
    torch.clamp_min(x, y)               | 2,3; 3
    torch.maximum(x, y) + x.minimum(y)  | 2,3; 3
    torch.maximum(x, x * 1) + torch.minimum(x * 1, other=x) | 2,3
    torch.fmax(x, y) + x.fmin(y)        | 2,3; 3
    torch.fmax(x, x * 1)                | 2,3
    torch.max(x) + x.min()              | 2,3
    x.max(1)                            | 2,3
    x.max(dim=0, keepdim=True)          | 2,3
    x.min(-1).values + torch.min(x, 1)[0] | 2,3
    torch.max(x, y) + torch.min(x, other=y) | 2,3; 3
    x.amax() + x.amin()                 | 2,3
    x.amax(1) + x.amin(dim=(1,))        | 2,3
    x.amax((0, 1), keepdim=True)        | 2,3
    x.round().amax(0)                   | 9,3
    x.cummax(1)                         | 2,5
    torch.cummin(x, dim=0)              | 4,2
"""

REDUCTIONS = """
    x.sum() + x.sum(0).sum() + torch.sum(x, dim=(0, 1)) | 2,3
    x.sum(axis=1, keepdim=True)         | 2,3
    x.sum(dtype=torch.float32)          | 2,3
    x.mean() + torch.mean(x, 1) + x.mean(dim=(0,), keepdim=True).sum() | 2,3
    x.var() + x.var(False) + x.var(unbiased=False) | 2,3
    x.var(0) + x.var(0, False) + x.var(dim=0, correction=0) | 4,3
    torch.var(x, (0, 1), keepdim=True)  | 4,3
    x.std() + x.std(0, keepdim=True) + torch.std(x, 1, unbiased=False).sum() | 4,3
    torch.var_mean(x) + torch.var_mean(x, 1, correction=0) | 4,3
    torch.std_mean(x, dim=0, keepdim=True) | 4,3
    x.var(1)                            | 4,1
    x.norm() + x.norm(1) + torch.norm(x, p=3) | 2,3
    x.norm(dim=1) + x.norm(p=1, dim=1) + x.norm(float("inf"), 1) + torch.norm(x, "fro", 1) | 2,3
    torch.norm(x, p=2, dim=(0, 1), keepdim=True) | 2,3
    torch.linalg.norm(x) + torch.linalg.norm(x, "fro")  | 2,3
    torch.linalg.norm(x, 2, dim=1, keepdim=True) | 2,3
    torch.linalg.vector_norm(x) + torch.linalg.vector_norm(x, 1.5, dim=0) | 2,3
    torch.linalg.vector_norm(x, -float("inf")) + torch.linalg.vector_norm(x, 0) | 2,3
    torch.linalg.vector_norm(x, 0.5, 1) + torch.linalg.vector_norm(x, -2, 1) | 2,3
    x.prod() + x.prod(0) + torch.prod(x, dim=1, keepdim=True) | 3,3
    (x * (x > 0)).prod() + (x * (x.abs() > 0.3)).prod(1) | 5,3
    x.prod(1)                           | 3,0
    x.prod() + x.prod(0)                | 1
    x.cumsum(1) + torch.cumsum(x, dim=0) | 3,3
    x.cumprod(1) + torch.cumprod(x, dim=0) | 3,5
    (x * (x > -0.3)).cumprod(0)         | 7,2
    x.logsumexp(1) + torch.logsumexp(x, dim=(0, 1)) + torch.special.logsumexp(x, 0, keepdim=True) | 2,2
    x.nansum() + torch.nansum(x, 1)     | 2,3
    x.nanmean() + torch.nanmean(x, dim=0, keepdim=True) | 2,3
    torch.diff(x) + x.diff(dim=1)       | 3,4
    torch.diff(x, 2, 0, prepend=y)      | 3,4; 1,4
    x.median() + x.median(1).values + torch.median(x, dim=0, keepdim=True)[0] | 3,3
    x.round().median()                  | 4,3
    x.nanmedian() + x.nanmedian(1).values | 3,3
    x.sort()                            | 3,4
    torch.sort(x, dim=0, descending=True) | 3,4
    torch.sort(x, stable=True, dim=0)   | 3,4
    x.msort()                           | 3,4
    x.topk(2)                           | 3,4
    torch.topk(x, k=2, dim=0, largest=False) | 3,4
    x.kthvalue(2)                       | 3,4
    torch.kthvalue(x, k=2, dim=0, keepdim=True) | 3,4
"""

SHAPES = """
    x.flatten() + torch.flatten(x, 0)   | 2,3
    x.flatten(1, 2)                     | 2,3,2,2
    x.flatten()                         | -
    x.ravel() + x.unflatten(0, (2, -1)).reshape(-1) | 6
    x.unflatten(dim=1, sizes=(3, 2))    | 2,6
    x.squeeze() + x.squeeze(0).squeeze(-1) | 1,3,1
    x.squeeze((0, 2)) + torch.squeeze(x, dim=2).sum() | 1,3,1
    x.unsqueeze(0) + x.unsqueeze(dim=-1).reshape(1, 2, 3) | 2,3
    x.movedim(0, 2) + torch.moveaxis(x, (0, 1), (2, 0)).movedim(0, 0) | 2,2,2
    torch.movedim(x, (0, -1), (1, 0))   | 2,3,4
    x.transpose(0, 2) + torch.swapaxes(x, 0, 2) + x.swapdims(2, 0) | 2,3,4
    x.T + x.t() + x.mT + x.H + x.adjoint() + x.mH | 2,3
    x.permute(2, 0, 1) + torch.permute(x, (2, 0, 1)) + x.permute(dims=(-1, 0, 1)) | 2,3,4
    x.view(3, -1) + x.view((3, 4)) + x.view(size=(3, 4)) + x.reshape(shape=(3, 4)) | 2,6
    x.view_as(y) + x.reshape_as(y)      | 6; 2,3
    x.expand(4, 3) + x.expand((4, -1)) + torch.broadcast_to(x, (4, 3)) | 1,3
    x.expand_as(y) * y                  | 3; 2,3
    torch.broadcast_tensors(x, y)       | 3; 2,1
    x.repeat(2) + x.repeat((2,)) + x.tile(2) + torch.tile(x, (2,)) | 3
    x.repeat(2, 1, 3) + x.repeat(repeats=(2, 1, 3)) | 2,3
    torch.tile(x, (2, 2))               | 2,3,2
    x.repeat_interleave(2) + torch.repeat_interleave(x, repeats=2) | 2,3
    torch.repeat_interleave(x, torch.tensor([1, 0, 3]), dim=1) | 2,3
    torch.stack([x, y], 1) + torch.stack((x, y), dim=-2) | 2,3; 2,3
    torch.stack([x, y], dim=-1)         | 2,3; 2,3
    torch.cat([x, y], dim=1) + torch.concat((x, y), -1) + torch.concatenate([x, y], axis=1) | 2,3; 2,1
    torch.cat([x, torch.empty(0, dtype=torch.float64), y]) | 2,3; 1,3
    torch.hstack([x, y])                | 2; 3
    torch.hstack([x, y])                | 2,2; 2,1
    torch.vstack([x, y]) + torch.row_stack((x, y)) | 3; 2,3
    torch.dstack([x, y])                | 2,3; 2,3
    torch.column_stack([x, y])          | 2; 2,3
    torch.atleast_1d(x) + torch.atleast_2d(x) + torch.atleast_3d(x) | 3
    torch.atleast_2d(x, y)              | -; 3
    x.split(2) + torch.split(x, 3) + x.split([1, 4]) | 5,2
    torch.split(x, split_size_or_sections=2, dim=1) | 2,5
    x.split_with_sizes((2, 3))          | 5
    x.chunk(3) + torch.chunk(x, 2, dim=1) | 5,3
    x.unbind() + torch.unbind(x, 1)     | 2,3
    x.tensor_split(3) + torch.tensor_split(x, (1, 4)) | 5,2
    torch.tensor_split(x, indices=(1, -1), dim=1) | 2,4
    x.hsplit(2) + x.vsplit((1,))        | 2,4
    [row * 2 for row in x]              | 2,3
    [row * 2 for row in reversed(x)]    | 2,3
    x.narrow(1, 1, 2) + torch.narrow(x, dim=1, start=-2, length=2) | 2,3
    x.select(1, 2) + torch.select(x, dim=1, index=-1) | 2,3
    x.roll(1) + x.roll(-2, 1) + torch.roll(x, shifts=(1, 2), dims=(0, 1)) | 3,4
    x.rot90() + torch.rot90(x, 3) + x.rot90(k=-1) + x.rot90(5, (1, 0)) | 3,3
    x.rot90(2) + x.rot90(0)             | 2,3
    x.flip(0) + x.flip(0, 1) + torch.flip(x, dims=(1,)) + x.fliplr() + torch.flipud(x) | 2,3
    torch.meshgrid(x, y, indexing="ij") + torch.meshgrid([x, y], indexing="xy") | 2; 3
    torch.cartesian_prod(x, y)          | 2; 3
    x.clone() + x.contiguous() + x.T.contiguous().T | 2,3
    x.T.clone(memory_format=torch.contiguous_format) | 2,3
"""

PICKING = """
    x[0] + x[-1] + x[0, :]              | 2,3
    x[:, 1:] + x[..., :2] + x[:, [0, 2]] | 2,3
    x[x > 0]                            | 2,3
    x[None, :, ::2]                     | 2,3
    x[torch.tensor([0, 0, 1])]          | 2,3
    x[torch.tensor([0, 1]), torch.tensor([2, 2])] | 2,3
    x[True]                             | 2,3
    x[:, torch.tensor([[0, 1], [1, 1]]), 0] | 2,3,2
    x.gather(1, torch.tensor([[0, 0], [2, 1]])) | 2,3
    torch.gather(x, dim=-1, index=torch.tensor([[0, 0], [2, 1]])) | 2,3
    x.index_select(1, torch.tensor([2, 0, 2])) | 2,3
    torch.index_select(x, dim=1, index=torch.tensor([1, 1, 1])) | 2,3
    x.take(torch.tensor([[0, 5], [5, 1]])) | 2,3
    torch.take_along_dim(x, torch.tensor([[0], [2]]), dim=1) | 2,3
    x.take_along_dim(torch.tensor([[0, 1, 1]]), 0) + x.take_along_dim(torch.tensor([4, 4, 0])) | 2,3
    x.masked_select(x > 0) + torch.masked_select(x, mask=x > 0) | 2,3
    x.masked_select(torch.tensor([True, False, True])) | 2,3
    x.masked_fill(x > 0, -1.0) + torch.masked_fill(x, x < 0, value=2) | 2,3
    x.masked_fill(torch.tensor([True, False, True]), y) | 2,3; -
    x.index_fill(1, torch.tensor([0, 2]), 3.0) + torch.index_fill(x, 0, torch.tensor([1]), -1) | 2,3
    x.diagonal() + x.diagonal(1)[:2] + torch.diagonal(x, offset=0, dim1=1, dim2=0) | 2,3
    x.diagonal(-1, 0, 2)                | 3,2,4
    torch.linalg.diagonal(x, offset=1)  | 3,2,4
    x.diag() + torch.diag(x, 1)[:2]     | 2,3
    x.diag() + torch.diag(x) + x.diag_embed() | 3
    x.diag(-2)                          | 3
    torch.diag_embed(x, 1, 0, 2)        | 2,3
    x.trace() + torch.trace(x)          | 3,2
    x.tril() + x.triu(1) + torch.tril(x, diagonal=-1) | 3,3
    x.triu()                            | 2,3,3
    x.scatter(1, torch.tensor([[0, 2], [1, 0]]), y) | 2,3; 2,2
    torch.scatter(x, 1, torch.tensor([[0], [1]]), value=5.0) | 2,3
    x.scatter(0, torch.tensor([[1, 0]]), y) | 2,3; 1,2
    x.scatter_add(1, torch.tensor([[0, 0], [1, 0]]), y) | 2,3; 2,2
    x.index_add(0, torch.tensor([1, 1, 0]), y) | 2,3; 3,3
    torch.index_add(x, 0, torch.tensor([0, 0, 0]), y, alpha=2) | 2,3; 3,3
    x.index_copy(1, torch.tensor([2, 0]), y) | 2,3; 2,2
    x.index_put((torch.tensor([0, 1]), torch.tensor([2, 2])), y) | 2,3; 2
    x.index_put((torch.tensor([1, 1]),), y, accumulate=True) | 2,3; 2,3
    torch.select_scatter(x, y, 1, 2)    | 2,3; 2
    torch.slice_scatter(x, y, 1, 1)     | 2,3; 2,2
    x.masked_scatter(torch.tensor([True, False, True]), y) | 2,3; 2,2
"""

PRODUCTS = """
    x @ y + torch.matmul(x, other=y) + x.mm(y) + torch.mm(input=x, mat2=y) | 2,3; 3,4
    x @ y                               | 3; 3
    x @ y                               | 2,3; 3
    x @ y                               | 3; 3,2
    x @ y                               | 5,2,3; 3,4
    x @ y                               | 2,3; 5,3,4
    x @ y                               | 5,1,2,3; 4,3,2
    x @ y                               | 5,2,3; 3
    x @ y                               | 3; 5,3,2
    torch.ones(2, 3, dtype=torch.float64) @ x | 3,2
    x.dot(y) + torch.vdot(x, y) + torch.inner(x, y) | 3; 3
    torch.outer(x, y) + torch.ger(x, vec2=y) | 2; 3
    x.mv(y) + torch.mv(x, vec=y)        | 2,3; 3
    torch.bmm(x, y) + x.bmm(mat2=y)     | 4,2,3; 4,3,2
    torch.addmm(x, y, z, beta=0.5, alpha=2) + x.addmm(mat1=y, mat2=z) | 4; 2,3; 3,4
    torch.addmv(x, y, z, alpha=2) + x.addmv(mat=y, vec=z) | 2; 2,3; 3
    torch.baddbmm(x, y, z) + x.baddbmm(batch1=y, batch2=z, beta=0) | 4,2,2; 4,2,3; 4,3,2
    torch.addbmm(x, y, z, beta=2)       | 2,2; 4,2,3; 4,3,2
    torch.addr(x, y, z, alpha=3)        | 2,3; 2; 3
    torch.inner(x, y)                   | 2,3; 4,3
    torch.tensordot(x, y, dims=1)       | 2,3; 3,4
    torch.tensordot(x, y, ([1, 0], [0, 2])) | 2,3,4; 3,5,2
    torch.tensordot(x, y, 0)            | 2; 3
    torch.linalg.multi_dot([x, y, z])   | 2,3; 3,4; 4,2
    torch.linalg.multi_dot([x, y, z])   | 3; 3,4; 4
    torch.chain_matmul(x, y, z)         | 2,3; 3,4; 4,2
    torch.linalg.vecdot(x, y)           | 2,3; 2,3
    F.bilinear(x, y, z)                 | 2,3; 2,4; 5,3,4
    F.linear(x, y)                      | 2,3; 4,3
    F.linear(x, y, z)                   | 5,2,3; 4,3; 4
    F.linear(x, y, z)                   | 3; 4,3; 4
    F.linear(x, y)                      | 2,3; 3
    torch.einsum("ij,jk->ik", x, y)     | 2,3; 3,4
    torch.einsum("ij,jk", x, y)         | 2,3; 3,4
    torch.einsum("ii", x) + torch.einsum("ii->", x) | 3,3
    torch.einsum("ii->i", x) + torch.einsum("ij->j", x) | 3,3
    torch.einsum("ij->ji", x)           | 2,3
    torch.einsum("bij,bjk->bik", x, y)  | 4,2,3; 4,3,2
    torch.einsum("...ij,...jk->...ik", x, y) | 5,2,3; 3,4
    torch.einsum("...i,...i->...", x, y) | 4,1,3; 2,3
    torch.einsum("...ij->...ji", x)     | 4,2,3
    torch.einsum("i,j->ij", x, y) + torch.einsum("i,j", x, y) | 2; 3
    torch.einsum("ij,ik,il->jkl", x, y, z) | 2,3; 2,4; 2,2
    torch.einsum("bn,anm,bm->ba", x, y, z) | 2,3; 4,3,2; 2,2
    torch.einsum("iij,jk->ki", x, y)    | 2,2,3; 3,2
    torch.einsum("ij,ij->", x, y)       | 2,3; 2,3
    torch.einsum("ij,k->i", x, y)       | 2,3; 4
    torch.einsum(",i->i", x, y)         | -; 3
    torch.einsum("bhqd,bhkd->bhqk", x, y) | 2,2,3,2; 2,2,4,2
    torch.einsum("ij,kj->ik", x, y)     | 2,1; 4,3
    torch.einsum(x, [0, 1], y, [1, 2], [0, 2]) | 2,3; 3,2
    F.pairwise_distance(x, y) + F.pairwise_distance(x, y, p=1, keepdim=True).sum() | 4,3; 4,3
    torch.cdist(x, y)                   | 2,4,3; 2,5,3
    torch.cdist(x, y, p=1.0)            | 4,3; 5,3
    torch.dist(x, y, 3)                 | 4,3; 4,3
    F.cosine_similarity(x, y)           | 4,3; 4,3
    torch.cosine_similarity(x, y, dim=0) | 4,3; 4,1
    F.normalize(x) + F.normalize(x, p=1, dim=0) | 4,3
"""

WINDOWS = """
    F.pad(x, (1, 2))                    | 2,3
    F.pad(x, (1, 2, 0, 1), value=3.0)   | 2,3
    F.pad(x, [-1, 1, 1, -1])            | 3,4
    F.pad(x, (2, 1), mode="reflect")    | 2,4
    F.pad(x, (2, 1, 1, 2), "reflect")   | 1,2,4,4
    F.pad(x, (2, 1, 1, 2), "replicate") | 1,2,3,3
    F.pad(x, (2, 1, 1, 2), mode="circular") | 1,2,3,3
    F.unfold(x, 2)                      | 2,3,4,4
    F.unfold(x, (2, 3), dilation=2, padding=1, stride=2) | 2,3,7,7
    F.fold(x, (4, 5), 2)                | 2,12,12
    F.fold(x, output_size=(5, 5), kernel_size=3, padding=1, stride=2) | 1,9,9
    x.unfold(0, 2, 1)                   | 5,3
    x.unfold(dimension=1, size=3, step=2) | 2,7,3
    F.conv2d(x, y)                      | 2,3,5,5; 4,3,3,3
    F.conv2d(x, y, z, stride=2, padding=1) | 2,3,6,5; 4,3,3,3; 4
    F.conv2d(x, y, stride=(2, 1), padding=(1, 2), dilation=2) | 1,2,8,7; 3,2,3,2
    torch.conv2d(x, y, z, 2, 1, 1, 2)   | 2,4,5,5; 6,2,3,3; 6
    F.conv2d(x, y, padding="same")      | 1,2,5,5; 3,2,4,3
    F.conv2d(x, y)                      | 3,5,5; 4,3,3,3
    x.to(torch.float32).double() + x.float().to(x) + x.type(torch.float64) | 2,3
    x.half() + x.bfloat16()             | 2,3
    x.type_as(y.float()) + y.float()    | 2,3; 2,3
    x.cpu() + x.to("cpu") + x.to(device="cpu", dtype=torch.float64) + x.to("cpu", torch.float64) | 2,3
    x.detach() * x + torch.detach(x) * x | 2,3
    x.type("torch.FloatTensor")         | 2,3
"""


def rows() -> list[Any]:
    found = []
    for line in "".join(
        (ELEMENTWISE, ACTIVATIONS, BOUNDS, REDUCTIONS, SHAPES, PICKING, PRODUCTS, WINDOWS)
    ).split("\n"):
        if not line.strip():
            continue
        expression, shapes, *domain = (part.strip() for part in _columns(line))
        each = [
            [] if one.strip() == "-" else [int(size) for size in one.split(",")] for one in shapes.split(";")
        ]
        found.append(
            pytest.param(expression, each, domain[0] if domain else "any", id=f"{expression} {shapes}")
        )
    return found


def _columns(line: str) -> list[str]:
    return line.split(" | ")


def run(expression: str, *inputs: Tensor) -> Any:
    names = dict(zip("xyz", inputs, strict=False))
    # Names inside of comprehensions are looked up among the globals.
    return eval(expression, {"torch": torch, "F": F, **names})


# Where torch itself has no second derivative, or none that can be told from rounding.
ONCE = ("torch.cdist(", "logaddexp(x * 500", "hardsigmoid", "1e200", "bfloat16", "FloatTensor", "type_as")


# In float32, or with constants of torch's that are: its slope of hardsigmoid is float32's sixth.
COARSE = ("float32", "float()", "FloatTensor", "hardsigmoid")


@pytest.mark.parametrize(("expression", "shapes", "domain"), rows())
def test_an_op_agrees_with_torch(expression: str, shapes: list[list[int]], domain: str) -> None:
    torch.manual_seed(1)
    inputs = sampled(shapes, domain, seed=zlib.crc32(expression.encode()))
    tolerance = 1e-6 if any(word in expression for word in COARSE) else 1e-10
    agrees(
        lambda *xs: run(expression, *xs),
        inputs,
        tolerance=tolerance,
        second=not any(word in expression for word in ONCE),
    )


# Where pieces meet, and where numbers are equal or zero: the gradient is a convention, and ours is torch's.
AT_BORDERS = """
    F.relu(x); F.relu6(x); F.leaky_relu(x); F.elu(x); F.selu(x); F.celu(x); F.hardtanh(x)
    F.hardtanh(x, -3, 3); F.hardsigmoid(x); F.hardswish(x); F.hardshrink(x, 1.0); F.softshrink(x, 1.0)
    F.threshold(x, 1.0, 5.0); F.softplus(x, threshold=3); F.logsigmoid(x)
    F.prelu(x, torch.ones(1, dtype=torch.float64) / 3); F.softsign(x); x.clamp(-1, 1); x.clamp(min=0)
    x.clamp(max=3); x.clamp_min(3); x.abs(); x.sign(); x.frac(); torch.maximum(x, x.flip(0))
    torch.minimum(x, -x); torch.fmax(x, -x); torch.fmin(x, -x); x ** 2; x ** 3; x ** 1
    torch.clamp(x, x.flip(0), x * 0 + 1); torch.clamp(x * 0, x, x); torch.atan2(x, x * 0)
    torch.atan2(x * 0, x); x.norm(); (x * 0).norm(); (x * 0).norm(1); (x * 0).norm(3); (x * 0).std()
    x.prod(); x.cumprod(0); x.amax(); torch.linalg.vector_norm(x, 1.5); (x * 0).norm(float("inf")); x.max()
    (x * 0).max(); (x * 0).median(); x.median(); torch.cdist(x.reshape(3, 3), x.reshape(3, 3) * 1)
    F.normalize(x * 0, dim=0); x.reshape(3, 3).max(1).values
    torch.nan_to_num(x / 0); torch.where(x > 0, x, 0.0); x.sort().values; x.asinh(); (x * 0).logsumexp(0)
    torch.logaddexp(x, x.flip(0)); torch.pow(x.abs(), 2.5); torch.pow(x.abs(), x.abs())
"""


@pytest.mark.parametrize(
    "expression", [one.strip() for one in AT_BORDERS.replace("\n", ";").split(";") if one.strip()]
)
def test_the_convention_at_a_border_is_that_of_torch(expression: str) -> None:
    x = torch.tensor([-3.0, -1, -0.5, 0, 0, 0.5, 1, 3, 6], dtype=torch.float64)
    agrees(
        lambda x: run(expression, x),
        [x],
        second=False,
        tolerance=1e-7 if "hardsigmoid" in expression else 1e-10,
    )


COARSE_OPS = """
    F.gelu(x); F.gelu(x, approximate="tanh"); F.silu(x); F.mish(x); F.softplus(x); F.logsigmoid(x); F.elu(x)
    F.selu(x); x.tan(); x.sinh(); x.asinh(); x.log2(); F.hardswish(x); F.softmax(x, 0); x.std(); x.norm()
    x.cumsum(0); x.square(); x @ x; x.sum(); x.mean(); x * 2.5 - 1; 1 / x; x ** 2; x.clamp(0.5, 1.0)
    torch.where(x > 1, x, 0.0); x.prod()
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_coarser_types_stay_what_they_are_and_agree_as_far_as_they_go(dtype: torch.dtype) -> None:
    values = torch.linspace(0.4, 1.4, 9, dtype=dtype)
    for expression in COARSE_OPS.replace("\n", ";").split(";"):
        if not expression.strip():
            continue
        ours, theirs = ag.tracer(values.clone(), requires_grad=True), values.clone().requires_grad_()
        mine, his = run(expression.strip(), ours), run(expression.strip(), theirs)
        mine.float().sum().backward()
        his.float().sum().backward()

        tolerance = 8 * torch.finfo(dtype).eps
        close(mine, his, tolerance, expression)
        close(ours.grad, theirs.grad, 2 * tolerance, expression)


def test_half_is_rounded_once_by_an_op_that_is_composed() -> None:
    values = torch.linspace(-4, 4, 500, dtype=torch.float16)

    ours = F.mish(ag.tracer(values, requires_grad=True))

    close(ours, F.mish(values), torch.finfo(torch.float16).eps, "mish")


def test_types_are_promoted_as_by_torch_and_gradients_come_back_in_their_own() -> None:
    x = ag.tracer(torch.ones(3, dtype=torch.float16), requires_grad=True)
    y = ag.tracer(torch.ones(3, dtype=torch.float64), requires_grad=True)

    result = x * y + torch.arange(3)
    result.sum().backward()

    assert result.dtype == torch.float64
    assert x.grad.dtype == torch.float16
    assert y.grad.dtype == torch.float64


def test_remainders_of_a_number_have_gradients_that_torch_does_not_have() -> None:
    x = ag.tracer([0.3, -0.7], requires_grad=True)

    (2.0 % x).sum().backward()

    torch.testing.assert_close(x.grad, torch.tensor([-6.0, 3.0]))


def test_whole_quotients_have_a_gradient_of_zero() -> None:
    x = ag.tracer([3.5, -7.0], requires_grad=True)

    (x // 2 + 20 // x).sum().backward()

    assert x.grad.tolist() == [0, 0]
    assert (x // 2).tolist() == [1, -4]


def test_questions_are_answered_as_on_an_ordinary_tensor() -> None:
    x = ag.tracer([3.0, 1.0, 2.0], requires_grad=True)

    assert x.argsort().tolist() == [1, 2, 0]
    assert x.argmax() == 0
    assert (x > 1).tolist() == [True, False, True]
    assert type(x.argmax()) is Tensor
    assert torch.heaviside(x - 2, torch.ones(3)).tolist() == [1, 0, 1]
    assert x.shape == (3,)
    assert len(x) == 3
    assert x.type() == "torch.FloatTensor"
    assert 1.0 in x
    assert f"{x[0]:.2f} {x[0]}" == "3.00 3.0"


def test_results_in_several_parts_have_names_as_those_of_torch() -> None:
    x = ag.tracer([[3.0, 1.0, 2.0]], requires_grad=True)

    assert x.max(1).values.requires_grad
    assert type(x.max(1)) is torch.return_types.max
    assert type(x.sort()) is torch.return_types.sort
    assert x.topk(2).indices.tolist() == [[0, 2]]


def test_scatter_with_more_source_than_index_uses_the_part_that_is_meant() -> None:
    x, y = (
        ag.tracer([[0.0, 0, 0]], requires_grad=True),
        ag.tracer([[1.0, 2, 3], [4, 5, 6]], requires_grad=True),
    )
    index = torch.tensor([[2, 2]])

    result = x.scatter_add(1, index, y)
    result.sum().backward()

    assert result.tolist() == [[0, 0, 3]]
    assert y.grad.tolist() == [[1, 1, 0], [0, 0, 0]]


def test_a_place_that_is_written_to_twice_gives_its_gradient_to_what_stayed() -> None:
    x, y = ag.tracer([0.0, 0, 0], requires_grad=True), ag.tracer([1.0, 2.0], requires_grad=True)

    result = x.scatter(0, torch.tensor([1, 1]), y)
    result.sum().backward()

    assert result[1] in (1, 2)
    assert y.grad.sum() == 1
    assert x.grad.tolist() == [1, 0, 1]


REFUSED = {
    "x.view(torch.int32)": r"use to\(dtype\)",
    "torch.matmul(x, x.sum())": r"use a \* b",
    "F.gelu(x, approximate='erf')": "approximate",
    "F.relu(x, inplace=True)": "leave it out",
    "torch.linalg.norm(x, 'nuc')": "Frobenius",
    "torch.linalg.norm(x, 1)": "Frobenius",
    "F.softmax(x)": "dim=-1",
    "x.scatter(1, torch.zeros(2, 1, dtype=int), 2.0, reduce='multiply')": "scatter_add",
    "x.numpy()": "detach",
    "torch.exp(x, out=x.detach())": "assign the result",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_cannot_be_is_refused_with_what_to_do(expression: str) -> None:
    x = ag.tracer(torch.ones(2, 3), requires_grad=True)

    with pytest.raises((InputError, AutogradError, IndexError), match=REFUSED[expression]):
        run(expression, x)


OF_TORCH = """
    x.sum(5); x.transpose(0, 3); x.unsqueeze(4); x.narrow(1, 2, 5); x.select(0, 9); x.split([1, 5], 1)
    x.chunk(0); torch.stack([x, x[0]]); x.repeat(2); x.unflatten(1, (2, 2)); x.movedim((0, 1), (0,))
    x.t().unsqueeze(0).t(); torch.einsum('ij,jk', x); torch.einsum('ijk->i', x); torch.einsum('ij->ik', x)
    torch.einsum('ij,ij->i', x, x.T); F.pad(x, (1,))
    F.pad(x, (9, 1), 'reflect'); F.pad(x, (1, 1), 'mirror'); torch.div(x, 2, rounding_mode='up')
    x.masked_fill(torch.ones(3), 0.0)
    x.diag().diag().unsqueeze(0).unsqueeze(0).diag(); F.glu(x); F.prelu(x, torch.ones(7)); x.unfold(0, 9, 1)
    torch.dot(x, x); torch.bmm(x, x)
"""


@pytest.mark.parametrize(
    "expression", [one.strip() for one in OF_TORCH.replace("\n", ";").split(";") if one.strip()]
)
def test_what_torch_refuses_is_refused(expression: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, NotImplementedError, InputError)):
        run(expression, ag.tracer(torch.ones(2, 3), requires_grad=True))

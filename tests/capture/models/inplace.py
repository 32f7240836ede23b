"""Writing into tensors: in-place ops, views, item assignment, `out=`, `.data`, NumPy."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.capture.models.registry import small

OVER = "written over"
UNDEFINED = "undefined until it is written"


def vector() -> Tensor:
    return torch.randn(3)


def matrix() -> Tensor:
    return torch.randn(3, 4)


@small(vector, "input_1 -> clone_1 -> add_1 -> mul_1 -> relu_1 -> sigmoid_1 -> output_1")
class InPlaceChain(nn.Module):
    """In-place methods, one after another, on one tensor."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.add_(1).mul_(2)
        y.relu_()
        return y.sigmoid_()


@small(lambda: torch.randn(2, 3), "input_1 -> linear_1 -> relu_1 -> linear_2 -> output_1")
class InPlaceReLU(nn.Module):
    """A ReLU module that works in place, between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@small(
    vector,
    """
    input_1 -> mul_1 -> add_1
    add_1, input_1 -> sub_1 -> mul_2 -> div_1 -> output_1
    """,
)
class AugmentedAssignment(nn.Module):
    """`+=`, `-=`, `*=` and `/=`."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        y += 1
        y -= x
        y *= 2
        y /= 3
        return y


@small(
    matrix,
    """
    input_1 -> clone_1 -> getitem_1 -> add_1
    clone_1, add_1 -> updated_1 -> sin_1 -> output_1
    """,
)
class WriteThroughSlice(nn.Module):
    """A write into one row changes the tensor that the row belongs to."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[1].add_(3)
        return y.sin()


@small(
    matrix,
    """
    input_1 -> clone_1 -> view_1 -> mul_1
    clone_1, mul_1 -> updated_1 -> sin_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteThroughView(nn.Module):
    """A write into a view of all of a tensor leaves nothing of what it was."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        flat = y.view(-1)
        flat.mul_(2)
        return y.sin()


@small(
    matrix,
    """
    input_1 -> clone_1 -> getitem_1
    clone_1 -> add_1
    getitem_1, add_1 -> updated_1 -> mul_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteBaseReadView(nn.Module):
    """A view that was made before its base was written shows the new values."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        row = y[0]
        y.add_(1)
        return row * 2


@small(
    matrix,
    """
    input_1 -> clone_1 -> view_1 -> getitem_1 -> zero_1
    clone_1, zero_1 -> updated_1 -> output_1
    """,
    exempt={"zero_1": OVER},
)
class ViewOfView(nn.Module):
    """A write two views down reaches the base, which is returned as it is."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        tail = y.view(-1)[1:]
        tail.zero_()
        return y


@small(
    lambda: torch.randn(2, 3),
    """
    input_1 -> mul_1 -> view_1 -> setitem_1
    mul_1, setitem_1 -> updated_1 -> getitem_1 -> add_1
    updated_1, add_1 -> updated_2 -> add_2 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class TwoViewsWritten(nn.Module):
    """Two writes through two views: no loop, though both say `updated`."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        flat = y.view(-1)
        flat[0] = 5
        row = y[1]
        row.add_(3)
        return y + 1


@small(
    lambda: torch.randn(4),
    """
    input_1 -> clone_1 -> getitem_1 -> add_1
    clone_1 -> getitem_2 -> mul_1 -> output_1
    """,
)
class DisjointViews(nn.Module):
    """A write into one half leaves the other half alone."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        left, right = y[:2], y[2:]
        left.add_(1)
        return right * 2


@small(
    matrix,
    """
    input_1 -> clone_1
    input_1 -> getitem_1 -> mul_1
    clone_1, mul_1 -> setitem_1 -> setitem_2 -> output_1
    """,
)
class AssignItems(nn.Module):
    """`y[0] = row` and `y[:, 1:3] = number`."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[0] = x[1] * 2
        y[:, 1:3] = 0.5
        return y


@small(
    matrix,
    """
    input_1 -> clone_1 -> gt_1
    clone_1, gt_1 -> setitem_1 -> output_1
    """,
)
class AssignByMask(nn.Module):
    """`y[y > 0] = 0`."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[y > 0] = 0
        return y


@small(
    matrix,
    """
    input_1 -> clone_1 -> getitem_1
    clone_1, getitem_1 -> setitem_1 -> output_1
    """,
)
class SwapRows(nn.Module):
    """Rows change places: read and written in one line."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[[0, 1]] = y[[1, 0]]
        return y


@small(
    matrix,
    """
    input_1 -> getitem_1, getitem_2, getitem_3, getitem_4, lt_1
    tensor_1 -> getitem_5
    input_1 -> getitem_5
    input_1, lt_1 -> getitem_6
    getitem_1 -> output_1
    getitem_2 -> output_2
    getitem_3 -> output_3
    getitem_4 -> output_4
    getitem_5 -> output_5
    getitem_6 -> output_6
    """,
)
class AllKindsOfGetitem(nn.Module):
    """An integer, a slice, an ellipsis, None, a tensor of indices and a mask."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        some = x[0], x[1:, ::2], x[..., -1], x[:, None]
        return *some, x[torch.tensor([2, 0])], x[x < 1]


@small(
    vector,
    """
    input_1, empty_1 -> add_1 -> mul_1 -> output_1
    """,
    exempt={"empty_1": UNDEFINED, "add_1": OVER},
)
class OutArgument(nn.Module):
    """`out=` writes into a tensor that was there before."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.empty(3)
        torch.add(x, 1, out=y)
        return y * 2


@small(
    matrix,
    """
    zeros_1, zeros_2, input_1 -> max_1, max_2
    max_1, max_2 -> add_1 -> output_1
    """,
    exempt={"max_1": OVER},
)
class OutOfTwo(nn.Module):
    """`out=` with two tensors."""

    def forward(self, x: Tensor) -> Tensor:
        values, indices = torch.zeros(4), torch.zeros(4, dtype=torch.long)
        torch.max(x, 0, out=(values, indices))
        return values + indices


@small(
    vector,
    """
    input_1 -> mul_1 -> data_1 -> add_1
    mul_1, add_1 -> updated_1 -> sin_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteData(nn.Module):
    """`y.data.add_(1)`: behind autograd's back."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        y.data.add_(1)
        return y.sin()


@small(
    vector,
    """
    input_1 -> mul_1
    input_1 -> mul_2
    mul_1, mul_2 -> setdata_1 -> sin_1 -> output_1
    """,
    exempt={"setdata_1": OVER},
)
class AssignData(nn.Module):
    """`y.data = other`."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        y.data = x * 3
        return y.sin()


@small(
    vector,
    """
    input_1 -> mul_1 -> detach_1 -> add_1
    mul_1, add_1 -> updated_1 -> sin_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteDetached(nn.Module):
    """A detached tensor shares its memory."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        y.detach().add_(1)
        return y.sin()


@small(
    vector,
    "input_1 -> mul_1 -> updated_1 -> sin_1 -> output_1",
    exempt={"updated_1": "outside torch"},
)
class WriteThroughNumpy(nn.Module):
    """NumPy writes into a tensor's memory, and no torch call shows it."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        y.numpy()[0] = 7
        return y.sin()


@small(vector, "input_1 -> add_1 -> mul_1 -> output_1")
class WriteIntoInput(nn.Module):
    """The model changes its own input."""

    def forward(self, x: Tensor) -> Tensor:
        x.add_(1)
        return x * 2


@small(
    vector,
    """
    input_1 -> sin_1 -> cos_1
    sin_1 -> zero_1
    zero_1, cos_1 -> add_1 -> output_1
    """,
    exempt={"zero_1": OVER},
)
class WriteAfterUse(nn.Module):
    """A tensor is written over after another was made from it."""

    def forward(self, x: Tensor) -> Tensor:
        a = x.sin()
        b = a.cos()
        a.zero_()
        return a + b


@small(matrix, "input_1 -> clone_1 -> t_1 -> unsqueeze_1 -> squeeze_1 -> output_1")
class ShapesInPlace(nn.Module):
    """`t_`, `unsqueeze_` and `squeeze_` change the outline and no value."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.t_()
        y.unsqueeze_(0)
        return y.squeeze_(0)


@small(
    vector,
    "empty_1, input_1 -> copy_1 -> output_1",
    exempt={"empty_1": UNDEFINED, "copy_1": OVER},
)
class CopyInto(nn.Module):
    """A tensor is made empty and filled."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.empty(3)
        y.copy_(x)
        return y


@small(
    vector,
    """
    zeros_1, tensor_1, input_1 -> scatteradd_1
    scatteradd_1, tensor_1 -> indexfill_1 -> output_1
    """,
)
class ScatterAdd(nn.Module):
    """In-place ops that take indices."""

    def forward(self, x: Tensor) -> Tensor:
        where = torch.tensor([0, 2, 0])
        sums = torch.zeros(5).scatter_add_(0, where, x)
        return sums.index_fill_(0, where, 3.0)


@small(
    matrix,
    """
    input_1 -> clone_1 -> expand_1
    clone_1 -> setitem_1
    expand_1, setitem_1 -> updated_1 -> sin_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteUnderExpand(nn.Module):
    """The base of an expanded view is written: one number shows in several places."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        wide = y.expand(2, 3, 4)
        y[0] = 2
        return wide.sin()


@small(
    vector,
    """
    input_1 -> clone_1 -> view_1 -> setitem_1
    clone_1, setitem_1 -> updated_1 -> sin_1 -> output_1
    """,
    exempt={"updated_1": OVER},
)
class WriteThroughOtherType(nn.Module):
    """A view of another dtype is written: bytes, not numbers."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y.view(torch.int32)[0] = 1_000_000_000
        return y.sin()


@small(
    matrix,
    """
    input_1 -> clone_1 -> chunk_1, chunk_2, chunk_3
    chunk_1, chunk_3 -> add_1
    clone_1, add_1 -> updated_1 -> sin_1 -> output_1
    """,
)
class WriteChunk(nn.Module):
    """One of several views that came from one call is written."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        a, _, c = y.chunk(3)
        a += c
        return y.sin()


@small(
    matrix,
    """
    input_1 -> sin_1 -> relu_1
    sin_1 -> dropout_1
    relu_1, dropout_1 -> add_1 -> output_1
    """,
)
class InPlaceFlagFalse(nn.Module):
    """`inplace=False` writes nothing: its argument can be used again."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.sin()
        return F.relu(y, inplace=False) + F.dropout(y, 0.5, training=False, inplace=False)


@small(
    vector,
    """
    input_1 -> mul_1 -> relu_1 -> leakyrelu_1 -> hardtanh_1 -> output_1
    """,
)
class InPlaceFlagTrue(nn.Module):
    """Functions that work in place because a flag says so, not their name."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * 1
        F.relu(y, inplace=True)
        F.leaky_relu(y, 0.1, inplace=True)
        F.hardtanh(y, -0.5, 0.5, inplace=True)
        return y


@small(
    lambda: torch.randn(3, requires_grad=True),
    """
    input_1 -> sin_1 -> chunk_1, chunk_2, chunk_3
    sin_1 -> add_1
    add_1 -> output_1
    chunk_1, add_1 -> updated_1 -> detach_1 -> output_2
    """,
    exempt={"updated_1": OVER},
)
class InvalidatedView(nn.Module):
    """Autograd forbids to ask such a view for its history, after its base was written."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.sin()
        first, _, _ = y.chunk(3)
        with torch.no_grad():
            y.add_(1)
        return y, first.detach()


@small(
    lambda: torch.randn(2, 6),
    """
    input_1 -> clone_1 -> getitem_1 -> asstrided_1 -> mul_1
    clone_1, mul_1 -> updated_1 -> output_1
    """,
    exempt={"asstrided_1": "the memory of its argument"},
)
class OverlappingWindows(nn.Module):
    """`as_strided` looks at memory beyond the tensor it is called on."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[0].as_strided((2, 2), (6, 2)).mul_(3)
        return y

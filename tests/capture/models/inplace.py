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
def in_place_chain(self, x: Tensor) -> Tensor:
    """In-place methods, one after another, on one tensor."""
    y = x.clone()
    y.add_(1).mul_(2)
    y.relu_()
    return y.sigmoid_()


@small(
    lambda: torch.randn(2, 3),
    "input_1 -> linear_1 -> relu_1 -> linear_2 -> output_1",
    parts=lambda: {"layers": nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 3))},
)
def in_place_re_lu(self, x: Tensor) -> Tensor:
    """A ReLU module that works in place, between layers."""
    return self.layers(x)


@small(vector)
def augmented_assignment(self, x: Tensor) -> Tensor:
    """`+=`, `-=`, `*=` and `/=`.

    input_1 -> mul_1 -> add_1
    add_1, input_1 -> sub_1 -> mul_2 -> div_1 -> output_1
    """
    y = x * 1
    y += 1
    y -= x
    y *= 2
    y /= 3
    return y


@small(matrix)
def write_through_slice(self, x: Tensor) -> Tensor:
    """A write into one row changes the tensor that the row belongs to.

    input_1 -> clone_1 -> getitem_1 -> add_1
    clone_1, add_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x.clone()
    y[1].add_(3)
    return y.sin()


@small(matrix, exempt={"updated_1": OVER})
def write_through_view(self, x: Tensor) -> Tensor:
    """A write into a view of all of a tensor leaves nothing of what it was.

    input_1 -> clone_1 -> view_1 -> mul_1
    clone_1, mul_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x.clone()
    flat = y.view(-1)
    flat.mul_(2)
    return y.sin()


@small(matrix, exempt={"updated_1": OVER})
def write_base_read_view(self, x: Tensor) -> Tensor:
    """A view that was made before its base was written shows the new values.

    input_1 -> clone_1 -> getitem_1
    clone_1 -> add_1
    getitem_1, add_1 -> updated_1 -> mul_1 -> output_1
    """
    y = x.clone()
    row = y[0]
    y.add_(1)
    return row * 2


@small(matrix, exempt={"zero_1": OVER})
def view_of_view(self, x: Tensor) -> Tensor:
    """A write two views down reaches the base, which is returned as it is.

    input_1 -> clone_1 -> view_1 -> getitem_1 -> zero_1
    clone_1, zero_1 -> updated_1 -> output_1
    """
    y = x.clone()
    tail = y.view(-1)[1:]
    tail.zero_()
    return y


@small(lambda: torch.randn(2, 3), exempt={"updated_1": OVER})
def two_views_written(self, x: Tensor) -> Tensor:
    """Two writes through two views: no loop, though both say `updated`.

    input_1 -> mul_1 -> view_1 -> setitem_1
    mul_1, setitem_1 -> updated_1 -> getitem_1 -> add_1
    updated_1, add_1 -> updated_2 -> add_2 -> output_1
    """
    y = x * 1
    flat = y.view(-1)
    flat[0] = 5
    row = y[1]
    row.add_(3)
    return y + 1


@small(lambda: torch.randn(4))
def disjoint_views(self, x: Tensor) -> Tensor:
    """A write into one half leaves the other half alone.

    input_1 -> clone_1 -> getitem_1 -> add_1
    clone_1 -> getitem_2 -> mul_1 -> output_1
    """
    y = x.clone()
    left, right = y[:2], y[2:]
    left.add_(1)
    return right * 2


@small(matrix)
def assign_items(self, x: Tensor) -> Tensor:
    """`y[0] = row` and `y[:, 1:3] = number`.

    input_1 -> clone_1
    input_1 -> getitem_1 -> mul_1
    clone_1, mul_1 -> setitem_1 -> setitem_2 -> output_1
    """
    y = x.clone()
    y[0] = x[1] * 2
    y[:, 1:3] = 0.5
    return y


@small(matrix)
def assign_by_mask(self, x: Tensor) -> Tensor:
    """`y[y > 0] = 0`.

    input_1 -> clone_1 -> gt_1
    clone_1, gt_1 -> setitem_1 -> output_1
    """
    y = x.clone()
    y[y > 0] = 0
    return y


@small(matrix)
def swap_rows(self, x: Tensor) -> Tensor:
    """Rows change places: read and written in one line.

    input_1 -> clone_1 -> getitem_1
    clone_1, getitem_1 -> setitem_1 -> output_1
    """
    y = x.clone()
    y[[0, 1]] = y[[1, 0]]
    return y


@small(matrix)
def all_kinds_of_getitem(self, x: Tensor) -> tuple[Tensor, ...]:
    """An integer, a slice, an ellipsis, None, a tensor of indices and a mask.

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
    """
    some = x[0], x[1:, ::2], x[..., -1], x[:, None]
    return *some, x[torch.tensor([2, 0])], x[x < 1]


@small(vector, exempt={"empty_1": UNDEFINED, "add_1": OVER})
def out_argument(self, x: Tensor) -> Tensor:
    """`out=` writes into a tensor that was there before.

    input_1, empty_1 -> add_1 -> mul_1 -> output_1
    """
    y = torch.empty(3)
    torch.add(x, 1, out=y)
    return y * 2


@small(matrix, exempt={"max_1": OVER})
def out_of_two(self, x: Tensor) -> Tensor:
    """`out=` with two tensors.

    zeros_1, zeros_2, input_1 -> max_1, max_2
    max_1, max_2 -> add_1 -> output_1
    """
    values, indices = torch.zeros(4), torch.zeros(4, dtype=torch.long)
    torch.max(x, 0, out=(values, indices))
    return values + indices


@small(vector, exempt={"updated_1": OVER})
def write_data(self, x: Tensor) -> Tensor:
    """`y.data.add_(1)`: behind autograd's back.

    input_1 -> mul_1 -> data_1 -> add_1
    mul_1, add_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x * 1
    y.data.add_(1)
    return y.sin()


@small(vector, exempt={"setdata_1": OVER})
def assign_data(self, x: Tensor) -> Tensor:
    """`y.data = other`.

    input_1 -> mul_1
    input_1 -> mul_2
    mul_1, mul_2 -> setdata_1 -> sin_1 -> output_1
    """
    y = x * 1
    y.data = x * 3
    return y.sin()


@small(vector, exempt={"updated_1": OVER})
def write_detached(self, x: Tensor) -> Tensor:
    """A detached tensor shares its memory.

    input_1 -> mul_1 -> detach_1 -> add_1
    mul_1, add_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x * 1
    y.detach().add_(1)
    return y.sin()


@small(vector, "input_1 -> mul_1 -> updated_1 -> sin_1 -> output_1", exempt={"updated_1": "outside torch"})
def write_through_numpy(self, x: Tensor) -> Tensor:
    """NumPy writes into a tensor's memory, and no torch call shows it."""
    y = x * 1
    y.numpy()[0] = 7
    return y.sin()


@small(vector, "input_1 -> add_1 -> mul_1 -> output_1")
def write_into_input(self, x: Tensor) -> Tensor:
    """The model changes its own input."""
    x.add_(1)
    return x * 2


@small(vector, exempt={"zero_1": OVER})
def write_after_use(self, x: Tensor) -> Tensor:
    """A tensor is written over after another was made from it.

    input_1 -> sin_1 -> cos_1
    sin_1 -> zero_1
    zero_1, cos_1 -> add_1 -> output_1
    """
    a = x.sin()
    b = a.cos()
    a.zero_()
    return a + b


@small(matrix, "input_1 -> clone_1 -> t_1 -> unsqueeze_1 -> squeeze_1 -> output_1")
def shapes_in_place(self, x: Tensor) -> Tensor:
    """`t_`, `unsqueeze_` and `squeeze_` change the outline and no value."""
    y = x.clone()
    y.t_()
    y.unsqueeze_(0)
    return y.squeeze_(0)


@small(vector, "empty_1, input_1 -> copy_1 -> output_1", exempt={"empty_1": UNDEFINED, "copy_1": OVER})
def copy_into(self, x: Tensor) -> Tensor:
    """A tensor is made empty and filled."""
    y = torch.empty(3)
    y.copy_(x)
    return y


@small(vector)
def scatter_add(self, x: Tensor) -> Tensor:
    """In-place ops that take indices.

    zeros_1, tensor_1, input_1 -> scatteradd_1
    scatteradd_1, tensor_1 -> indexfill_1 -> output_1
    """
    where = torch.tensor([0, 2, 0])
    sums = torch.zeros(5).scatter_add_(0, where, x)
    return sums.index_fill_(0, where, 3.0)


@small(matrix, exempt={"updated_1": OVER})
def write_under_expand(self, x: Tensor) -> Tensor:
    """The base of an expanded view is written: one number shows in several places.

    input_1 -> clone_1 -> expand_1
    clone_1 -> setitem_1
    expand_1, setitem_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x.clone()
    wide = y.expand(2, 3, 4)
    y[0] = 2
    return wide.sin()


@small(vector, exempt={"updated_1": OVER})
def write_through_other_type(self, x: Tensor) -> Tensor:
    """A view of another dtype is written: bytes, not numbers.

    input_1 -> clone_1 -> view_1 -> setitem_1
    clone_1, setitem_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x.clone()
    y.view(torch.int32)[0] = 1_000_000_000
    return y.sin()


@small(matrix)
def write_chunk(self, x: Tensor) -> Tensor:
    """One of several views that came from one call is written.

    input_1 -> clone_1 -> chunk_1, chunk_2, chunk_3
    chunk_1, chunk_3 -> add_1
    clone_1, add_1 -> updated_1 -> sin_1 -> output_1
    """
    y = x.clone()
    a, _, c = y.chunk(3)
    a += c
    return y.sin()


@small(matrix)
def in_place_flag_false(self, x: Tensor) -> Tensor:
    """`inplace=False` writes nothing: its argument can be used again.

    input_1 -> sin_1 -> relu_1
    sin_1 -> dropout_1
    relu_1, dropout_1 -> add_1 -> output_1
    """
    y = x.sin()
    return F.relu(y, inplace=False) + F.dropout(y, 0.5, training=False, inplace=False)


@small(vector)
def in_place_flag_true(self, x: Tensor) -> Tensor:
    """Functions that work in place because a flag says so, not their name.

    input_1 -> mul_1 -> relu_1 -> leakyrelu_1 -> hardtanh_1 -> output_1
    """
    y = x * 1
    F.relu(y, inplace=True)
    F.leaky_relu(y, 0.1, inplace=True)
    F.hardtanh(y, -0.5, 0.5, inplace=True)
    return y


@small(lambda: torch.randn(3, requires_grad=True), exempt={"updated_1": OVER})
def invalidated_view(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Autograd forbids to ask such a view for its history, after its base was written.

    input_1 -> sin_1 -> chunk_1, chunk_2, chunk_3
    sin_1 -> add_1
    add_1 -> output_1
    chunk_1, add_1 -> updated_1 -> detach_1 -> output_2
    """
    y = x.sin()
    first, _, _ = y.chunk(3)
    with torch.no_grad():
        y.add_(1)
    return y, first.detach()


@small(lambda: torch.randn(2, 6), exempt={"asstrided_1": "the memory of its argument"})
def overlapping_windows(self, x: Tensor) -> Tensor:
    """`as_strided` looks at memory beyond the tensor it is called on.

    input_1 -> clone_1 -> getitem_1 -> asstrided_1 -> mul_1
    clone_1, mul_1 -> updated_1 -> output_1
    """
    y = x.clone()
    y[0].as_strided((2, 2), (6, 2)).mul_(3)
    return y

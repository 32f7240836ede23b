"""Which tensors lie on the same elements: against a count of the elements themselves."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from torcheer.capture.memory import boxes_overlap, geometry_of, overlap


def elements(tensor: torch.Tensor) -> set[int]:
    ids = torch.arange(tensor.untyped_storage().nbytes() // tensor.element_size())
    return set(ids.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).flatten().tolist())


@st.composite
def parts(draw: st.DrawFn) -> torch.Tensor:
    """A view of one 4 × 6 × 5 tensor, reached by a few random steps."""
    view = BASE
    for _ in range(draw(st.integers(0, 4))):
        if view.dim() == 0:
            break
        dim = draw(st.integers(0, view.dim() - 1))
        size = view.shape[dim]
        step = draw(st.sampled_from(STEPS))
        if step == "narrow":
            start = draw(st.integers(0, size - 1))
            view = view.narrow(dim, start, draw(st.integers(1, size - start)))
        elif step == "stride":
            index = [slice(None)] * view.dim()
            index[dim] = slice(draw(st.integers(0, size - 1)), None, draw(st.integers(1, 3)))
            view = view[tuple(index)]
        elif step == "select":
            view = view.select(dim, draw(st.integers(0, size - 1)))
        elif step == "transpose":
            view = view.transpose(dim, -1)
        elif step == "flatten" and view.is_contiguous():
            view = view.view(-1)
        elif step == "expand":
            view = view.unsqueeze(0).expand(2, *view.shape)
        elif step == "diagonal" and view.dim() > 1:
            view = view.diagonal(dim1=0, dim2=1)
    return view


BASE = torch.zeros(4, 6, 5)
STEPS = ["narrow", "stride", "select", "transpose", "flatten", "expand", "diagonal"]


@given(parts(), parts())
def test_two_views_overlap_when_they_share_an_element(a: torch.Tensor, b: torch.Tensor) -> None:
    assert overlap(a, b) == bool(elements(a) & elements(b))


@given(parts(), parts())
def test_what_is_said_of_boxes_is_true(a: torch.Tensor, b: torch.Tensor) -> None:
    answer = boxes_overlap(geometry_of(a), geometry_of(b))

    assert answer is None or answer == bool(elements(a) & elements(b))


def test_chunks_and_columns_are_told_apart_without_laying_anything_out() -> None:
    left, right = torch.zeros(2, 8, 3).chunk(2, dim=1)

    assert boxes_overlap(geometry_of(left), geometry_of(right)) is False
    assert boxes_overlap(geometry_of(left), geometry_of(left[:, 1:])) is True

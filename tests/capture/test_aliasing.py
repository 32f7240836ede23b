"""Which tensors lie on the same elements: against a count of the elements themselves."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from torcheer.capture.aliasing import overlap


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


def test_views_of_other_types_overlap_where_they_share_a_byte() -> None:
    real = torch.zeros(8)

    assert overlap(torch.view_as_complex(real.view(4, 2))[1:2], real[3:4])
    assert not overlap(torch.view_as_complex(real.view(4, 2))[1:2], real[4:])
    assert overlap(real.view(torch.uint8)[5:6], real[1:2])
    assert not overlap(real.view(torch.uint8)[5:6], real[2:])

"""A pass in memory as a source for a page: its values are the history's, and nothing in it changes."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.app.many_types import many_types, values_of
from torcheer.capture.page_source import HistorySource
from torcheer.errors import InputError
from torcheer.tensorfile import default_window


@pytest.fixture(scope="module")
def history() -> Any:
    return many_types()


def dense(value: Tensor) -> Any:
    value = value.detach()
    if value.is_nested:
        value = torch.cat([part.flatten() for part in value.unbind()])
    if value.is_quantized:
        value = value.dequantize()
    return (value.to(torch.complex128).abs() if value.is_complex() else value).double().numpy()


def test_the_values_of_every_op_are_those_of_the_history(history: Any) -> None:
    source = HistorySource(history)
    for op in history.layer_list:
        found = source.tensor("output", op.index, None)
        assert not isinstance(found, str)
        view, data = found
        expected = dense(op.tensor_contents)
        assert view.shape == list(expected.shape)
        assert view.dtype == str(op.tensor_dtype).removeprefix("torch.")
        assert view.num_elements == expected.size
        if expected.size:
            shown = expected.reshape((1,) * (3 - expected.ndim) + expected.shape)
            assert np.array_equal(values_of(view, data), shown.astype(f"f{view.encoding[1]}"), equal_nan=True)


def test_gradients_and_parameters_are_those_of_the_history(history: Any) -> None:
    source = HistorySource(history)
    document = source.document()

    for op in history.layer_list:
        found = source.tensor("grad", op.index, None)
        assert (op.grad_contents is None) == isinstance(found, str)
        if not isinstance(found, str):
            assert found[0].mean == pytest.approx(op.grad_contents.double().mean().item())
    assert [param.address for param in document.params] == ["weight"]
    for kind, expected in (
        ("param", history._tape.params[0][1]),
        ("param_grad", history.param_grads["weight"]),
    ):
        found = source.tensor(kind, 0, None)  # type: ignore[arg-type]
        assert not isinstance(found, str)
        assert np.array_equal(values_of(*found)[0], expected.detach().numpy())


def test_shares_are_of_the_outputs(history: Any) -> None:
    source = HistorySource(history)

    zeros, nonfinite = source.figures("zeros"), source.figures("nonfinite")

    for op in history.layer_list:
        expected = dense(op.tensor_contents)
        assert zeros[op.index] == (pytest.approx((expected == 0).mean()) if expected.size else None)
        assert nonfinite[op.index] == (
            pytest.approx((~np.isfinite(expected)).mean()) if expected.size else None
        )
    assert "zeros" in str(source.figures("speed"))


def test_looking_changes_nothing(history: Any) -> None:
    contents = {op.index: op.tensor_contents for op in history.layer_list}
    versions = {index: value._version for index, value in contents.items()}
    num_ops, num_passes = len(history), history.num_backward_passes
    source = HistorySource(history)

    with torch.enable_grad():
        for index in contents:
            source.tensor("output", index, None)
            source.tensor("grad", index, None)

    assert (len(history), history.num_backward_passes) == (num_ops, num_passes)
    assert all(history[index].tensor_contents is value for index, value in contents.items())
    assert {index: value._version for index, value in contents.items()} == versions


def test_a_window_that_is_not_there_is_refused(history: Any) -> None:
    window = default_window((100, 100))

    with pytest.raises(InputError, match="outside"):
        HistorySource(history).tensor("output", 0, window)
    with pytest.raises(InputError, match="no op number 1000"):
        HistorySource(history).tensor("output", 1000, None)
    with pytest.raises(InputError, match="no parameter number -1"):
        HistorySource(history).tensor("param", -1, None)


def test_a_value_that_was_not_saved_names_what_saves_it() -> None:
    history = tl.log_forward_pass(
        nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.randn(1, 2), layers_to_save=["relu_1"]
    )
    source = HistorySource(history)

    assert "layers_to_save" in str(source.tensor("output", 1, None))
    assert "linear_1_1" in str(source.tensor("output", 1, None))
    assert not isinstance(source.tensor("output", 2, None), str)
    assert "save_gradients=True" in str(source.tensor("grad", 2, None))


def test_a_pass_without_values_says_that_it_has_shapes_only() -> None:
    with torch.device("meta"):
        model, x = nn.Linear(2, 3), torch.randn(4, 2)

    source = HistorySource(tl.log_forward_pass(model, x))

    assert str(source.tensor("output", 1, None)).startswith("shape-only")
    assert str(source.tensor("param", 0, None)).startswith("shape-only")
    assert source.figures("zeros") == [None] * 3


def test_what_a_postfunc_made_is_shown_or_said_to_be_no_tensor() -> None:
    made = tl.log_forward_pass(
        nn.ReLU(), torch.ones(2, 3), activation_postfunc=lambda value: value.sum(0) + 1
    )
    named = tl.log_forward_pass(nn.ReLU(), torch.ones(2, 3), activation_postfunc=lambda value: "large")

    found = HistorySource(made).tensor("output", 1, None)
    assert not isinstance(found, str)
    assert values_of(*found)[0, 0].tolist() == [3.0, 3.0, 3.0]
    assert "postfunc" in found[0].note
    assert "str" in str(HistorySource(named).tensor("output", 1, None))


def test_a_weight_that_was_written_since_says_so_and_its_figures_follow() -> None:
    model = nn.Linear(2, 2)
    source = HistorySource(tl.log_forward_pass(model, torch.randn(1, 2)))
    before = source.tensor("param", 0, None)
    with torch.no_grad():
        model.weight.fill_(7.0)

    after = source.tensor("param", 0, None)

    assert not isinstance(before, str)
    assert not isinstance(after, str)
    assert before[0].note == ""
    assert "written since the pass" in after[0].note
    assert (after[0].mean, after[0].std) == (7.0, 0.0)


def test_a_later_backward_pass_is_seen() -> None:
    model, x = nn.Linear(2, 2), torch.randn(1, 2)
    history = tl.log_forward_pass(model, x, save_gradients=True)
    source = HistorySource(history)
    assert isinstance(source.tensor("grad", 1, None), str)
    assert not source.document().ops[1].has_grad

    history.log_backward(history.output.sum(), retain_graph=True)
    once = source.tensor("grad", 1, None)
    history.log_backward(history.output.sum())
    twice = source.tensor("grad", 1, None)

    assert source.document().ops[1].has_grad
    assert not isinstance(once, str)
    assert not isinstance(twice, str)
    assert (once[0].mean, twice[0].mean) == (1.0, 2.0)


def test_a_sparse_tensor_is_shown_dense_unless_that_would_be_too_much() -> None:
    class Sparse(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            huge = torch.sparse_coo_tensor(torch.tensor([[0], [0]]), torch.ones(1), (10**6, 10**6))
            return x.to_sparse(), huge

    history = tl.log_forward_pass(Sparse(), torch.eye(2))
    source = HistorySource(history)

    small = source.tensor("output", history["tosparse"].index, None)
    huge = source.tensor("output", history["output_2"].index, None)

    assert not isinstance(small, str)
    assert values_of(*small)[0].tolist() == [[1, 0], [0, 1]]
    assert str(huge).startswith("sparse: written out it would take")


def test_a_capture_loads_nothing_of_the_app() -> None:
    code = "import sys, torcheer.capture.page_source; print([m for m in sys.modules if 'torcheer.app' in m])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"

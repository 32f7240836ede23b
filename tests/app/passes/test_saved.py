"""A saved pass opened without torch gives the same answers as the history."""

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torcheer as tl
from tests.app.many_types import many_types, values_of
from torcheer.app.dispatch import Answers
from torcheer.app.passes import pass_values
from torcheer.app.passes.saved import SavedPasses, open_pass_file
from torcheer.app.passes.source import DocumentQuestion
from torcheer.capture.page_source import HistorySource
from torcheer.errors import InputError
from torcheer.tensorfile import default_window
from torcheer.tensorfile import reader as tensorbytes


@pytest.fixture(scope="module")
def history() -> Any:
    return many_types()


@pytest.fixture(scope="module")
def good(history: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "pass.safetensors"
    history.save(path)
    return path


def needs_torch(found: Any) -> bool:
    return str(found[0].note).startswith(("quantized", "nested"))


def test_a_file_answers_as_the_history_does(history: Any, good: Path) -> None:
    live, kept = HistorySource(history), open_pass_file(good)
    document = live.document()
    without_torch = [op for op in range(len(document.ops)) if needs_torch(live.tensor("output", op, None))]

    assert kept.name == "ManyTypes"
    assert len(without_torch) >= 3
    for op in range(len(document.ops)):
        label = document.ops[op].label
        if op in without_torch:
            assert "tl.load_history" in str(kept.tensor("output", op, None)), label
        else:
            assert kept.tensor("output", op, None) == live.tensor("output", op, None), label
        assert kept.tensor("grad", op, None) == live.tensor("grad", op, None), label
    assert kept.tensor("param_grad", 0, None) == live.tensor("param_grad", 0, None)
    assert "not their values" in str(kept.tensor("param", 0, None))
    for name in ("zeros", "nonfinite"):
        figures = list(live.figures(name))
        for op in without_torch:
            figures[op] = None  # type: ignore[call-overload]
        assert kept.figures(name) == figures


def test_its_document_says_what_the_file_has(history: Any, good: Path) -> None:
    live, kept = HistorySource(history).document(), open_pass_file(good).document()

    assert kept.ops == live.ops
    assert [param.has_value for param in kept.params] == [False]
    assert [param.has_grad for param in kept.params] == [True]
    assert kept.scopes == live.scopes


def test_windows_are_read_where_they_are_asked_for(history: Any, good: Path) -> None:
    source = open_pass_file(good)
    index = history["expand_1"].index
    fields = {name: getattr(default_window((7, 3, 5)), name) for name in ("item", "row_step", "column_step")}
    window = type(default_window(()))(
        **fields, first_tile=2, num_tiles=2, first_row=1, num_rows=2, first_column=3, num_columns=1
    )

    found = source.tensor("output", index, window)

    assert not isinstance(found, str)
    assert values_of(*found).tolist() == history[index].tensor_contents[2:4, 1:3, 3:4].tolist()
    with pytest.raises(InputError, match="outside"):
        source.tensor("output", index, default_window((100, 100)))
    with pytest.raises(InputError, match="no op number"):
        source.tensor("output", 10_000, None)


def test_what_was_not_saved_and_what_a_postfunc_made_are_told_apart(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.randn(3, 2)
    tl.log_forward_pass(model, x, layers_to_save=["relu_1"]).save(tmp_path / "some")
    tl.log_forward_pass(model, x, activation_postfunc=lambda value: value.sum(0)).save(tmp_path / "sums")
    tl.log_forward_pass(model, x, activation_postfunc=lambda value: {"a": 1}).save(tmp_path / "other")

    some, sums, other = (open_pass_file(tmp_path / name) for name in ("some", "sums", "other"))

    assert "layers_to_save" in str(some.tensor("output", 1, None))
    assert [op.has_value for op in some.document().ops] == [False, False, True, False]
    found = sums.tensor("output", 0, None)
    assert not isinstance(found, str)
    assert values_of(*found)[0, 0].tolist() == x.sum(0).tolist()
    assert "no tensor" in str(other.tensor("output", 1, None))
    assert not other.document().ops[1].has_value


def test_a_shape_only_pass_has_a_document_and_no_values(tmp_path: Path) -> None:
    with torch.device("meta"):
        model, x = nn.Linear(2, 3), torch.randn(4, 2)
    tl.log_forward_pass(model, x).save(tmp_path / "a")

    source = open_pass_file(tmp_path / "a")

    assert source.document().is_shape_only
    assert str(source.tensor("output", 1, None)).startswith("shape-only")


def test_a_sparse_value_names_what_opens_it(tmp_path: Path) -> None:
    class Sparse(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to_sparse()

    tl.log_forward_pass(Sparse(), torch.eye(2)).save(tmp_path / "a")

    assert "tl.load_history" in str(open_pass_file(tmp_path / "a").tensor("output", 1, None))


def test_gradients_in_half_precision_add_up_as_in_torch(tmp_path: Path) -> None:
    model = nn.Linear(64, 3, dtype=torch.bfloat16)
    history = tl.log_forward_pass(model, torch.randn(2, 64, dtype=torch.bfloat16), save_gradients=True)
    for weight in (1.0, 0.37, 0.001):
        history.log_backward((history.output * weight).sum(), retain_graph=True)
    history.save(tmp_path / "a")

    live, kept = HistorySource(history), open_pass_file(tmp_path / "a")

    for kind, index in (("grad", 1), ("param_grad", 0), ("param_grad", 1)):
        assert kept.tensor(kind, index, None) == live.tensor(kind, index, None)  # type: ignore[arg-type]


def test_torch_is_not_needed(good: Path) -> None:
    code = f"""
        import sys
        sys.modules["torch"] = None  # importing it is an error from now on
        from torcheer.app.passes.saved import open_pass_file
        source = open_pass_file({str(good)!r})
        num_ops = len(source.document().ops)
        print(num_ops, sum(not isinstance(source.tensor("output", i, None), str) for i in range(num_ops)))
    """

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)

    assert done.stderr == ""
    num_ops, num_shown = map(int, done.stdout.split())
    assert num_ops > num_shown > 40


def test_the_last_tensor_is_at_hand_and_no_other(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read_once = tensorbytes.TensorBytes.read_once

    def counted(self: Any, name: str) -> Any:
        reads.append(name)
        return read_once(self, name)

    monkeypatch.setattr(tensorbytes.TensorBytes, "read_once", counted)
    source = open_pass_file(good)
    reads.clear()

    source.tensor("output", 0, None)
    source.tensor("output", 0, None)
    assert len(reads) == 1

    for index in range(5):
        source.tensor("output", index, None)
    source.tensor("output", 0, None)
    assert len(set(reads)) < len(reads)


def test_rows_have_the_places_that_the_writer_gives_them() -> None:
    from torcheer.capture.savefile import pass_schema as stored

    for name in ("StoredOp", "StoredParam", "StoredBackward", "StoredGradients", "StoredPass"):
        ours, theirs = getattr(pass_values, name), getattr(stored, name)
        fields = ours.__struct_fields__
        assert fields == theirs.__struct_fields__[: len(fields)]
    assert pass_values.StoredNode.__struct_fields__ == stored.NodeNote._fields[:3]
    assert pass_values.StoredTensor.__struct_fields__ == stored.StoredTensor.__struct_fields__


def test_ids_of_passes_that_are_not_there_leave_nothing_behind() -> None:
    answers = Answers(SavedPasses(()))
    for number in range(20):
        answer = asyncio.run(answers.answer(DocumentQuestion(id=number, pass_id=f"none {number}")))
        assert "no longer here" in str(answer)
    assert not answers._turns

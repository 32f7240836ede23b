"""A pass in a run: its document once, and figures of each op that agree with torch."""

from __future__ import annotations

import math
import subprocess
import sys

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

import torcheer as tl
from tests.run.encode_checks import FakeRun, encoded, logged, refused
from torcheer.graph import PassDocument
from torcheer.run.records import Encoded


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


def figures(made: Encoded) -> dict[str, np.ndarray]:
    """A column for each figure, by its name."""
    table = np.frombuffer(made.data, dtype="<f8").reshape(made.head.num_ops, len(made.head.figures))
    return dict(zip(made.head.figures, table.T, strict=True))


def document(made: Encoded) -> PassDocument:
    assert made.document is not None
    assert made.document.hash == made.head.document
    return msgspec.json.decode(made.document.json, type=PassDocument)


def test_the_figures_of_each_op_are_those_of_its_output_and_gradient() -> None:
    history = tl.log_forward_pass(model(), torch.randn(5, 4), save_gradients=True)
    history.output.square().sum().backward()

    made = logged(lambda run: run.log_pass(0, "model", history))

    table = figures(made)
    assert made.head.num_ops == len(history)
    for index, op in enumerate(history):
        value = op.tensor_contents.detach().double()
        assert table["mean"][index] == pytest.approx(value.mean().item())
        assert table["std"][index] == pytest.approx(value.std().item())
        assert (table["min"][index], table["max"][index]) == (value.min().item(), value.max().item())
        assert table["zeros"][index] == pytest.approx((value == 0).double().mean().item())
        assert table["nan"][index] == 0
        assert table["seconds"][index] == op.func_time_elapsed
        if op.has_saved_grad:
            assert table["grad_mean"][index] == pytest.approx(op.grad_contents.double().mean().item())
            assert table["grad_max"][index] == op.grad_contents.max().item()
    assert sum(op.has_saved_grad for op in history) >= 3


def test_what_was_not_kept_is_not_known() -> None:
    history = tl.log_forward_pass(model(), torch.randn(5, 4), layers_to_save=["relu"])

    table = figures(logged(lambda run: run.log_pass(0, "model", history)))

    known = [op.layer_type for op, mean in zip(history, table["mean"], strict=True) if not math.isnan(mean)]
    assert known == ["relu"]
    assert np.isnan(table["grad_mean"]).all()


def test_nan_in_an_output_is_counted() -> None:
    x = torch.randn(5, 4)
    x[0, :3] = math.nan
    history = tl.log_forward_pass(nn.ReLU(), x)

    assert figures(logged(lambda run: run.log_pass(0, "model", history)))["nan"].tolist() == [3, 3, 3]


def test_the_document_is_that_of_the_pass() -> None:
    history = tl.log_forward_pass(model(), torch.randn(5, 4))

    made = logged(lambda run: run.log_pass(0, "model", history))

    assert [op.label for op in document(made).ops] == [op.layer_label for op in history]
    assert made.head.model_name == "Sequential"


def test_passes_of_one_model_share_a_document_though_they_took_other_times() -> None:
    net, run = model(), FakeRun()
    for step in range(3):
        run.log_pass(step, "model", tl.log_forward_pass(net, torch.randn(5, 4)))
    run.log_pass(3, "model", tl.log_forward_pass(net, torch.randn(6, 4)))

    digests = [encoded(observation).head.document for observation in run.observations]

    assert digests[0] == digests[1] == digests[2] != digests[3]


def test_passes_that_share_a_document_have_a_seed_each() -> None:
    net, run = model(), FakeRun()
    for seed in (7, 2**64 - 1):
        run.log_pass(seed % 10, "model", tl.log_forward_pass(net, torch.randn(5, 4), random_seed=seed))

    heads = [encoded(observation).head for observation in run.observations]

    assert heads[0].document == heads[1].document
    assert [head.random_seed for head in heads] == [7, 2**64 - 1]


def test_a_pass_is_seen_as_it_was_when_it_was_logged() -> None:
    net = nn.ReLU()
    history = tl.log_forward_pass(net, torch.ones(3))
    run = FakeRun()
    run._observe_value(2, "model", history)
    history["relu_1"].tensor_contents.fill_(7.0)

    assert run.only().kind == "pass"
    assert figures(encoded(run.only()))["max"].tolist() == [1, 1, 1]


def test_what_is_no_pass_is_told() -> None:
    assert "log_forward_pass" in refused(lambda run: run.log_pass(0, "model", model()))


def test_torch_is_loaded_by_nothing_but_a_pass() -> None:
    code = (
        "import sys, numpy\n"
        "from torcheer.run.log_methods import LogMethods\n"
        "import torcheer.run.tensorboard.summary_writer\n"
        "class Run(LogMethods):\n"
        "    def _put(self, observation): observation.encode()\n"
        "    def _tell(self, message, *cause): raise SystemExit(message)\n"
        "run, x = Run(), numpy.ones((3, 4, 4))\n"
        "for log in (run.log_tensor, run.log_histogram, run.log_image): log(0, 'x', x)\n"
        "run.log_text(0, 't', 'a'); run.log_hparams({'lr': 1}); run.log_embedding(0, 'e', x[0])\n"
        "run._observe_value(0, 'v', x)\n"
        "loaded = {'torch', 'matplotlib', 'torcheer.capture'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

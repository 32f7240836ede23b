"""A pass as text: the form its users know."""

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from examples.alexnet import AlexNet
from tests import vision  # noqa: F401  declares what torchvision misses here
from tests.capture.models.registry import module_with

ALEXNET = """\
Log of AlexNet forward pass:
\tModel structure: purely feedforward, without branching; 23 total modules.
\t24 tensors (4.8 MB) computed in forward pass; 24 tensors (4.8 MB) saved.
\t16 parameter operations (61100840 params total; 233.1 MB).
\tRandom seed: N
\tTime elapsed: Ts
\tModule Hierarchy:
\t\tfeatures:
\t\t    features.0, features.1, features.2, features.3, features.4, features.5, features.6, features.7,\x20
\t\t    features.8, features.9, features.10, features.11, features.12
\t\tavgpool
\t\tclassifier:
\t\t    classifier.0, classifier.1, classifier.2, classifier.3, classifier.4, classifier.5, classifier.6
\tLayers:
\t\t0: input_1_0\x20
\t\t1: conv2d_1_1\x20
\t\t2: relu_1_2\x20
\t\t3: maxpool2d_1_3\x20
\t\t4: conv2d_2_4\x20
\t\t5: relu_2_5\x20
\t\t6: maxpool2d_2_6\x20
\t\t7: conv2d_3_7\x20
\t\t8: relu_3_8\x20
\t\t9: conv2d_4_9\x20
\t\t10: relu_4_10\x20
\t\t11: conv2d_5_11\x20
\t\t12: relu_5_12\x20
\t\t13: maxpool2d_3_13\x20
\t\t14: adaptiveavgpool2d_1_14\x20
\t\t15: flatten_1_15\x20
\t\t16: dropout_1_16\x20
\t\t17: linear_1_17\x20
\t\t18: relu_6_18\x20
\t\t19: dropout_2_19\x20
\t\t20: linear_2_20\x20
\t\t21: relu_7_21\x20
\t\t22: linear_3_22\x20
\t\t23: output_1_23\x20"""


def normalised(text: str) -> str:
    text = re.sub(r"Random seed: \d+", "Random seed: N", text)
    return re.sub(r"Time elapsed: \d+\.\d{3}s", "Time elapsed: Ts", text)


@pytest.fixture(scope="module")
def history() -> tl.ModelHistory:
    return tl.log_forward_pass(AlexNet(), torch.rand(1, 3, 224, 224))


def test_a_pass_is_printed_in_the_known_form(history: tl.ModelHistory) -> None:
    assert normalised(str(history)) == ALEXNET


def test_an_op_is_printed_in_full(history: tl.ModelHistory) -> None:
    text = str(history["conv2d_3"])

    assert text.startswith("Layer conv2d_3_7:\n\tFunction: conv2d\n")
    for part in (
        "shape=(1, 384, 13, 13), dtype=torch.float32, device=cpu, size=253.5 KB",
        "features.6.weight (384, 192, 3, 3); features.6.bias (384,)",
        "Module: features.6",
        "Parents: maxpool2d_2_6",
        "Children: relu_3_8",
        "FLOPs",
        "alexnet.py",
    ):
        assert part in text
    assert repr(history["conv2d_3"]) == "<Op conv2d_3_7 1×384×13×13 float32>"
    assert repr(history) == "<ModelHistory of AlexNet: 24 ops, 24 saved>"


def test_recurrence_and_conditions_are_told_in_the_structure() -> None:
    class Loop(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(5):
                x = torch.sin(x) + x
            if x.sum() > 0:
                x = x * 2
            return x

    text = str(tl.log_forward_pass(Loop(), torch.ones(2)))

    assert (
        "recurrent (at most 5 loops), with branching and conditional (if-then) branching; 0 total modules"
        in text
    )


def test_it_shows_in_a_notebook(history: tl.ModelHistory) -> None:
    html = history._repr_html_()

    assert "Log of AlexNet forward pass" in html
    assert html.count("<tr>") == 25


def test_what_comes_from_the_model_is_escaped() -> None:
    evil = type("<img onerror=x>", (nn.ReLU,), {})

    html = tl.log_forward_pass(evil(), torch.rand(2))._repr_html_()

    assert "<img" not in html
    assert "&lt;img" in html


def test_it_becomes_a_table(history: tl.ModelHistory) -> None:
    table = history.to_pandas()

    assert list(table["layer_label"]) == history.layer_labels
    assert table.loc[7, "num_params"] == 384 * 192 * 9 + 384
    assert table["flops"].sum() == history.total_flops


def test_a_summary_has_a_row_for_every_module(history: tl.ModelHistory) -> None:
    summary = tl.summary(AlexNet(), torch.rand(1, 3, 224, 224))
    by_address = {row.address: row for row in summary.rows}

    assert list(by_address) == ["", *history.module_addresses]
    assert by_address[""].num_params == 61_100_840
    assert by_address["features.0"].output_shape == (1, 64, 55, 55)
    assert by_address["features"].macs == sum(by_address[f"features.{i}"].macs for i in range(13))
    assert by_address[""].macs == history.total_macs
    assert "61,100,840 parameters" in str(summary)


def test_a_summary_of_shared_and_idle_modules() -> None:
    @module_with(lambda: {"fc": nn.Linear(3, 3), "idle": nn.Linear(3, 3)})
    def shared(self, x: Tensor) -> Tensor:
        return self.fc(self.fc(x))

    text = str(tl.summary(shared(), torch.rand(3)))

    assert "fc (×2)" in text
    assert "not run" in text


def test_a_summary_leaves_the_model_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)

    tl.summary(model, torch.ones(3, 4))

    assert torch.equal(torch.rand(1), expected)
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_the_seeds_own_snippet_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")  # opens no window
    seed = Path(__file__).parents[1] / "seeds" / "torchlens.py"
    exec(compile(seed.read_text(), str(seed), "exec"), {})

    assert "conv2d_1_1" in (tmp_path / "modelgraph.svg").read_text(encoding="utf-8")
    assert normalised(capsys.readouterr().out).strip("\n") == ALEXNET

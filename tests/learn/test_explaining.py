"""`tensor.explain()`: names and lines of the program, errors that say what to do, and a page in one file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import torcheer.autograd as tg
from torcheer.app import lessons
from torcheer.app.html_page import Bundle
from torcheer.autograd import nn, tracer
from torcheer.errors import AutogradError, InputError
from torcheer.learn.explain import MAX_NODES, assigned, lesson_of_tensor
from torcheer.learn.lesson_document import Lesson

BUNDLE = Bundle(script="let a = 1;", style="p {}")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.fc2 = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        h = torch.tanh(self.fc1(x))
        return self.fc2(h)


def names(lesson: Lesson) -> list[str]:
    return [node.name for node in lesson.nodes]


def test_names_are_those_of_variables_and_of_modules() -> None:
    net = Net()
    x = torch.randn(2, 3)
    scale = tracer([2.0], requires_grad=True)
    out = net(x) * scale
    loss = (out**2).mean()

    lesson = lesson_of_tensor(loss, locals())

    assert set(names(lesson)) == {
        "net.fc1.weight", "net.fc1.bias", "net.fc2.weight", "net.fc2.bias", "x", "scale",
        "linear_1", "h", "linear_2", "out", "pow_1", "loss",
    }  # fmt: skip
    by_name = {node.name: node for node in lesson.nodes}
    assert by_name["linear_1"].layer == "net.fc1"
    assert by_name["linear_2"].text == "self.fc2(h)"
    assert by_name["x"].kind == "input"
    assert by_name["net.fc1.weight"].kind == "parameter"
    assert by_name["h"].text == "torch.tanh(self.fc1(x))"
    assert lesson.title == "loss"
    assert r"\grad{net.fc2.weight} = \grad{linear_2}^{\top} \name{h}" in [
        step.formula for step in lesson.backward
    ]


def test_lines_are_those_of_the_file() -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    y = w * 3
    loss = y.sum()

    lesson = lesson_of_tensor(loss, locals())

    written = Path(__file__).read_text(encoding="utf-8").split("\n")
    for node in lesson.nodes:
        if node.rule:
            assert written[node.line - 1] == lesson.lines[node.line - lesson.first_line]
    assert lesson.lines == ["    y = w * 3", "    loss = y.sum()"]


def test_numbers_and_checks_are_those_of_backward() -> None:
    net, x = Net(), torch.randn(2, 3)
    loss = net(x).sum()

    lesson = lesson_of_tensor(loss, locals())
    loss.backward()

    gradients = {node.name: node.gradient for node in lesson.nodes}
    for name, parameter in net.named_parameters():
        shown = gradients[f"net.{name}"]
        assert shown is not None
        assert parameter.grad is not None
        assert torch.allclose(torch.tensor(shown.values).reshape(parameter.shape), parameter.grad)
    assert all(
        check.torch_error is not None and check.torch_error <= check.tolerance for check in lesson.checks
    )
    assert len(lesson.checks) == sum(node.wants_gradient for node in lesson.nodes)


def test_it_changes_nothing() -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    called: list[Any] = []
    y = w * w
    y.register_hook(called.append)
    loss = y.sum()
    threads = torch.get_num_threads()

    lesson = lesson_of_tensor(loss, locals())

    assert w.grad is None
    assert called == []
    assert "Hooks" in lesson.notes[0]
    assert torch.get_num_threads() == threads
    loss.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2, 4]
    assert len(called) == 1


def test_a_small_graph_can_be_explained_after_backward() -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    before = lesson_of_tensor(loss, locals())
    loss.backward()

    after = lesson_of_tensor(loss, locals())

    assert after.backward == before.backward
    with pytest.raises(AutogradError, match="walked back already"):
        loss.backward()


def test_a_large_one_cannot_and_says_so() -> None:
    w = tracer(torch.ones(100, 100), requires_grad=True)
    loss = (w * 2 * w).sum()
    loss.backward()

    with pytest.raises(
        AutogradError, match=r"call explain\(\) before backward\(\), or backward\(retain_graph=True\)"
    ):
        loss.explain()


def test_what_was_changed_since_is_refused() -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    with tg.no_grad():
        w.mul_(2)

    with pytest.raises(AutogradError, match="changed in place"):
        loss.explain()


def test_after_a_step_of_the_optimizer_it_says_what_to_do() -> None:
    w = nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = tg.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()

    with pytest.raises(AutogradError, match="explain before the optimizer steps, or compute the loss anew"):
        loss.explain()


def test_a_path_that_is_no_page_is_refused(tmp_path: Path) -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()

    with pytest.raises(IsADirectoryError, match="this is a folder"):
        loss.explain(tmp_path)
    with pytest.raises(InputError, match="written to a path"):
        loss.explain(3)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_number_is_refused() -> None:
    w = tracer([1.0, 2.0], requires_grad=True)

    with pytest.raises(AutogradError, match=r"explain its sum, x\.sum\(\)\.explain\(\)"):
        (w * 2).explain()
    with pytest.raises(AutogradError, match="made of nothing that wants a gradient"):
        tracer([1.0]).sum().explain()


def test_too_many_ops_are_refused_with_the_limit() -> None:
    y = tracer(1.0, requires_grad=True)
    for _ in range(MAX_NODES):
        y = y + 1

    with pytest.raises(InputError, match=f"a lesson has {MAX_NODES} at most"):
        y.explain()


def test_a_loop_has_a_name_for_each_round() -> None:
    h = tracer([0.5], requires_grad=True)
    start = h
    for _ in range(3):
        h = torch.tanh(h)
        h = h * 2
    loss = h.sum()

    lesson = lesson_of_tensor(loss, {"start": start, "loss": loss})

    assert len(set(names(lesson))) == len(names(lesson))
    assert [name for name in names(lesson) if name.startswith("h")] == [
        "h",
        "h_2",
        "h_3",
        "h_4",
        "h_5",
        "h_6",
    ]


def test_lists_and_dictionaries_of_tensors_have_names() -> None:
    params = [tracer([1.0], requires_grad=True), tracer([2.0], requires_grad=True)]
    named = {"scale{}": tracer([3.0], requires_grad=True)}
    loss = (params[0] * params[1] * named["scale{}"]).sum()

    lesson = lesson_of_tensor(loss, {"params": params, "named": named, "loss": loss, "_": params})

    assert names(lesson)[:3] == ["params[0]", "params[1]", "named[scale]"]


def test_parts_of_a_checkpoint_are_there() -> None:
    w = tracer([0.5, 1.0], requires_grad=True)
    loss = tg.checkpoint(lambda x: torch.tanh(x) * x, w).sum()

    lesson = lesson_of_tensor(loss, locals())

    assert {node.rule for node in lesson.nodes} == {"", "tanh", "mul", "sum"}


def test_code_without_a_file_has_no_lines() -> None:
    space: dict[str, Any] = {"tracer": tracer}
    exec("w = tracer([1.0], requires_grad=True)\nloss = (w * 2).sum()", space)

    lesson = lesson_of_tensor(space["loss"], space)

    assert lesson.lines == []
    assert all(node.line == 0 for node in lesson.nodes)
    assert names(lesson) == ["w", "mul_1", "loss"]


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        ("    h = relu(x)", "h", "relu(x)"),
        ("a, b = f(x)", "", "f(x)"),
        ("return self.fc(x)", "", "self.fc(x)"),
        ("h = relu(", "", ""),
        ("for i in x:", "", ""),
        ("", "", ""),
    ],
)
def test_what_a_line_is_about(line: str, name: str, text: str) -> None:
    assert assigned(line) == (name, text)


# --- the page ----------------------------------------------------------------------------------


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lessons, "read_bundle", lambda part: BUNDLE)


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="torcheer-lesson">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


@pytest.mark.usefixtures("bundled")
def test_with_a_path_one_file_is_written(tmp_path: Path) -> None:
    w = tracer([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()

    written = loss.explain(tmp_path / "lesson.html", title="</script><b>Mine")

    page = Path(written).read_text(encoding="utf-8")
    data = data_of(page)
    assert data["title"] == "</script><b>Mine"
    assert [node["name"] for node in data["nodes"]] == ["w", "mul_1", "loss"]
    assert data["checks"]
    assert "<b>Mine" not in page
    assert "let a = 1" in page


@pytest.mark.usefixtures("bundled")
def test_without_a_path_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("torcheer.app.html_page.open_in_browser", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    w = tracer([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()

    path = loss.explain()
    loss.explain(open_browser=False)

    assert opened == [Path(path).as_uri()]
    assert f"The page of loss is in {path}" in capsys.readouterr().out


@pytest.mark.usefixtures("bundled")
def test_in_a_notebook_it_shows_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(lessons, "in_notebook", lambda: True)
    monkeypatch.setattr(lessons, "show_inline", lambda page, height, title: shown.append(page))
    w = tracer([1.0], requires_grad=True)
    loss = (w * w).sum()

    assert loss.explain() is None

    assert "torcheer-lesson" in shown[0]

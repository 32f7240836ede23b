"""The three snippets of torchtrace run with other imports, and print what they show."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

SOURCE = Path(__file__).with_name("torchtrace.py").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"^# ([ABC])\.\n(.*?)(?=^# [ABC]\.\n|\Z)", SOURCE, re.MULTILINE | re.DOTALL))


def run(letter: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The names that a snippet leaves behind, and what it printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    exec(compile(SNIPPETS[letter], f"torchtrace {letter}", "exec"), names)
    return names, capsys.readouterr().out


def shown(letter: str) -> str:
    """What stands below `# output` in a snippet."""
    lines = SNIPPETS[letter].split("# output\n")[1].strip().splitlines()
    return "".join(line.removeprefix("# ") + "\n" for line in lines)


@pytest.mark.parametrize("letter", ["A", "C"])
def test_a_snippet_prints_what_it_shows(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, printed = run(letter, capsys)

    assert printed == shown(letter)
    assert len(printed.splitlines()) == {"A": 1, "C": 22}[letter]


def test_the_model_of_b_prints_and_learns_as_torchs_does(capsys: pytest.CaptureFixture[str]) -> None:
    names, printed = run("B", capsys)

    assert printed.startswith("Sequence(\n    (0):Linear layer (8 X 256)\n    (1):ReLU()\n")
    losses = [float(value) for value in re.findall(r"^tracer\(([\d.]+)", printed, re.MULTILINE)]
    assert losses == pytest.approx(losses_of_torch(), abs=1e-4)
    assert losses[-1] < losses[0]
    assert names["out"].shape == (16, 1)


def losses_of_torch() -> list[float]:
    """The same training, with torch's own."""
    torch.manual_seed(0)
    sizes = (8, 256, 128, 64, 4)
    layers: list[torch.nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4)
    x, target = torch.rand(16, 8).float(), torch.rand(16, 1)
    losses = []
    for _ in range(10):
        out = model(x)
        loss = torch.nn.functional.mse_loss(out.gather(1, out.max(1)[1].unsqueeze(1)), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def test_the_arrow_is_the_one_of_the_seed(capsys: pytest.CaptureFixture[str]) -> None:
    _, printed = run("C", capsys)

    assert printed.count("\u2198\ufe0e ") == 10

"""Ordinary scripts for torch, as they are and with other import lines: the same numbers come out."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import torcheer.autograd as ag

# A regression with bare tensors, as in torch's own first lesson.
POLYNOMIAL = """
import math
import torch

torch.manual_seed(0)
dtype, device = torch.float, torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 200, device=device, dtype=dtype)
y = torch.sin(x)
a, b, c, d = (torch.randn((), device=device, dtype=dtype, requires_grad=True) for _ in range(4))
losses = []
for t in range(30):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum()
    losses.append(loss.item())
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 1e-6 * p.grad
            p.grad = None
result = [one.item() for one in (a, b, c, d)]
"""

# A classifier by hand: weights that are asked to require a gradient after they were made, and batches.
CLASSIFIER = """
import math
import torch
import torch.nn.functional as F

torch.manual_seed(1)
xs = torch.randn(64, 10)
ys = (xs[:, 0] > xs[:, 1]).long()
weights = torch.randn(10, 3) / math.sqrt(10)
weights.requires_grad_()
bias = torch.zeros(3, requires_grad=True)
hidden = torch.nn.functional.normalize(torch.randn(3, 2), dim=0)
hidden.requires_grad = True

def model(xb):
    return torch.relu(xb @ weights + bias).mm(hidden).log_softmax(-1)

def accuracy(out, yb):
    return (torch.argmax(out, dim=1) == yb).float().mean()

losses = []
for epoch in range(2):
    for i in range((64 - 1) // 16 + 1):
        xb, yb = xs[i * 16 : i * 16 + 16], ys[i * 16 : i * 16 + 16]
        out = model(xb)
        loss = -out[range(yb.shape[0]), yb].mean()
        loss.backward()
        losses.append(f"{loss:.4f}")
        with torch.no_grad():
            for p in (weights, bias, hidden):
                p -= p.grad * 0.5
                p.grad.zero_()
result = [accuracy(model(xs), ys).item(), weights.sum().item()]
result += torch.stack([bias[0], hidden[0, 1]]).tolist()
"""

# Layers and an optimizer, a penalty on gradients, and the parameters put in order at the end.
NETWORK = """
import torch
from torch import nn, optim

torch.manual_seed(2)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, kernel_size=3, padding=1)
        self.fc = nn.Linear(4 * 16, 2)

    def forward(self, x):
        x = torch.tanh(self.conv(x))
        return self.fc(x.view(x.size(0), -1))

net = Net()
optimizer = optim.Adam(net.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
images, labels = torch.rand(8, 1, 4, 4), torch.randint(0, 2, (8,))
losses = []
for step in range(10):
    optimizer.zero_grad()
    inputs = images.clone().requires_grad_()
    loss = criterion(net(inputs), labels)
    (slope,) = torch.autograd.grad(loss, inputs, create_graph=True)
    total = loss + 0.1 * slope.square().sum()
    total.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    losses.append(total.item())
with torch.no_grad():
    result = torch.cat([p.flatten() for p in net.parameters()]).sort().values.tolist()
"""

IMPORTS = [
    (r"import torch\n", "import torcheer.autograd as torch\n"),
    (r"import torch\.nn\.functional as F\n", "import torcheer.autograd.nn.functional as F\n"),
    (r"from torch import", "from torcheer.autograd import"),
]


def moved(script: str) -> str:
    for old, new in IMPORTS:
        script = re.sub(old, new, script)
    return script


def run(script: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(script, "script.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    "script", [POLYNOMIAL, CLASSIFIER, NETWORK], ids=["polynomial", "classifier", "network"]
)
def test_a_script_runs_with_other_imports_alone(script: str) -> None:
    theirs, ours = run(script), run(moved(script))

    assert ours["result"] == pytest.approx(theirs["result"], rel=1e-4, abs=1e-5)
    ours_losses, their_losses = ([float(one) for one in names["losses"]] for names in (ours, theirs))
    assert ours_losses == pytest.approx(their_losses, rel=1e-3)
    assert ours_losses[-1] < ours_losses[0]
    assert isinstance(ours["loss"], ag.tracer)
    assert not isinstance(theirs["loss"], ag.tracer)


# --- the face --------------------------------------------------------------------------------------------


def test_floats_are_made_as_tracers_so_that_they_can_be_asked_for_a_gradient_later() -> None:
    assert isinstance(ag.zeros(2), ag.tracer)
    assert not ag.zeros(2).requires_grad
    assert ag.rand(2, requires_grad=True).requires_grad
    assert ag.tensor([1.0]).requires_grad_().is_leaf
    assert type(ag.tensor([1, 2])) is torch.Tensor
    assert type(ag.arange(3)) is torch.Tensor
    assert ag.arange(3.0, requires_grad=True).requires_grad


def test_a_tensor_is_a_copy_and_keeps_no_part_of_torchs_autograd() -> None:
    source = torch.ones(2)
    made = ag.tensor(source.tolist(), dtype=ag.float64, requires_grad=True)

    assert made.dtype == torch.float64
    assert ag.from_numpy(source.numpy()).data_ptr() == source.data_ptr()


def test_names_of_torch_are_there_where_there_is_a_rule_or_nothing_to_differentiate() -> None:
    assert ag.exp is torch.exp
    assert ag.float32 is torch.float32
    assert ag.randint is torch.randint
    assert ag.Tensor is torch.Tensor
    assert ag.linalg is torch.linalg
    assert ag.autograd is ag
    assert "exp" in dir(ag)
    assert "nn" in dir(ag)


@pytest.mark.parametrize("name", ["fft", "jit", "Function", "func", "_C", "no_such_thing"])
def test_what_there_is_no_rule_for_is_not_there(name: str) -> None:
    with pytest.raises(AttributeError, match=f"has no {name}"):
        getattr(ag, name)


def test_rooms_are_read_when_they_are_asked_for() -> None:
    assert ag.nn.__name__ == "torcheer.autograd.nn"
    assert ag.optim.SGD
    assert ag.functional.relu
    assert callable(ag.checkpoint)
    assert callable(ag.gradcheck)


def test_inference_mode_remembers_nothing() -> None:
    x = ag.ones(2, requires_grad=True)
    with ag.inference_mode():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad

"""eTorch's AlexNet: its forward as it stands, recorded by a State."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

from tests.vision import torchvision
from torcheer.netview.state import State

NAMES = [
    *("Conv1.Net", "Conv1.Act", "Conv1Pool.Act", "Conv2.Net", "Conv2.Act", "Conv2Pool.Act"),
    *("Conv3.Net", "Conv3.Act", "Conv4.Net", "Conv4.Act", "Conv5.Net", "Conv5.Act", "Conv5Pool.Act"),
]


class AlexNet(nn.Module):
    """torchvision's layers with the seed's forward."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        plain = torchvision.models.AlexNet(num_classes=10)
        self.features, self.avgpool, self.classifier = plain.features, plain.avgpool, plain.classifier
        self.fnames = NAMES
        self.est = State(self, run=run)
        self.est.init_net(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.est.rec(x, "Image.Act")
        for i, f in enumerate(self.features):
            x = f(x)
            self.est.rec(x, self.fnames[i])
        x = self.avgpool(x)
        self.est.rec(x, "AP.Act")
        x = torch.flatten(x, 1)
        cnames = ["", "Cl1.Net", "Cl1.Act", "", "Cl2.Net", "Cl2.Act", "Out.Net"]
        for i, f in enumerate(self.classifier):
            x = f(x)
            cnm = cnames[i]
            if len(cnm) > 0:
                self.est.rec(x, cnm)
        return x


@pytest.fixture(scope="module")
def alexnet(tmp_path_factory: pytest.TempPathFactory) -> AlexNet:
    torch.manual_seed(0)
    return AlexNet(tmp_path_factory.mktemp("etorch") / "run").eval()


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))


def test_the_forward_of_the_seed_runs_as_it_stands_and_its_layers_are_there(
    alexnet: AlexNet, images: Tensor
) -> None:
    with torch.no_grad():
        alexnet(images)
    step = alexnet.est.update()

    layers = {layer.name: layer for layer in alexnet.est.scene.layers}
    assert step == 0
    assert list(layers)[:4] == ["Image", "Conv1", "Conv1Pool", "Conv2"]
    assert layers["Conv1"].variables == ["Net", "Act"]
    assert layers["Image"].grid.is_colour
    assert layers["Out"].shape == [10]


def test_what_is_recorded_is_what_the_layers_gave_though_relu_writes_in_place(
    alexnet: AlexNet, images: Tensor
) -> None:
    with torch.no_grad():
        alexnet(images)
        alexnet.est.update()
        net = alexnet.features[0](images)

    for item in (0, 1):
        assert numpy.array_equal(alexnet.est.values("Conv1.Net", item=item), net[item].numpy())
        assert numpy.array_equal(alexnet.est.values("Conv1.Act", item=item), net[item].relu().numpy())
    assert (net < 0).any()


def test_the_connections_of_the_seed_s_layers_carry_the_weights_of_its_modules(
    alexnet: AlexNet, images: Tensor
) -> None:
    with torch.no_grad():
        alexnet(images)
        alexnet.est.update()

    found = {(one.source, one.target): one for one in alexnet.est.scene.connections}
    assert found["Image", "Conv1"].weight == "features.0.weight"
    assert (found["Image", "Conv1"].stride, found["Image", "Conv1"].padding) == ([4, 4], [2, 2])
    assert found["Conv1Pool", "Conv2"].form == "conv"
    assert found["Conv1", "Conv1Pool"].form == "other"
    assert found["AP", "Cl1"].form == "linear"
    assert found["Cl1", "Cl2"].weight == "classifier.4.weight"
    assert found["Cl2", "Out"].weight == "classifier.6.weight"
    row = alexnet.est.weights("Out", 3)["Cl2"]
    assert numpy.array_equal(row, alexnet.classifier[6].weight[3].detach().numpy())


def test_the_hooks_that_learn_the_connections_are_gone_after_two_moments(
    alexnet: AlexNet, images: Tensor
) -> None:
    for _ in range(2):
        with torch.no_grad():
            alexnet(images)
        alexnet.est.update()

    assert not any(module._forward_hooks for module in alexnet.modules())


def test_recording_can_be_switched_off_and_on_and_traced(
    alexnet: AlexNet, images: Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    est = alexnet.est
    with torch.no_grad():
        alexnet(images)
        before = est.update()
        est.record = False
        alexnet(images)
        assert est.update() == before
        est.record = est.trace = True
        alexnet(images)
        est.trace = False
        assert est.update() == before + 1

    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "Image.Act (2, 3, 64, 64)"
    assert "Out.Net (2, 10)" in printed
    assert len(printed) == 20

"""Models that draw random numbers: the capture must draw the same ones, and no others."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.capture.models.inplace import OVER, UNDEFINED, matrix, vector
from tests.capture.models.memory import SHAPE_ONLY
from tests.capture.models.registry import small


@small(matrix, "input_1 -> linear_1 -> dropout_1 -> linear_2 -> dropout_2 -> output_1")
class DropoutInTraining(nn.Module):
    """Two dropouts, which draw one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout(0.3))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@small(matrix, "input_1 -> linear_1 -> dropout_1 -> output_1", eval=True)
class DropoutInEvaluation(nn.Module):
    """A dropout that draws nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.linear(x))


@small(matrix, "input_1 -> mul_1 -> dropout_1 -> sin_1 -> output_1")
class DropoutInPlace(nn.Module):
    """A dropout that writes into its input."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        self.dropout(y)
        return y.sin()


@small(
    lambda: torch.randn(2, 3, 4),
    """
    input_1 -> featuredropout_1 -> alphadropout_1 -> featurealphadropout_1 -> output_1
    """,
)
class OtherDropouts(nn.Module):
    """Dropout of whole channels, and the kinds that keep mean and variance."""

    def forward(self, x: Tensor) -> Tensor:
        y = F.dropout1d(x, 0.5, training=True)
        return F.feature_alpha_dropout(F.alpha_dropout(y, 0.5, training=True), 0.5, training=True)


@small(
    vector,
    """
    input_1, randn_1 -> add_1
    input_1 -> randlike_1
    add_1, randlike_1 -> mul_1
    randint_1, mul_1 -> sub_1 -> output_1
    """,
    exempt={"randlike_1": SHAPE_ONLY},
)
class NoiseSources(nn.Module):
    """`randn`, `rand_like` and `randint`."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.randint(0, 9, (3,)) - (x + torch.randn(3)) * torch.rand_like(x)


@small(
    vector,
    """
    input_1 -> sigmoid_1 -> bernoulli_1
    sigmoid_1 -> multinomial_1
    input_1, multinomial_1 -> getitem_1
    bernoulli_1 -> output_1
    getitem_1 -> output_2
    """,
)
class Sampling(nn.Module):
    """Draws whose probabilities the model computes."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        chances = torch.sigmoid(x)
        return torch.bernoulli(chances), x[torch.multinomial(chances, 2)]


@small(
    vector,
    """
    empty_1 -> normal_1
    empty_2 -> uniform_1
    input_1, normal_1 -> add_1
    add_1, uniform_1 -> mul_1 -> output_1
    """,
    exempt={"empty_1": UNDEFINED, "empty_2": UNDEFINED, "normal_1": OVER, "uniform_1": OVER},
)
class RandomInPlace(nn.Module):
    """`normal_` and `uniform_` fill a tensor."""

    def forward(self, x: Tensor) -> Tensor:
        return (x + torch.empty(3).normal_()) * torch.empty(3).uniform_(1, 2)


@small(
    vector,
    """
    input_1, rand_1 -> add_1
    add_1, rand_2 -> add_2 -> output_1
    """,
)
class OwnGenerator(nn.Module):
    """A generator of the model's own, which two calls advance."""

    def forward(self, x: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(7)
        return x + torch.rand(3, generator=generator) + torch.rand(3, generator=generator)


@small(
    matrix,
    """
    input_1, randperm_1 -> getitem_1 -> output_1
    """,
)
class Shuffled(nn.Module):
    """Rows in random order."""

    def forward(self, x: Tensor) -> Tensor:
        return x[torch.randperm(3)]


@small(
    matrix,
    """
    input_1 -> emptylike_1 -> exponential_1 -> log_1 -> neg_1
    input_1, neg_1 -> add_1 -> div_1 -> softmax_1 -> output_1
    """,
    exempt={"emptylike_1": UNDEFINED, "exponential_1": OVER},
)
class GumbelSoftmax(nn.Module):
    """A torch function that is written in Python and draws inside."""

    def forward(self, x: Tensor) -> Tensor:
        return F.gumbel_softmax(x, tau=0.7)


@small(matrix, "input_1 -> rrelu_1 -> output_1")
class RandomisedReLU(nn.Module):
    """An activation with a random slope."""

    def __init__(self) -> None:
        super().__init__()
        self.activation = nn.RReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(x)


@small(
    lambda: torch.randn(2, 5, 3),
    """
    input_1, zeros_1 -> gru_1, gru_2
    gru_1 -> output_1
    gru_2 -> output_2
    """,
)
class DropoutInsideGRU(nn.Module):
    """A fused recurrent layer with dropout between its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(3, 4, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.gru(x)


@small(
    lambda: torch.randn(1, 2, 4, 4),
    "input_1 -> scaleddotproductattention_1 -> output_1",
)
class DropoutInsideAttention(nn.Module):
    """A fused attention with dropout."""

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.3)


@small(vector, "input_1 -> mul_1 -> add_1 -> output_1")
class RandomOutsideTorch(nn.Module):
    """Python and NumPy draw: the numbers come in as constants."""

    def forward(self, x: Tensor) -> Tensor:
        return x * random.random() + float(np.random.rand())


@small(
    vector,
    """
    input_1, randn_1 -> mul_1 -> output_1
    """,
)
class SeedsItself(nn.Module):
    """The model sets the seed, in the middle of the pass."""

    def forward(self, x: Tensor) -> Tensor:
        torch.manual_seed(3)
        return x * torch.randn(3)

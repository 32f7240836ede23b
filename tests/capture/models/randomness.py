"""Models that draw random numbers: the capture must draw the same ones, and no others."""

import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.capture.models.inplace import OVER, UNDEFINED, matrix, vector
from tests.capture.models.memory import SHAPE_ONLY
from tests.capture.models.registry import small


@small(
    matrix,
    "input_1 -> linear_1 -> dropout_1 -> linear_2 -> dropout_2 -> output_1",
    parts=lambda: {
        "layers": nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout(0.3))
    },
)
def dropout_in_training(self, x: Tensor) -> Tensor:
    """Two dropouts, which draw one after the other."""
    return self.layers(x)


@small(
    matrix,
    "input_1 -> linear_1 -> dropout_1 -> output_1",
    eval=True,
    parts=lambda: {"linear": nn.Linear(4, 4), "dropout": nn.Dropout(0.5)},
)
def dropout_in_evaluation(self, x: Tensor) -> Tensor:
    """A dropout that draws nothing."""
    return self.dropout(self.linear(x))


@small(
    matrix,
    "input_1 -> mul_1 -> dropout_1 -> sin_1 -> output_1",
    parts=lambda: {"dropout": nn.Dropout(0.5, inplace=True)},
)
def dropout_in_place(self, x: Tensor) -> Tensor:
    """A dropout that writes into its input."""
    y = x * 2
    self.dropout(y)
    return y.sin()


@small(lambda: torch.randn(2, 3, 4))
def other_dropouts(self, x: Tensor) -> Tensor:
    """Dropout of whole channels, and the kinds that keep mean and variance.

    input_1 -> featuredropout_1 -> alphadropout_1 -> featurealphadropout_1 -> output_1
    """
    y = F.dropout1d(x, 0.5, training=True)
    return F.feature_alpha_dropout(F.alpha_dropout(y, 0.5, training=True), 0.5, training=True)


@small(vector, exempt={"randlike_1": SHAPE_ONLY})
def noise_sources(self, x: Tensor) -> Tensor:
    """`randn`, `rand_like` and `randint`.

    input_1, randn_1 -> add_1
    input_1 -> randlike_1
    add_1, randlike_1 -> mul_1
    randint_1, mul_1 -> sub_1 -> output_1
    """
    return torch.randint(0, 9, (3,)) - (x + torch.randn(3)) * torch.rand_like(x)


@small(vector)
def sampling(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """Draws whose probabilities the model computes.

    input_1 -> sigmoid_1 -> bernoulli_1
    sigmoid_1 -> multinomial_1
    input_1, multinomial_1 -> getitem_1
    bernoulli_1 -> output_1
    getitem_1 -> output_2
    """
    chances = torch.sigmoid(x)
    return torch.bernoulli(chances), x[torch.multinomial(chances, 2)]


@small(vector, exempt={"empty_1": UNDEFINED, "empty_2": UNDEFINED, "normal_1": OVER, "uniform_1": OVER})
def random_in_place(self, x: Tensor) -> Tensor:
    """`normal_` and `uniform_` fill a tensor.

    empty_1 -> normal_1
    empty_2 -> uniform_1
    input_1, normal_1 -> add_1
    add_1, uniform_1 -> mul_1 -> output_1
    """
    return (x + torch.empty(3).normal_()) * torch.empty(3).uniform_(1, 2)


@small(vector)
def own_generator(self, x: Tensor) -> Tensor:
    """A generator of the model's own, which two calls advance.

    input_1, rand_1 -> add_1
    add_1, rand_2 -> add_2 -> output_1
    """
    generator = torch.Generator().manual_seed(7)
    return x + torch.rand(3, generator=generator) + torch.rand(3, generator=generator)


@small(matrix)
def shuffled(self, x: Tensor) -> Tensor:
    """Rows in random order.

    input_1, randperm_1 -> getitem_1 -> output_1
    """
    return x[torch.randperm(3)]


@small(matrix, exempt={"emptylike_1": UNDEFINED, "exponential_1": OVER})
def gumbel_softmax(self, x: Tensor) -> Tensor:
    """A torch function that is written in Python and draws inside.

    input_1 -> emptylike_1 -> exponential_1 -> log_1 -> neg_1
    input_1, neg_1 -> add_1 -> div_1 -> softmax_1 -> output_1
    """
    return F.gumbel_softmax(x, tau=0.7)


@small(matrix, "input_1 -> rrelu_1 -> output_1", parts=lambda: {"activation": nn.RReLU()})
def randomised_re_lu(self, x: Tensor) -> Tensor:
    """An activation with a random slope."""
    return self.activation(x)


@small(
    lambda: torch.randn(2, 5, 3),
    parts=lambda: {"gru": nn.GRU(3, 4, num_layers=2, dropout=0.5, batch_first=True)},
)
def dropout_inside_gru(self, x: Tensor) -> tuple[Tensor, Tensor]:
    """A fused recurrent layer with dropout between its layers.

    input_1, zeros_1 -> gru_1, gru_2
    gru_1 -> output_1
    gru_2 -> output_2
    """
    return self.gru(x)


@small(lambda: torch.randn(1, 2, 4, 4), "input_1 -> scaleddotproductattention_1 -> output_1")
def dropout_inside_attention(self, x: Tensor) -> Tensor:
    """A fused attention with dropout."""
    return F.scaled_dot_product_attention(x, x, x, dropout_p=0.3)


@small(vector, "input_1 -> mul_1 -> add_1 -> output_1")
def random_outside_torch(self, x: Tensor) -> Tensor:
    """Python and NumPy draw: the numbers come in as constants."""
    return x * random.random() + float(np.random.rand())


@small(vector)
def seeds_itself(self, x: Tensor) -> Tensor:
    """The model sets the seed, in the middle of the pass.

    input_1, randn_1 -> mul_1 -> output_1
    """
    torch.manual_seed(3)
    return x * torch.randn(3)

"""Every loss, with all its options, gives what torch's gives, and its gradients."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.autograd.twins import compare
from torcheer.autograd import nn, tracer
from torcheer.errors import InputError

F64 = torch.float64
REDUCTIONS = ("mean", "sum", "none")


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def chances(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


X, Y = numbers(5, 3), numbers(5, 3, seed=1)
SIGNS = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0], dtype=F64)
WEIGHTS = chances(5, 3, seed=2)

# name: a loss of inputs that want gradients, for a reduction
LOSSES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "mse": (lambda r, x, y: F.mse_loss(x, y, reduction=r), (X, Y)),
    "l1": (lambda r, x, y: F.l1_loss(x, y, reduction=r), (X, Y)),
    "smooth l1": (lambda r, x, y: F.smooth_l1_loss(x, y, reduction=r, beta=0.7), (X, Y)),
    "smooth l1 without a parabola": (lambda r, x, y: F.smooth_l1_loss(x, y, reduction=r, beta=0.0), (X, Y)),
    "huber": (lambda r, x, y: F.huber_loss(x, y, reduction=r, delta=0.7), (X, Y)),
    "bce": (lambda r, x: F.binary_cross_entropy(x, (Y > 0).double(), reduction=r), (chances(5, 3),)),
    "bce at the ends": (
        lambda r, x: F.binary_cross_entropy(x, torch.tensor([1.0, 0.0, 0.3, 1.0]).double(), reduction=r),
        (torch.tensor([0.0, 1.0, 0.5, 0.9], dtype=F64),),
    ),
    "bce by weights": (
        lambda r, x: F.binary_cross_entropy(x, chances(5, 3, seed=4), WEIGHTS, reduction=r),
        (chances(5, 3),),
    ),
    "bce of logits": (
        lambda r, x, y: F.binary_cross_entropy_with_logits(x, y, reduction=r),
        (50 * X, chances(5, 3)),
    ),
    "bce of logits at zero": (
        lambda r, x: F.binary_cross_entropy_with_logits(x, chances(4), reduction=r),
        (torch.zeros(4, dtype=F64),),
    ),
    "bce of logits by weights": (
        lambda r, x: F.binary_cross_entropy_with_logits(
            x, (Y > 0).double(), WEIGHTS, reduction=r, pos_weight=torch.tensor([1.0, 2.0, 0.5]).double()
        ),
        (X,),
    ),
    "kl": (lambda r, x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction=r), (X, Y)),
    "kl of what cannot be": (
        lambda r, x: F.kl_div(x, torch.tensor([0.0, 0.5, 0.5]).double(), reduction=r),
        (numbers(3),),
    ),
    "kl of logarithms": (
        lambda r, x, y: F.kl_div(x.log_softmax(1), y.log_softmax(1), reduction=r, log_target=True),
        (X, Y),
    ),
    "poisson": (lambda r, x: F.poisson_nll_loss(x, 3 * chances(5, 3), full=True, reduction=r), (X,)),
    "poisson of rates": (
        lambda r, x: F.poisson_nll_loss(x, 3 * chances(5, 3), log_input=False, reduction=r),
        (chances(5, 3),),
    ),
    "gaussian": (
        lambda r, x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction=r),
        (X, Y, chances(5, 3)),
    ),
    "gaussian of one variance each": (
        lambda r, x, y, v: F.gaussian_nll_loss(x, y, v, eps=0.3, reduction=r),
        (X, Y, chances(5)),
    ),
    "soft margin": (lambda r, x: F.soft_margin_loss(x, SIGNS[:, None].expand(5, 3), reduction=r), (X,)),
    "hinge": (
        lambda r, x: F.hinge_embedding_loss(x, SIGNS[:, None].expand(5, 3), margin=0.6, reduction=r),
        (X,),
    ),
    "cosine": (lambda r, x, y: F.cosine_embedding_loss(x, y, SIGNS, margin=-0.4, reduction=r), (X, Y)),
    "ranking": (
        lambda r, x, y: F.margin_ranking_loss(x, y, SIGNS, margin=0.3, reduction=r),
        (numbers(5), numbers(5, seed=3)),
    ),
    "ranking of equals": (
        lambda r, x, y: F.margin_ranking_loss(x, y, SIGNS, reduction=r),
        (numbers(5), numbers(5)),
    ),
    "triplet": (
        lambda r, a, p, n: F.triplet_margin_loss(a, p, n, reduction=r),
        (X, Y, numbers(5, 3, seed=5)),
    ),
    "triplet with options": (
        lambda r, a, p, n: F.triplet_margin_loss(a, p, n, margin=0.5, p=3.0, swap=True, reduction=r),
        (X, Y, numbers(5, 3, seed=5)),
    ),
}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_torchs(name: str, reduction: str) -> None:
    loss, inputs = LOSSES[name]

    # At the ends torch divides by a 1e-12 of single precision.
    tolerance = 1e-7 if name == "bce at the ends" else 1e-9
    compare(lambda *x: loss(reduction, *x), lambda *x: loss(reduction, *x), *inputs, tolerance=tolerance)


CLASSES = torch.tensor([0, 3, 1, 3, 2])
CLASS_WEIGHTS = torch.tensor([1.0, 0.5, 2.0, 0.3], dtype=F64)
SCORES = {
    "items": (numbers(5, 4), CLASSES, numbers(5, 4, seed=1).softmax(1)),
    "one item": (numbers(4), torch.tensor(2), numbers(4, seed=1).softmax(0)),
    "pictures": (
        numbers(2, 4, 3, 2),
        torch.arange(12).reshape(2, 3, 2) % 4,
        numbers(2, 4, 3, 2, seed=1).softmax(1),
    ),
}


@pytest.mark.parametrize(
    ("shape", "weighted", "smoothing", "reduction"),
    list(itertools.product(SCORES, (False, True), (0.0, 0.2), REDUCTIONS)),
)
def test_cross_entropy_is_torchs(shape: str, weighted: bool, smoothing: float, reduction: str) -> None:
    scores, classes, probabilities = SCORES[shape]
    options: dict[str, Any] = {
        "weight": CLASS_WEIGHTS if weighted else None,
        "label_smoothing": smoothing,
        "reduction": reduction,
    }

    def by_class(x: Tensor) -> Tensor:
        return F.cross_entropy(x, classes, **options)

    def with_ignored(x: Tensor) -> Tensor:
        return F.cross_entropy(x, classes, ignore_index=3, **options)

    def by_probability(x: Tensor, chance: Tensor) -> Tensor:
        return F.cross_entropy(x, chance, **options)

    compare(by_class, by_class, scores)
    compare(with_ignored, with_ignored, scores)
    compare(by_probability, by_probability, scores, probabilities)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", SCORES)
def test_nll_is_torchs(shape: str, reduction: str) -> None:
    scores, classes, _ = SCORES[shape]

    def loss(x: Tensor) -> Tensor:
        return F.nll_loss(x, classes, CLASS_WEIGHTS, ignore_index=1, reduction=reduction)

    compare(loss, loss, scores)


def test_the_older_way_to_name_a_reduction_is_understood() -> None:
    for size_average, reduce in itertools.product((None, True, False), repeat=2):
        options: dict[str, Any] = {"size_average": size_average, "reduce": reduce}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says that it is old
            expected = F.nll_loss(X, CLASSES % 3, CLASS_WEIGHTS[:3], **options)
        found = nn.functional.nll_loss(X, CLASSES % 3, CLASS_WEIGHTS[:3], **options)
        torch.testing.assert_close(found.data, expected)


MODULES: dict[str, tuple[Callable[[Any], Any], tuple[Tensor, ...]]] = {
    "MSELoss": (lambda nn: nn.MSELoss(reduction="sum"), (X, Y)),
    "L1Loss": (lambda nn: nn.L1Loss(), (X, Y)),
    "SmoothL1Loss": (lambda nn: nn.SmoothL1Loss(beta=0.3), (X, Y)),
    "HuberLoss": (lambda nn: nn.HuberLoss(delta=0.3), (X, Y)),
    "BCELoss": (lambda nn: nn.BCELoss(WEIGHTS), (chances(5, 3), chances(5, 3, seed=1))),
    "BCEWithLogitsLoss": (lambda nn: nn.BCEWithLogitsLoss(pos_weight=CLASS_WEIGHTS[:3]), (X, chances(5, 3))),
    "CrossEntropyLoss": (
        lambda nn: nn.CrossEntropyLoss(CLASS_WEIGHTS, ignore_index=3, label_smoothing=0.1),
        (numbers(5, 4), CLASSES),
    ),
    "NLLLoss": (lambda nn: nn.NLLLoss(CLASS_WEIGHTS, ignore_index=3), (numbers(5, 4), CLASSES)),
    "KLDivLoss": (lambda nn: nn.KLDivLoss(reduction="batchmean"), (X, chances(5, 3))),
    "PoissonNLLLoss": (lambda nn: nn.PoissonNLLLoss(full=True), (X, 3 * chances(5, 3))),
    "GaussianNLLLoss": (lambda nn: nn.GaussianNLLLoss(full=True), (X, Y, chances(5, 3))),
    "SoftMarginLoss": (lambda nn: nn.SoftMarginLoss(), (numbers(5), SIGNS)),
    "HingeEmbeddingLoss": (lambda nn: nn.HingeEmbeddingLoss(0.5), (numbers(5), SIGNS)),
    "CosineEmbeddingLoss": (lambda nn: nn.CosineEmbeddingLoss(0.1), (X, Y, SIGNS)),
    "MarginRankingLoss": (lambda nn: nn.MarginRankingLoss(0.1), (numbers(5), numbers(5, seed=1), SIGNS)),
    "TripletMarginLoss": (lambda nn: nn.TripletMarginLoss(0.5, p=1.0), (X, Y, numbers(5, 3, seed=2))),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_loss_as_a_layer_is_torchs(name: str) -> None:
    make, inputs = MODULES[name]
    # Only what is predicted wants a gradient: torch has none of targets for some of these.
    compare(
        lambda x: make(torch.nn)(x, *inputs[1:]),
        lambda x: make(nn)(x, *inputs[1:]),
        inputs[0],
        tolerance=1e-7,
    )


def test_losses_have_short_names() -> None:
    assert (nn.MSE, nn.L1, nn.Huber) == (nn.MSELoss, nn.L1Loss, nn.HuberLoss)
    assert (nn.BCE, nn.CrossEntropy, nn.NLL) == (nn.BCEWithLogitsLoss, nn.CrossEntropyLoss, nn.NLLLoss)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_distances_take_a_weight_for_each(name: str, reduction: str) -> None:
    theirs, ours = getattr(F, name), getattr(nn.functional, name)
    if "weight" not in inspect.signature(theirs).parameters:
        pytest.skip("this torch has no weights for it")
    options: dict[str, Any] = {"reduction": reduction, "weight": WEIGHTS}
    compare(lambda x, y: theirs(x, y, **options), lambda x, y: ours(x, y, **options), X, Y)


def test_shapes_that_would_be_broadcast_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"\(4, 1\) against targets of \(4,\)"):
        nn.MSE()(tracer(torch.zeros(4, 1)), torch.zeros(4))


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda x: F.cross_entropy(x, torch.zeros(4).long()), r"\(5,\), not \(4,\)"),
        (lambda x: F.mse_loss(x, x, reduction="average"), "'none', 'mean' or 'sum'"),
        (lambda x: F.binary_cross_entropy(x * 9, Y), "from 0 to 1"),
        (lambda x: F.binary_cross_entropy_with_logits(x, Y[:2]), "must be alike"),
        (lambda x: F.gaussian_nll_loss(x, Y, -WEIGHTS), "0 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(do: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        do(tracer(X, requires_grad=True))

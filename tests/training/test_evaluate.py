"""What `evaluate` says of a model is what torch and scikit-learn say of the same scores, ties and all."""

from __future__ import annotations

import random
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from sklearn import metrics as oracle
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import torcheer as tl
from tests.many import examples, some
from torcheer.errors import InputError
from torcheer.training import evaluate
from torcheer.training.evaluation.evaluate import pr_curve, roc_curve

NUM_CLASSES = 4


class Given(nn.Module):
    """Says what it is given: scores that the test chose."""

    def forward(self, scores: Tensor) -> Tensor:
        return scores


def batches(scores: Any, targets: Any, size: int = 7) -> list[tuple[Tensor, Tensor]]:
    scores, targets = torch.as_tensor(scores), torch.as_tensor(targets)
    return list(zip(scores.split(size), targets.split(size), strict=True))


def many(num_items: int = 60, num_classes: int = NUM_CLASSES) -> tuple[Tensor, Tensor]:
    """Scores with many that are equal."""
    return torch.randn(num_items, num_classes).mul(2).round(), torch.randint(0, num_classes, (num_items,))


# --- against the oracle -----------------------------------------------------------------------------------


@settings(max_examples=examples(40))
@given(
    arrays.arrays(numpy.bool_, st.integers(2, 12)),
    st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 3.0]), min_size=12, max_size=12),
)
def test_curves_are_those_of_scikit_learn(truth: NDArray[numpy.bool_], scores: list[float]) -> None:
    values = numpy.array(scores[: len(truth)])
    if truth.all() or not truth.any():
        truth = numpy.append(truth[1:], not truth[0])

    precision, recall, thresholds = oracle.precision_recall_curve(truth, values)
    found = pr_curve(truth, values)
    assert numpy.allclose(found.precision, precision)
    assert numpy.allclose(found.recall, recall)
    assert numpy.array_equal(found.thresholds, thresholds)
    assert found.average_precision == pytest.approx(oracle.average_precision_score(truth, values))

    false_rate, true_rate, thresholds = oracle.roc_curve(truth, values, drop_intermediate=False)
    other = roc_curve(truth, values)
    assert numpy.allclose(other.false_positive_rate, false_rate)
    assert numpy.allclose(other.true_positive_rate, true_rate)
    assert numpy.array_equal(other.thresholds, thresholds)
    assert other.auc == pytest.approx(oracle.roc_auc_score(truth, values))


def test_a_curve_without_both_answers_has_no_area() -> None:
    nothing = numpy.zeros(3, numpy.bool_)

    assert numpy.isnan(pr_curve(nothing, numpy.arange(3.0)).average_precision)
    assert numpy.isnan(roc_curve(nothing, numpy.arange(3.0)).auc)
    assert numpy.isnan(roc_curve(~nothing, numpy.arange(3.0)).auc)


def test_classes_are_judged_as_scikit_learn_judges_them() -> None:
    scores, targets = many()
    targets[targets == 2] = 0  # a class that never occurs
    scores[:, 3] = -9  # and one that is never said

    evaluation = evaluate(Given(), batches(scores, targets))

    said = scores.argmax(1)
    assert evaluation.num_items == 60
    assert evaluation.loss == pytest.approx(F.cross_entropy(scores, targets).item())
    assert evaluation.accuracy == pytest.approx(oracle.accuracy_score(targets, said))
    classes = list(range(NUM_CLASSES))
    assert evaluation.confusion is not None
    assert (evaluation.confusion == oracle.confusion_matrix(targets, said, labels=classes)).all()
    expected = oracle.precision_recall_fscore_support(targets, said, labels=classes, zero_division=0)
    for row, precision, recall, f1, support in zip(evaluation.table, *expected, strict=True):
        assert (row.precision, row.recall, row.f1) == pytest.approx((precision, recall, f1))
        assert row.support == support
    assert f"f1 {expected[2].mean():.4f}" in str(evaluation)
    chances = scores.double().softmax(1).numpy()
    for number in (0, 1):
        row = evaluation.table[str(number)]
        truth = (targets == number).numpy()
        assert row.average_precision == pytest.approx(
            oracle.average_precision_score(truth, chances[:, number])
        )
        assert row.auc == pytest.approx(oracle.roc_auc_score(truth, chances[:, number]))
        assert evaluation.roc_curve(str(number)).auc == row.auc
        assert evaluation.pr_curve(str(number)).average_precision == row.average_precision
    assert numpy.isnan(evaluation.roc_curve(2).auc)


def test_the_best_answers_count_each_class_once_also_where_scores_are_equal() -> None:
    scores, targets = many()

    evaluation = evaluate(Given(), batches(scores, targets), metrics=["accuracy", "top2"])

    assert evaluation.top(1) == pytest.approx(evaluation.accuracy)
    # Those that come first among equals are those of a stable sort.
    best = scores.sort(dim=1, descending=True, stable=True).indices[:, :2]
    assert evaluation.top(2) == pytest.approx((best == targets[:, None]).any(1).float().mean().item())
    assert evaluation.metrics == pytest.approx({"accuracy": evaluation.top(1), "top2": evaluation.top(2)})
    assert evaluation.top(NUM_CLASSES) == evaluation.top(99) == 1.0
    with pytest.raises(InputError, match="num_answers is 0"):
        evaluation.top(0)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=["flat", "a column"])
@pytest.mark.parametrize(
    ("are", "loss"),
    [
        ("logits", F.binary_cross_entropy_with_logits),
        ("logits", None),
        ("probabilities", F.binary_cross_entropy),
        ("probabilities", None),
    ],
)
def test_one_score_for_yes_or_no(shape: tuple[int, ...], are: str, loss: Any) -> None:
    logits, targets = torch.randn(40).mul(3).round(), torch.randint(0, 2, (40,)).float()
    scores = logits if are == "logits" else logits.sigmoid()

    evaluation = evaluate(Given(), batches(scores.reshape(shape), targets.reshape(shape)), loss=loss)

    truth = targets.numpy()
    assert evaluation.loss == pytest.approx(
        F.binary_cross_entropy_with_logits(logits, targets).item(), rel=1e-5
    )
    assert evaluation.accuracy == pytest.approx(((logits > 0) == (targets > 0)).float().mean().item())
    assert evaluation.labels == ("0", "1")
    assert evaluation.roc_curve(1).auc == pytest.approx(oracle.roc_auc_score(truth, logits))
    assert evaluation.pr_curve(1).average_precision == pytest.approx(
        oracle.average_precision_score(truth, logits)
    )
    assert evaluation.roc_curve(0).auc == pytest.approx(evaluation.roc_curve(1).auc)


def test_scores_may_be_said_to_be_logits() -> None:
    low = torch.full((4,), 0.2)  # a logit of 0.2 says yes, a chance of 0.2 says no
    data = batches(low, torch.ones(4))

    assert evaluate(Given(), data).accuracy == 0.0
    assert evaluate(Given(), data, scores="logits").accuracy == 1.0
    with pytest.raises(InputError, match="scores='chances'"):
        evaluate(Given(), data, scores="chances")  # type: ignore[arg-type]


def _areas(evaluation: Any, number: int) -> tuple[float, float]:
    row = evaluation.table[str(number)]
    assert evaluation.roc_curve(number).auc == row.auc
    return row.auc, evaluation.pr_curve(number).average_precision


def _areas_of_oracle(truth: Any, values: Any) -> tuple[float, float]:
    return oracle.roc_auc_score(truth, values), oracle.average_precision_score(truth, values)


def _tied(kind: str, shape: tuple[int, ...]) -> Tensor:
    """Scores of which many are equal, in one way or another."""
    scores = torch.randn(shape, dtype=torch.float64)
    return {
        "whole": scores.round(),
        "tenths": scores.mul(10).round() / 10,
        "sure": scores.mul(60),  # chances of 0 and 1
        "sure and whole": scores.mul(20).round(),
        "all equal": torch.zeros(shape, dtype=torch.float64),
        "few": torch.randn(7, *shape[1:], dtype=torch.float64)[torch.randint(0, 7, shape[:1])],
    }[kind]


TIES = ["whole", "tenths", "sure", "sure and whole", "all equal", "few"]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize(("num_classes", "kind", "dtype"), some(product([2, 3, 10], TIES, DTYPES), one_in=4))
def test_tied_scores_of_classes_have_the_areas_of_scikit_learn(
    kind: str, dtype: torch.dtype, num_classes: int
) -> None:
    for seed in range(5):
        torch.manual_seed(seed)
        scores = _tied(kind, (60, num_classes)).to(dtype)
        targets = torch.cat([torch.arange(num_classes), torch.randint(0, num_classes, (60 - num_classes,))])

        evaluation = evaluate(Given(), batches(scores, targets), loss=F.cross_entropy)

        chances = torch.softmax(scores.double(), 1).numpy()
        for number in range(num_classes):
            expected = _areas_of_oracle((targets == number).numpy(), chances[:, number])
            assert _areas(evaluation, number) == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", TIES)
def test_tied_scores_for_yes_and_no_have_the_areas_of_scikit_learn(kind: str, dtype: torch.dtype) -> None:
    for seed in range(5):
        torch.manual_seed(seed)
        scores = _tied(kind, (60,)).to(dtype)
        targets = torch.cat([torch.arange(2), torch.randint(0, 2, (58,))])

        evaluation = evaluate(Given(), batches(scores, targets), scores="logits")

        values = scores.double().numpy()
        for number, ranked in ((0, -values), (1, values)):
            expected = _areas_of_oracle((targets == number).numpy(), ranked)
            assert _areas(evaluation, number) == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_tied_chances_that_are_given_have_the_areas_of_scikit_learn(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    chances = torch.tensor([0.0, 1e-30, 1e-9, 0.25, 0.5, 1 - 2**-24, 1.0], dtype=dtype)
    scores, targets = chances[torch.randint(0, 7, (80,))], torch.randint(0, 2, (80,))

    evaluation = evaluate(Given(), batches(scores, targets), scores="probabilities")

    for number, ranked in ((0, -scores.numpy()), (1, scores.numpy())):
        expected = _areas_of_oracle((targets == number).numpy(), ranked)
        assert _areas(evaluation, number) == pytest.approx(expected, abs=1e-12, rel=0)


def test_the_areas_of_many_scores_are_those_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many scores the chances are computed a part at a time."""
    scores, targets = many()
    whole = evaluate(Given(), batches(scores, targets))
    monkeypatch.setattr("torcheer.training.evaluation.evaluate._MOST_KEPT", 7 * NUM_CLASSES)
    in_parts = evaluate(Given(), batches(scores, targets))

    for number in range(NUM_CLASSES):
        assert in_parts.roc_curve(number).auc == whole.roc_curve(number).auc
        assert numpy.array_equal(in_parts.pr_curve(number).thresholds, whole.pr_curve(number).thresholds)


def test_chances_of_classes_are_taken_as_they_are() -> None:
    scores, targets = torch.randn(60, NUM_CLASSES), many()[1]
    chances = scores.softmax(1)

    given, logits = (evaluate(Given(), batches(one, targets)) for one in (chances, scores))

    assert given.loss == pytest.approx(logits.loss, rel=1e-5)
    assert [row.auc for row in given.table] == pytest.approx([row.auc for row in logits.table])


def test_targets_that_do_not_count_are_left_out() -> None:
    scores, targets = many()
    targets[::3] = -100
    counted = targets >= 0

    evaluation = evaluate(Given(), batches(scores, targets), metrics="accuracy")

    assert evaluation.accuracy == pytest.approx(
        oracle.accuracy_score(targets[counted], scores.argmax(1)[counted])
    )
    assert evaluation.metrics["accuracy"] == pytest.approx(evaluation.accuracy)
    assert all(row.index % 3 for row in evaluation.errors)
    assert evaluation.loss == pytest.approx(F.cross_entropy(scores, targets).item())


@pytest.mark.parametrize("class_dim", [1, 3])
def test_many_answers_of_an_item_are_counted_and_not_kept(class_dim: int) -> None:
    scores, targets = torch.randn(6, 2, 5, 3), torch.randint(0, 3, (6, 2, 5))
    shown = scores.movedim(3, class_dim)

    evaluation = evaluate(Given(), batches(shown, targets, size=2))

    assert evaluation.num_items == 6
    assert evaluation.accuracy == pytest.approx((scores.argmax(3) == targets).float().mean().item())
    assert evaluation.loss == pytest.approx(F.cross_entropy(scores.flatten(0, 2), targets.flatten()).item())
    assert [row.auc for row in evaluation.table] == [None] * 3
    with pytest.raises(InputError, match=r"scores were not kept.*many answers"):
        evaluation.errors
    with pytest.raises(InputError, match="scores were not kept"):
        evaluation.pr_curve(0)


@pytest.mark.parametrize("shift", [0, 1])
def test_answers_are_only_counted_where_they_are_those_of_the_models_own_loss(shift: int) -> None:
    """A language model says the next word: what stands side by side has nothing to do with each other."""

    class Language(nn.Module):
        def forward(self, logits: Tensor, labels: Tensor) -> SimpleNamespace:
            said, meant = logits[:, : 5 - shift].flatten(0, 1), labels[:, shift:].flatten()
            return SimpleNamespace(loss=F.cross_entropy(said, meant), logits=logits)

    batch = {"logits": torch.randn(2, 5, 3), "labels": torch.randint(0, 3, (2, 5))}

    assert (evaluate(Language(), [batch]).confusion is not None) is (shift == 0)


def test_values_have_a_loss_and_metrics_and_no_classes() -> None:
    outputs, targets = torch.randn(10, 2), torch.randn(10, 2)

    evaluation = evaluate(Given(), batches(outputs, targets, size=4), metrics=["mae", "mse"])

    assert evaluation.confusion is None
    assert evaluation.accuracy is None
    assert evaluation.loss == pytest.approx(F.mse_loss(outputs, targets).item())
    assert evaluation.metrics == pytest.approx(
        {"mae": F.l1_loss(outputs, targets).item(), "mse": F.mse_loss(outputs, targets).item()}
    )
    assert str(evaluation).startswith("Given on 10 items: loss")
    for ask in (lambda: evaluation.table, lambda: evaluation.errors, lambda: evaluation.roc_curve(0)):
        with pytest.raises(InputError, match="no classes, but values"):
            ask()


def test_values_that_look_like_yes_and_no_at_first_are_values() -> None:
    outputs, targets = torch.randn(8), torch.tensor([0, 1, 0, 1, 2, 5, 0, 1]).float()

    evaluation = evaluate(Given(), batches(outputs, targets, size=4))

    assert evaluation.confusion is None
    assert evaluation.loss == pytest.approx(F.mse_loss(outputs, targets).item())


# --- what it leaves as it was -----------------------------------------------------------------------------


def test_modes_random_state_and_gradients_are_as_they_were() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    model[1].eval()
    buffers = [buffer.clone() for buffer in model.buffers()]
    own = torch.Generator().manual_seed(5)
    data = TensorDataset(torch.randn(9, 3), torch.randint(0, 4, (9,)))
    shuffled = DataLoader(data, batch_size=2, shuffle=True, generator=own)
    state = torch.get_rng_state(), random.getstate(), own.get_state()

    first, second = evaluate(model, shuffled), evaluate(model, shuffled)

    assert first.loss == second.loss  # no dropout, and the same order
    assert torch.equal(torch.get_rng_state(), state[0])
    assert random.getstate() == state[1]
    assert torch.equal(own.get_state(), state[2])
    assert [layer.training for layer in model] == [True, False, True]
    assert all(torch.equal(a, b) for a, b in zip(model.buffers(), buffers, strict=True))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_modes_are_put_back_when_the_model_raises() -> None:
    model = nn.Linear(3, 4)

    with pytest.raises(RuntimeError, match="shapes"):
        evaluate(model, [(torch.randn(2, 7), torch.zeros(2).long())])
    assert model.training


# --- what is shown ----------------------------------------------------------------------------------------


def test_mistakes_are_listed_with_what_was_said() -> None:
    scores = torch.tensor([[3.0, 0.0], [0.0, 1.0], [2.0, 0.0]])

    evaluation = evaluate(Given(), batches(scores, [0, 0, 1], size=2), labels=["cat", "dog"])

    assert [(row.index, row.said, row.target) for row in evaluation.errors] == [
        (1, "dog", "cat"),
        (2, "cat", "dog"),
    ]
    assert [row.sure for row in evaluation.errors] == pytest.approx(
        [scores[1].softmax(0)[1].item(), scores[2].softmax(0)[0].item()]
    )
    text = str(evaluation)
    assert "Given on 3 items: loss 1.163 (cross entropy), accuracy 33.33%" in text
    assert "2 of 3 answers are wrong" in text
    assert "cat" in text
    assert "all 2 answers are right" in str(evaluate(Given(), batches(scores[:2], [0, 1])))


def test_a_page_shows_labels_as_text() -> None:
    page = evaluate(Given(), batches(*many()), labels=["<b>", "a", "b", "c"])._repr_html_()

    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "Rows: what is true." in page


def test_labels_come_from_the_data_set() -> None:
    scores, targets = many()
    data = TensorDataset(scores, targets)
    data.classes = ["a", "b", "c", "d"]  # type: ignore[attr-defined]

    assert evaluate(Given(), DataLoader(data, batch_size=20)).labels == ("a", "b", "c", "d")
    part = torch.utils.data.Subset(data, range(30))
    evaluation = evaluate(Given(), DataLoader(part, batch_size=20))
    assert evaluation.labels == ("a", "b", "c", "d")
    assert evaluation.table["c"].label == "c"
    with pytest.raises(InputError, match="there is no class 'e': a, b, c, d"):
        evaluation.pr_curve("e")
    with pytest.raises(InputError, match="2 labels for 4 classes"):
        evaluate(Given(), DataLoader(data), labels=["a", "b"])


def test_of_many_classes_the_worst_are_shown() -> None:
    text = str(evaluate(Given(), batches(*many(80, 40))))

    assert "the 30 worst of 40 classes" in text
    assert len(text.splitlines()) < 45


def test_an_evaluation_goes_into_a_run(tmp_path: Path) -> None:
    scores, targets = many()

    evaluation = evaluate(Given(), batches(scores, targets), run=tmp_path / "run", step=5, metrics="top2")

    run = tl.open_run(tmp_path / "run")
    for name, value in evaluation.figures().items():
        found = run.scalars(f"test/{name}")
        assert (found.steps.tolist(), found.values.tolist()) == ([5], [value])
    assert (run.confusions("test/confusion")[0].matrix == evaluation.confusion).all()
    assert run.names("pr_curve") == [f"test/pr/{number}" for number in range(NUM_CLASSES)]
    with tl.Run(tmp_path / "other") as other:
        evaluation.log(other, 3, name="validation")
    assert "validation/accuracy" in tl.open_run(tmp_path / "other").names()


# --- faults -----------------------------------------------------------------------------------------------


def test_scores_that_are_no_numbers_do_not_end_it() -> None:
    scores, targets = many()
    scores[3] = float("nan")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation = evaluate(Given(), batches(scores, targets))
        str(evaluation)
        evaluation._repr_html_()

    assert evaluation.loss is not None
    assert numpy.isnan(evaluation.loss)
    assert not numpy.isnan(evaluation.roc_curve(0).auc)


def test_a_target_that_is_no_class_is_said() -> None:
    with pytest.raises(InputError, match="a target is class 4, and the model has scores for 4"):
        evaluate(
            Given(), batches(torch.randn(3, 4), torch.tensor([0, 4, 1])), loss=lambda *_: torch.zeros(())
        )
    with pytest.raises(InputError, match="loader has no batches"):
        evaluate(Given(), [])
    with pytest.raises(InputError, match="loader is a data set"):
        evaluate(Given(), TensorDataset(torch.zeros(1)))


# --- scores that are no numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("are_many", [False, True], ids=["one answer an item", "many"])
def test_scores_that_are_nan_are_wrong_and_say_no_class(are_many: bool) -> None:
    scores = torch.tensor([[numpy.nan, 0.0, 0.0], [0.0, numpy.nan, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    targets = torch.tensor([0, 1, 0, 1])
    shaped = (scores[..., None], targets[:, None]) if are_many else (scores, targets)

    found = evaluate(Given(), [shaped])

    assert found.confusion is not None
    assert found.confusion.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert (found.accuracy, found.num_unsaid) == (0.25, 2)
    assert [row.support for row in found.table.rows] == [2, 2, 0]
    assert (found.table["0"].precision, found.table["0"].recall) == (1.0, 0.5)
    assert "2 of 4 answers are NaN: wrong, and in no column of the matrix" in str(found)
    assert "3 of 4 answers are wrong, most often 2 said for 1 (once)" in str(found)
    if not are_many:
        assert [(one.index, one.said) for one in found.errors] == [(0, "NaN"), (1, "NaN"), (3, "2")]
        assert numpy.isnan(found.errors.rows[0].sure)
        assert (found.top(1), found.top(3)) == (0.25, 0.5)


def test_a_chance_that_is_nan_is_neither_yes_nor_no() -> None:
    found = evaluate(Given(), [(torch.tensor([numpy.nan, 0.2, 0.9, numpy.nan]), torch.tensor([0, 0, 1, 1]))])

    assert found.confusion is not None
    assert found.confusion.tolist() == [[1, 0], [0, 1]]
    assert (found.accuracy, found.num_unsaid, found.top(2)) == (0.5, 2, 0.5)


def test_a_loss_that_is_a_class_is_refused() -> None:
    with pytest.raises(InputError, match=r"the loss MSELoss is a class: give an object: nn.MSELoss\(\)"):
        evaluate(Given(), [(torch.zeros(2), torch.zeros(2))], loss=nn.MSELoss)  # type: ignore[arg-type]

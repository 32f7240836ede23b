"""Curves of precision and recall are those of torch.utils.tensorboard; confusion is scikit-learn's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from tests.many import examples
from tests.run.encode_checks import logged, refused, written_by_tensorboard
from torcheer.run.records import Encoded


def rows(made: Encoded) -> np.ndarray:
    return np.frombuffer(made.data, dtype="<f8").reshape(6, made.head.num_thresholds)


CASES: dict[str, dict[str, Any]] = {
    "plain": {"labels": torch.randint(0, 2, (100,)), "predictions": torch.rand(100)},
    "bool": {"labels": np.random.rand(50) > 0.5, "predictions": np.random.rand(50)},
    "weights": {
        "labels": torch.randint(0, 2, (40,)),
        "predictions": torch.rand(40),
        "weights": np.random.rand(40),
    },
    "whole": {"labels": np.array([0, 1, 1]), "predictions": np.array([0, 1, 0])},
    "few": {"labels": np.array([0, 1]), "predictions": np.array([0.2, 0.8]), "num_thresholds": 5},
    "ends": {"labels": np.array([0, 1, 1, 0]), "predictions": np.array([0.0, 1.0, 0.0, 1.0])},
    "all true": {"labels": np.ones(9), "predictions": np.linspace(0, 1, 9)},
    "half": {"labels": torch.randint(0, 2, (200,)), "predictions": torch.rand(200).half()},
    "bfloat16": {"labels": torch.randint(0, 2, (200,)), "predictions": torch.rand(200).bfloat16()},
}


def test_a_curve_is_the_one_that_torch_utils_tensorboard_writes(tmp_path: Path) -> None:
    theirs = written_by_tensorboard(
        tmp_path, lambda writer: [writer.add_pr_curve(name, **case) for name, case in CASES.items()]
    )

    for name, case in CASES.items():
        (event,) = theirs.Tensors(name)
        shape = [dim.size for dim in event.tensor_proto.tensor_shape.dim]
        expected = np.array(event.tensor_proto.float_val).reshape(shape)
        made = rows(logged(lambda run, case=case: run.log_pr_curve(0, "p", **case)))

        assert made.shape == expected.shape
        np.testing.assert_array_equal(made.astype(np.float32), expected.astype(np.float32))


@settings(max_examples=examples(50), deadline=None)
@given(
    elements=st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=40),
    num_thresholds=st.integers(2, 300),
)
def test_all_elements_are_counted_at_every_threshold(
    elements: list[tuple[bool, float]], num_thresholds: int
) -> None:
    labels, predictions = (np.array(part) for part in zip(*elements, strict=True))

    made = logged(lambda run: run.log_pr_curve(0, "p", labels, predictions, num_thresholds=num_thresholds))
    true_positives, false_positives, true_negatives, false_negatives, precision, recall = rows(made)

    assert (true_positives + false_negatives == labels.sum()).all()
    assert (false_positives + true_negatives == (~labels).sum()).all()
    assert (np.diff(true_positives) <= 0).all()
    assert ((precision >= 0) & (precision <= 1) & (recall >= 0) & (recall <= 1)).all()


def test_a_prediction_that_is_no_number_is_left_out() -> None:
    predictions = np.array([0.5, np.nan, 2.0, -1.0])

    made = rows(logged(lambda run: run.log_pr_curve(0, "p", np.ones(4), predictions)))

    assert made[0].max() == 1


def test_a_curve_that_was_counted_elsewhere_is_kept_as_it_is() -> None:
    given_rows = [np.arange(5.0) + n for n in range(6)]

    made = logged(lambda run: run.log_pr_curve_raw(0, "p", [torch.tensor(row) for row in given_rows]))

    np.testing.assert_array_equal(rows(made), np.stack(given_rows))


def test_a_curve_that_cannot_be_is_told() -> None:
    ones = np.ones(3)

    assert "3 labels and 2 predictions" in refused(lambda run: run.log_pr_curve(0, "p", ones, ones[:2]))
    assert "0 labels" in refused(lambda run: run.log_pr_curve(0, "p", [], []))
    assert "from 2 to" in refused(lambda run: run.log_pr_curve(0, "p", ones, ones, num_thresholds=1))
    assert "2 weights" in refused(lambda run: run.log_pr_curve(0, "p", ones, ones, weights=ones[:2]))
    assert "in each of six" in refused(lambda run: run.log_pr_curve_raw(0, "p", [ones] * 5 + [ones[:2]]))
    assert "in each of six" in refused(lambda run: run.log_pr_curve_raw(0, "p", [ones] * 3))


# --- confusion -------------------------------------------------------------------------------------------


def counts(made: Encoded) -> np.ndarray:
    number = len(made.head.labels)
    return np.frombuffer(made.data, dtype="<f8").reshape(number, number)


@pytest.mark.filterwarnings("ignore:A single label")
@settings(max_examples=examples(40), deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60))
def test_confusion_is_counted_as_scikit_learn_does(pairs: list[tuple[int, int]]) -> None:
    truth, predictions = zip(*pairs, strict=True)
    number = max(max(truth), max(predictions)) + 1

    made = logged(
        lambda run: run.log_confusion(0, "c", truth=torch.tensor(truth), predictions=list(predictions))
    )

    expected = confusion_matrix(truth, predictions, labels=range(number))
    np.testing.assert_array_equal(counts(made), expected)
    assert made.head.labels == [str(n) for n in range(number)]


def test_classes_may_be_names() -> None:
    truth, said = ["dog", "cat", "cat"], np.array(["cat", "cat", "owl"])

    for given_classes in (said, said.astype("S")):
        made = logged(
            lambda run, said=given_classes: run.log_confusion(0, "c", truth=truth, predictions=said)
        )

        assert made.head.labels == ["cat", "dog", "owl"]
        np.testing.assert_array_equal(counts(made), confusion_matrix(truth, said, labels=made.head.labels))


def test_of_scores_the_highest_is_what_was_said() -> None:
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])

    made = logged(lambda run: run.log_confusion(0, "c", truth=[1, 1, 0], predictions=scores, labels="ab"))

    assert counts(made).tolist() == [[0, 1], [1, 1]]
    assert made.head.labels == ["a", "b"]


def test_a_matrix_is_kept_as_it_is() -> None:
    made = logged(lambda run: run.log_confusion(0, "c", torch.tensor([[5, 1], [0, 7]]), labels=["x", "y"]))

    assert counts(made).tolist() == [[5, 1], [0, 7]]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"matrix": np.ones((2, 3))}, "no confusion matrix"),
        ({"matrix": np.ones((2, 2)), "labels": ["a"]}, "1 labels for 2 classes"),
        ({"truth": [0, 1]}, "both truth"),
        ({"matrix": np.ones((2, 2)), "truth": [0]}, "either"),
        ({"truth": [0, 1], "predictions": [0]}, "shape (2,)"),
        ({"truth": [], "predictions": []}, "shape (0,)"),
        ({"truth": [0, -100], "predictions": [0, 1]}, "leave out what is to be ignored"),
        ({"truth": [0, 3], "predictions": [0, 1], "labels": "ab"}, "class 3 is none of 2"),
        ({"truth": ["a"], "predictions": ["b"], "labels": ["a"]}, "'b' is not among the labels"),
        ({"truth": [np.nan], "predictions": [1.0]}, "whole numbers"),
        ({"truth": [0.5], "predictions": [1.0]}, "whole numbers"),
        ({"truth": [10**12], "predictions": [0]}, "can be shown"),
    ],
)
def test_a_confusion_that_cannot_be_is_told(options: dict[str, Any], what: str) -> None:
    assert what in refused(lambda run: run.log_confusion(0, "c", **options))

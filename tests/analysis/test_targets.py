"""Folds and targets: what they promise, and what they refuse."""

from __future__ import annotations

import sys
from subprocess import run

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from torcheer.analysis import probe
from torcheer.analysis.targets import fold_numbers
from torcheer.errors import InputError


@given(
    sizes=st.lists(st.integers(4, 20), min_size=2, max_size=5),
    count=st.integers(2, 4),
    seed=st.integers(0, 9),
)
@settings(max_examples=examples(50), deadline=None)
def test_classes_are_dealt_out_evenly(sizes: list[int], count: int, seed: int) -> None:
    codes = numpy.random.default_rng(seed).permutation(numpy.repeat(numpy.arange(len(sizes)), sizes))

    number = fold_numbers(count, len(codes), codes=codes, groups=None, seed=seed)

    in_all = numpy.bincount(number, minlength=count)
    assert numpy.ptp(in_all) <= 1
    for code in range(len(sizes)):
        assert numpy.ptp(numpy.bincount(number[codes == code], minlength=count)) <= 1
    assert (number == fold_numbers(count, len(codes), codes=codes, groups=None, seed=seed)).all()


def test_another_seed_gives_other_folds() -> None:
    one, other = (fold_numbers(5, 50, codes=None, groups=None, seed=seed) for seed in (0, 1))

    assert (one != other).any()


@given(num=st.integers(20, 60), seed=st.integers(0, 20), with_classes=st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_groups_stay_together_and_no_fold_is_empty(num: int, seed: int, with_classes: bool) -> None:
    groups = numpy.random.default_rng(seed).integers(0, 8, num)
    groups[:4] = numpy.arange(4)
    codes = numpy.arange(num) % 2 if with_classes else None

    number = fold_numbers(4, num, codes=codes, groups=groups, seed=seed)

    assert set(number.tolist()) == set(range(4))
    assert all(len(set(number[groups == group].tolist())) <= 1 for group in range(8))


def test_groups_of_one_class_each_are_spread_over_folds() -> None:
    groups = numpy.repeat(numpy.arange(12), 5)
    codes = (groups >= 6).astype(numpy.int64)

    number = fold_numbers(3, 60, codes=codes, groups=groups, seed=0)

    assert all((numpy.bincount(number[codes == code]) == 10).all() for code in (0, 1))


def test_a_leak_through_groups_is_closed() -> None:
    random = numpy.random.default_rng(0)
    groups = numpy.repeat(numpy.arange(20), 5)
    points = random.normal(size=(20, 30))[groups]  # a group is one point, five times
    targets = random.integers(0, 2, 20)[groups]

    leaking, kept = probe(points, targets), probe(points, targets, groups=groups)

    assert leaking.mean == 1
    assert kept.mean < 0.85


POINTS = numpy.random.default_rng(0).normal(size=(30, 4))
CLASSES = numpy.arange(30) % 3
NUMBERS = POINTS[:, 0] * 2.0


@pytest.mark.parametrize(
    ("targets", "options", "says"),
    [
        (None, {}, "no targets"),
        ([None, *["a"] * 29], {}, "sample 0 is missing"),
        ([1.0] * 29 + [numpy.nan], {}, "sample 29 is NaN"),
        (CLASSES[:5], {}, "30 samples"),
        (numpy.zeros(30, int), {}, "two classes"),
        (numpy.zeros(30), {}, "nothing to predict"),
        (numpy.zeros((30, 2), int), {}, "several classes"),
        (numpy.zeros(30, complex), {}, "neither classes nor numbers"),
        (NUMBERS, {"kind": "logistic"}, "kind='ridge'"),
        (CLASSES, {"kind": "svm"}, "no probe"),
        (CLASSES, {"folds": 1}, "take 2 to 30"),
        (NUMBERS, {"folds": 31}, "take 2 to 30"),
        (NUMBERS, {"folds": 30}, "r2 is not defined"),
        (CLASSES, {"folds": 11}, "the class 0 has 10 samples"),
        (CLASSES, {"groups": CLASSES[:4]}, "groups"),
        (CLASSES, {"groups": CLASSES, "folds": 3}, "learns without the class"),
        (CLASSES, {"groups": CLASSES, "folds": 4}, "3 groups are too few"),
        (CLASSES, {"alpha": 0.0}, "positive"),
        (CLASSES, {"alpha": []}, "positive"),
        (CLASSES, {"alpha": "much"}, "positive"),
        (CLASSES, {"folds": []}, "no folds"),
        (CLASSES, {"folds": [([0, 1, 2], [2, 3])]}, "sample 2"),
        (CLASSES, {"folds": [([0, 1, 2], [4]), ([5, 6, 7], [4])]}, "two folds"),
        (CLASSES, {"folds": [([0, 1, 2], [40])]}, "sample 40"),
        (CLASSES, {"folds": [([0, 3], [1])]}, "without the class 1"),
        (CLASSES, {"folds": [([0, 1, 2, 3, 4, 5], [7])], "alpha": [1, 2]}, "give one alpha"),
        (CLASSES, {"memory_bytes": 0}, "memory_bytes"),
    ],
)
def test_what_cannot_be_probed_is_refused(targets: object, options: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        probe(POINTS, targets, **options)


def test_missing_targets_may_be_left_out_by_samples() -> None:
    names = numpy.array(["a", "b", None] * 10, object)

    found = probe(POINTS, names, samples=names != None)  # noqa: E711

    assert found.num_samples == 20
    assert found.classes is not None
    assert found.classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_what_does_not_fit_is_refused_with_the_fixes(kind: str) -> None:
    points = numpy.random.default_rng(0).normal(size=(300, 1100)).astype(numpy.float32)

    with pytest.raises(InputError, match=r"fewer samples.*pool or project.*memory_bytes="):
        probe(points, numpy.arange(300) % 4, kind=kind, memory_bytes=1_000_000)


def test_a_sample_that_is_not_finite_is_named() -> None:
    points = POINTS.copy()
    points[17, 2] = numpy.nan

    with pytest.raises(InputError, match="sample 17 "):
        probe(points, CLASSES)
    assert probe(points, CLASSES, samples=numpy.arange(15)).num_samples == 15


def test_nothing_but_numpy_is_imported() -> None:
    code = (
        "import sys, torcheer.analysis, torcheer.features.analysis\n"
        "assert not {'torch', 'sklearn', 'scipy'} & set(sys.modules), sorted(sys.modules)"
    )

    assert run([sys.executable, "-c", code], check=False).returncode == 0

"""The figures of a frame against NumPy in float64, whatever the tensors hold."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from tests.inspector.frame_builder import frame_of, plan_of, row_of
from tests.many import examples
from torcheer.inspector.child.child_loop import Figures
from torcheer.inspector.frame_format import COLUMN, COLUMNS, QUANTILES
from torcheer.run import MOMENTS, NORM, ORDER, group_of

SAMPLE = 64
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
ANYTHING = st.floats(width=32)
# Squares of smaller ones are 0 in float32; what is done then has tests of its own.
ORDINARY = st.floats(-1000, 1000, width=32).map(lambda value: value if abs(value) > 1e-6 else 0.0)


def figures_of(
    array: NDArray[Any], name: str = "a.Act", module: str = "Linear", **options: Any
) -> dict[str, float]:
    """The figures of one tensor, seen in one frame."""
    plan = plan_of([row_of(name, module)], SAMPLE)
    table = Figures(plan).table([frame_of(plan, {name: array}, **options)])
    assert table.shape == (1, 1, len(COLUMNS))
    assert table.dtype == numpy.float32
    return dict(zip(COLUMNS, table[0, 0].tolist(), strict=True))


def expected(array: NDArray[Any]) -> dict[str, float]:
    """The same from NumPy, in float64, of the whole array."""
    values = array.astype(numpy.float64).ravel()
    finite = values[numpy.isfinite(values)]
    known = {
        "nan": numpy.isnan(values).mean(),
        "inf": numpy.isinf(values).mean(),
        "zeros": (values == 0).mean(),
        "estimates": 0,
        "num_values": min(len(values), SAMPLE),
    }
    if len(finite):
        known |= {"mean": finite.mean(), "min": finite.min(), "max": finite.max()}
        known["norm"] = math.sqrt(math.fsum((finite**2).tolist()))
        for share in QUANTILES:
            known[f"q{round(100 * share):02d}"] = numpy.quantile(finite, share)
    if len(finite) > 1:
        known["std"] = finite.std(ddof=1)
    return {name: float(value) for name, value in known.items()}


def assert_close(found: dict[str, float], wanted: dict[str, float], relative: float = 1e-6) -> None:
    scale = max(abs(wanted.get("min", 0.0)), abs(wanted.get("max", 0.0)))
    for name in COLUMNS:
        if name not in wanted:
            assert math.isnan(found[name]), name
        else:
            assert found[name] == pytest.approx(
                min(wanted[name], 3.4028235e38), rel=relative, abs=max(relative * scale, 1e-45)
            ), name


@given(values=arrays.arrays(numpy.float32, st.integers(1, SAMPLE), elements=ANYTHING))
def test_figures_of_a_small_tensor_are_those_of_numpy(values: NDArray[Any]) -> None:
    assert_close(figures_of(values), expected(values))


@given(rows=st.lists(arrays.arrays(numpy.float32, st.integers(0, SAMPLE), elements=ANYTHING), max_size=8))
def test_rows_of_many_sizes_in_many_frames_do_not_mix(rows: list[NDArray[Any]]) -> None:
    plan = plan_of([f"layer{index}.Act" for index in range(len(rows))], SAMPLE)
    frames = [
        frame_of(plan, {f"layer{index}.Act": rows[(index - shift) % len(rows)] for index in range(len(rows))})
        for shift in range(3)
    ]
    table = Figures(plan).table(frames)
    for shift in range(3):
        for index in range(len(rows)):
            values = rows[(index - shift) % len(rows)]
            found = dict(zip(COLUMNS, table[shift, index].tolist(), strict=True))
            assert_close(found, expected(values) if values.size else {})


@given(
    values=arrays.arrays(numpy.float32, st.integers(SAMPLE + 1, 300), elements=ORDINARY),
    others=st.lists(st.sampled_from([numpy.nan, numpy.inf, -numpy.inf]), max_size=5),
)
def test_of_a_large_tensor_the_exact_figures_hold(values: NDArray[Any], others: list[float]) -> None:
    values[: len(others)] = others
    found, wanted = figures_of(values), expected(values)
    scale = max(abs(wanted["min"]), abs(wanted["max"]))
    for name in ("mean", "norm", "min", "max", "nan", "inf"):
        assert found[name] == pytest.approx(wanted[name], rel=1e-4, abs=1e-5 * scale), name
    assert not any(math.isinf(value) for value in found.values())


@pytest.mark.parametrize("size", [SAMPLE // 2, 1000])
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_where_nothing_is_finite_there_is_no_norm_and_it_is_no_estimate(size: int, value: float) -> None:
    found = figures_of(numpy.full(size, value, numpy.float32))
    assert all(math.isnan(found[name]) for name in ("norm", "mean", "std", "min", "max"))
    assert found["nan"] + found["inf"] == 1
    assert not int(found["estimates"]) & (NORM | MOMENTS)


def test_the_spread_of_a_large_tensor_is_exact_where_it_is_known() -> None:
    values = numpy.random.default_rng(0).normal(3, 2, 100_000).astype(numpy.float32)
    values[0] = 1000  # in the sample or not, it counts
    assert figures_of(values)["std"] == pytest.approx(values.astype(numpy.float64).std(ddof=1), rel=1e-4)


@pytest.mark.parametrize(
    ("inexact", "wanted"),
    [("", ORDER), ("moments", MOMENTS | ORDER), ("all", NORM | MOMENTS | ORDER)],
)
def test_a_figure_of_a_sample_is_marked_as_an_estimate(inexact: str, wanted: int) -> None:
    values = numpy.random.default_rng(0).normal(0, 1, 10_000).astype(numpy.float32)
    values[1234] = 500  # which no sample has
    options = {"inexact": ["a.Act"]} if inexact == "all" else {}
    options |= {"only_norm": ["a.Act"]} if inexact == "moments" else {}
    found = figures_of(values, "a.Act", **options)
    assert (found["estimates"], found["num_values"]) == (wanted, SAMPLE)
    exact = {
        "norm": float(numpy.linalg.norm(values.astype(numpy.float64))),
        "max": 500.0,
        "std": float(values.astype(numpy.float64).std(ddof=1)),
    }
    for name, value in exact.items():
        if not int(found["estimates"]) & group_of(name):
            assert found[name] == pytest.approx(value, rel=1e-5), name
    if inexact == "moments":  # the norm tells of the outlier
        assert found["std"] == pytest.approx(exact["std"], rel=0.01)


@pytest.mark.parametrize("mean", [1e3, 1e5, 1e7])
def test_a_large_mean_does_not_swallow_the_spread(mean: float) -> None:
    values = (mean + numpy.random.default_rng(0).normal(0, 10, 50_000)).astype(numpy.float32)
    wanted = values.astype(numpy.float64).std(ddof=1)
    assert figures_of(values)["std"] == pytest.approx(wanted, rel=0.4)  # that of 64 values
    assert figures_of(values[:SAMPLE])["std"] == pytest.approx(
        values[:SAMPLE].astype(numpy.float64).std(ddof=1), rel=1e-6
    )


def test_a_constant_has_no_spread() -> None:
    found = figures_of(numpy.full(5000, 0.1, numpy.float32))
    assert found["std"] == 0
    assert found["mean"] == found["min"] == found["max"] == found["q50"] == pytest.approx(0.1)


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e-20, 1e25, 1e37])
def test_squares_beyond_float32_do_no_harm(scale: float) -> None:
    values = (numpy.random.default_rng(0).uniform(-1, 1, 5000) * scale).astype(numpy.float32)
    found, wanted = figures_of(values), expected(values)
    for name in ("norm", "std"):
        assert found[name] == pytest.approx(wanted[name], rel=0.3), name  # by the sample
    assert found["max"] == pytest.approx(wanted["max"])


def test_one_large_value_that_the_sample_missed_is_in_the_norm() -> None:
    values = numpy.full(5000, 1e-25, numpy.float32)
    values[20] = 1e-19
    assert figures_of(values)["norm"] == pytest.approx(1e-19)


def test_what_is_too_large_for_float32_stays_finite() -> None:
    values = numpy.full(1000, 1e300)
    values[::2] = -1e299
    found = figures_of(values)
    assert found["inf"] == 0
    assert found["max"] == pytest.approx(3.4028235e38)
    assert found["min"] == pytest.approx(-3.4028235e38)


def test_a_sample_stands_for_the_whole_where_nothing_is_exact() -> None:
    values = numpy.random.default_rng(0).normal(0, 1, 10_000).astype(numpy.float32)
    found = figures_of(values, "a.weight.Delta", inexact=["a.weight.Delta"])
    assert found["norm"] == pytest.approx(float(numpy.linalg.norm(values)), rel=0.3)


def test_what_was_not_seen_has_no_figures() -> None:
    plan = plan_of(["a.Act", "b.Act"], SAMPLE)
    table = Figures(plan).table([frame_of(plan, {"b.Act": numpy.ones(3, numpy.float32)})])
    assert numpy.isnan(table[0, 0]).all()
    assert table[0, 1, COLUMN["mean"]] == 1


def test_no_frames_and_no_rows_give_empty_tables() -> None:
    plan = plan_of(["a.Act"], SAMPLE)
    assert Figures(plan).table([]).shape == (0, 1, len(COLUMNS))
    empty = plan_of([], SAMPLE)
    assert Figures(empty).table([frame_of(empty, {})]).shape == (1, 0, len(COLUMNS))


def test_nothing_is_said_by_warnings() -> None:
    plan = plan_of(["a.Act", "a.weight", "a.weight.Delta"], SAMPLE)
    frame = frame_of(
        plan,
        {
            "a.Act": numpy.full(500, numpy.nan, numpy.float32),
            "a.weight": numpy.zeros(5, numpy.float32),
            "a.weight.Delta": numpy.zeros(5, numpy.float32),
        },
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Figures(plan).table([frame])


# --- the ratio of an update, units, bounds ---------------------------------------------------------


@pytest.mark.parametrize("size", [10, 5000])
def test_the_ratio_is_that_of_the_update_to_its_weight(size: int) -> None:
    rng = numpy.random.default_rng(0)
    weight = rng.normal(0, 1, size).astype(numpy.float32)
    update = (0.001 * weight).astype(numpy.float32)
    plan = plan_of(["a.weight", "a.weight.Grad", "a.weight.Delta"], SAMPLE)
    seen = {"a.weight": weight, "a.weight.Delta": update}
    table = Figures(plan).table([frame_of(plan, seen, inexact=["a.weight.Delta"])])
    # The update is sampled alone, so the sample of the weight is what it is measured by.
    assert table[0, 2, COLUMN["ratio"]] == pytest.approx(0.001, rel=1e-4)
    assert numpy.isnan(table[0, :2, COLUMN["ratio"]]).all()


def test_an_update_of_a_weight_that_is_zero_has_no_ratio() -> None:
    plan = plan_of(["a.bias", "a.bias.Delta"], SAMPLE)
    seen = {"a.bias": numpy.zeros(4, numpy.float32), "a.bias.Delta": numpy.ones(4, numpy.float32)}
    assert numpy.isnan(Figures(plan).table([frame_of(plan, seen)])[0, 1, COLUMN["ratio"]])


def test_dead_is_the_share_of_units_that_gave_nothing() -> None:
    plan = plan_of([row_of("a.Act", "ReLU", unit_bytes=8), row_of("b.Act", "ReLU", unit_bytes=8)], SAMPLE)
    seen = {"a.Act": numpy.ones((2, 8), numpy.float32), "b.Act": numpy.ones((2, 8), numpy.float32)}
    frame = frame_of(plan, seen, units={"a.Act": numpy.array([1, 0, 0, 1])})
    dead = Figures(plan).table([frame])[0, :, COLUMN["dead"]]
    assert dead[0] == 0.5
    assert numpy.isnan(dead[1])


@pytest.mark.parametrize(
    ("module", "values", "share"),
    [
        ("Sigmoid", [0, 0.009, 0.5, 0.98, 0.991], 0.6),
        ("Hardsigmoid", [0, 1, 0.5, 0.5, 0.5], 0.4),
        ("Tanh", [-1, -0.985, -0.97, 0, 0.99], 0.6),
        ("Hardtanh", [-1, 1, 0.5, 0.5, 0.5], 0.4),
        ("Softsign", [-0.99, 0.5, 0.5, 0.5, 0.5], 0.2),
        ("ReLU6", [0, 0, 0, 1, 6], 0.2),
        ("Sigmoid", [0, numpy.nan, 0.5, 1, 0.5], 0.5),
    ],
)
def test_saturated_is_the_share_near_a_bound(module: str, values: list[float], share: float) -> None:
    found = figures_of(numpy.array(values, numpy.float32), module=module)
    assert found["saturated"] == pytest.approx(share)


@pytest.mark.parametrize("module", ["ReLU", "Softmax", "GLU", "Linear"])
def test_what_has_no_bounds_is_never_saturated(module: str) -> None:
    assert math.isnan(figures_of(numpy.array([0, 1, 1], numpy.float32), module=module)["saturated"])


def test_a_bounded_layer_with_other_bounds_is_not_judged() -> None:
    assert math.isnan(figures_of(numpy.array([2, -2, 0], numpy.float32), module="Hardtanh")["saturated"])


def test_only_what_a_layer_gives_is_saturated() -> None:
    gradient = figures_of(numpy.zeros(5, numpy.float32), "a.Grad", module="Sigmoid")
    assert math.isnan(gradient["saturated"])


@settings(max_examples=examples(25))
@given(values=arrays.arrays(numpy.float32, st.integers(1, SAMPLE), elements=FINITE), seed=st.integers(0, 99))
def test_the_order_of_values_does_not_matter(values: NDArray[Any], seed: int) -> None:
    mixed = numpy.random.default_rng(seed).permutation(values)
    assert_close(figures_of(mixed), expected(values))

"""Sparse random projection, against the matrix as a whole and what is promised of it."""

import hashlib
import math
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.random_projection import johnson_lindenstrauss_min_dim
from torch import Tensor

from tests.copying import ROOT, run_copy
from torcheer.errors import InputError
from torcheer.features.dimension_reduction import Project, SparseMatrix, draw_matrix


def dense(matrix: SparseMatrix) -> NDArray[Any]:
    """Units by columns."""
    full = numpy.zeros((matrix.edges[-1], matrix.places.shape[1]))
    columns = numpy.arange(matrix.places.shape[1])
    for run, start in enumerate(matrix.edges[:-1]):
        full[start + matrix.places[run], columns] = matrix.signs[run] * matrix.scale(run)
    return full


def projected(project: Project, values: Tensor) -> Tensor:
    return project.begin("conv", tuple(values.shape[1:]), values.dtype, ())(values)


@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    num_columns=st.integers(1, 12),
    density=st.one_of(st.just("auto"), st.floats(0.01, 1)),
    seed=st.integers(0, 3),
    num_samples=st.integers(1, 5),
)
def test_it_is_the_product_with_the_matrix(shape, num_columns, density, seed, num_samples) -> None:  # type: ignore[no-untyped-def]
    num_units = math.prod(shape)
    values = torch.randn(num_samples, *shape, dtype=torch.float64)
    result = projected(Project(num_columns, density=density, seed=seed), values)
    rows = values.reshape(num_samples, -1)
    if num_units <= num_columns:
        assert torch.equal(result, rows)
        return
    matrix = torch.from_numpy(dense(draw_matrix(num_units, num_columns, density=density, seed=seed)))
    assert result.shape == (num_samples, num_columns)
    assert torch.allclose(result, rows @ matrix, atol=1e-12)


@pytest.mark.parametrize(
    ("num_units", "density"), [(400, "auto"), (400, 0.1), (400, 1.0), (403, "auto"), (2, "auto")]
)
def test_every_column_has_as_many_entries_of_the_size_that_keeps_lengths(
    num_units: int, density: float
) -> None:
    matrix = dense(draw_matrix(num_units, 300, density=density, seed=1))  # type: ignore[arg-type]
    num_entries = round(math.sqrt(num_units) if density == "auto" else density * num_units)
    assert (numpy.count_nonzero(matrix, axis=0) == num_entries).all()
    wanted = math.sqrt(num_units / num_entries / 300)
    sizes = numpy.abs(matrix[matrix != 0])
    assert numpy.allclose(sizes, wanted, rtol=0 if num_units == 400 else 0.2)
    # Over all columns, each unit counts once, and no sign is preferred.
    assert abs(numpy.square(matrix).sum() - num_units) < 1e-9 * num_units + 0.05 * num_units * (
        num_units == 403
    )
    assert abs(numpy.sign(matrix).sum()) < 5 * math.sqrt(num_entries * 300)


def test_distances_are_kept() -> None:
    eps, num_samples = 0.25, 40
    num_columns = int(johnson_lindenstrauss_min_dim(num_samples, eps=eps))
    # Neighbours are alike, as in a layer, and a few units are far larger than the rest.
    values = torch.randn(num_samples, 20_000).cumsum(1) * torch.rand(20_000).pow(4)
    before = torch.cdist(values.double(), values.double()).square()
    after = torch.cdist(*[projected(Project(num_columns, seed=3), values).double()] * 2).square()
    above = torch.triu(torch.ones_like(before), 1).bool()
    ratios = (after / before)[above]
    assert ((ratios > 1 - eps) & (ratios < 1 + eps)).float().mean() > 0.98
    assert abs(float(ratios.mean()) - 1) < 0.05


@given(
    start=st.integers(0, 20),
    stop=st.integers(1, 21),
    dtype=st.sampled_from(["float32", "float64", "float16"]),
)
def test_a_sample_gives_the_same_bits_whatever_else_is_in_the_batch(
    start: int, stop: int, dtype: str
) -> None:
    values = torch.randn(21, 3, 7, 13, generator=torch.Generator().manual_seed(0)).to(getattr(torch, dtype))
    begun = Project(17).begin("conv", (3, 7, 13), values.dtype, ())
    part = slice(min(start, stop - 1), stop)
    assert torch.equal(begun(values[part]), begun(values)[part])
    far = values.to(memory_format=torch.channels_last)
    assert torch.equal(begun(far), begun(values))


def test_the_matrix_never_changes() -> None:
    # Pinned: features on disk rely on it, on every machine and with every version of NumPy.
    matrix = draw_matrix(1000, 8, density="auto", seed=0)
    found = hashlib.sha256(matrix.places.astype("<i4").tobytes() + matrix.signs.astype("<i1").tobytes())
    assert found.hexdigest()[:16] == "e23117b6f533d6be"


def test_another_process_draws_the_same_matrix_and_gives_the_same_bits() -> None:
    script = (
        "import torch; from torcheer.features.transforms import Project; torch.set_num_threads(2); "
        "values = torch.arange(5000.0).sin().reshape(2, 2500); "
        "print(Project(20, seed=5).begin('fc', (2500,), values.dtype, ())(values).numpy().tobytes().hex())"
    )
    answer = run_copy(["-c", script], cwd=ROOT)
    here = projected(Project(20, seed=5), torch.arange(5000.0).sin().reshape(2, 2500))
    assert answer.stdout.strip() == here.numpy().tobytes().hex()


def test_seeds_and_numbers_of_units_give_other_matrices() -> None:
    drawn = [
        dense(draw_matrix(n, 50, density="auto", seed=seed))[:100]
        for n, seed in ((100, 0), (100, 1), (101, 0))
    ]
    correlations = numpy.corrcoef([each.ravel() for each in drawn])
    assert (numpy.abs(correlations - numpy.eye(3)) < 0.1).all()


def test_a_large_layer_needs_no_large_matrix() -> None:
    matrix = draw_matrix(800_000, 512, density="auto", seed=0)
    assert matrix.places.nbytes + matrix.signs.nbytes < 800_000 * 512 / 100


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
        ("uint8", "float32"),
        ("bool", "float32"),
        ("int64", "float64"),
        ("float64", "float64"),
    ],
)
def test_it_computes_with_enough_digits(dtype: str, wanted: str) -> None:
    values = (torch.rand(3, 200) * 4).to(getattr(torch, dtype))
    result = projected(Project(10), values)
    assert result.dtype == getattr(torch, wanted)
    matrix = torch.from_numpy(dense(draw_matrix(200, 10, density="auto", seed=0)))
    assert torch.allclose(result.double(), values.double() @ matrix, atol=1e-5)


def test_a_small_layer_is_only_flattened_and_says_so() -> None:
    begun = Project(12).begin("fc", (3, 4), torch.float32, ())
    values = torch.randn(2, 3, 4)
    assert torch.equal(begun(values), values.flatten(1))
    assert "12 units, no more than the 12 asked for" in begun.note  # type: ignore[attr-defined]


def test_words_say_all_that_matters() -> None:
    assert Project(512).words == "project 512 (seed 0)"
    assert Project(512, density=0.5, seed=3).words == "project 512 (density 0.5, seed 3)"
    assert Project(512).dims(("channel", "y", "x"), (3, 9, 9), (512,)) == ("unit",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_units": 0}, r"such as Project\(512\)"),
        ({"num_units": "many"}, r"such as Project\(512\)"),
        ({"num_units": 5, "density": 0}, "above 0"),
        ({"num_units": 5, "density": 1.5}, "up to 1"),
        ({"num_units": 5, "density": "dense"}, "'auto'"),
        ({"num_units": 5, "density": True}, "'auto'"),
        ({"num_units": 5, "seed": -1}, "whole number"),
        ({"num_units": 5, "seed": 0.5}, "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Project(**arguments)  # type: ignore[arg-type]


def test_complex_values_and_samples_of_another_size_are_refused() -> None:
    with pytest.raises(InputError, match=r"layer 'fc': its values are complex.*torch.abs"):
        Project(5).begin("fc", (20,), torch.complex64, ())
    begun = Project(5).begin("fc", (20,), torch.float32, ())
    with pytest.raises(InputError, match=r"began with samples of 20 units, and now one has 21.*pool"):
        begun(torch.ones(2, 21))

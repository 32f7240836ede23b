"""Features as an xarray.Dataset: named dimensions, coordinates, and nothing read too early."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from torcheer.errors import InputError
from torcheer.features.journal import Done
from torcheer.features.manifest import NAME, ArraySpec, Fingerprints, LayerOrigin, Manifest
from torcheer.features.saved_features import Features, open_features
from torcheer.features.stores import Array, store_at
from torcheer.features.xarray_dataset import dimension_names

xarray = pytest.importorskip("xarray")

CONV = ArraySpec(name="conv", file="conv", dtype="<f4", shape=(3, 4, 5), dims=("channel", "y", "x"))
HEAD = ArraySpec(name="head", file="head", dtype="<f4", shape=(6,), dims=("channel",))
WORDS = ArraySpec(name="words", file="words", dtype="<f4", shape=(-1,), dims=("token",), layout="ragged")
LABELS = ArraySpec(name="labels", file="labels", dtype="<i8", shape=(), role="labels")
IDS = ArraySpec(name="ids", file="ids", dtype="text", shape=(), role="ids")
ROWS, BATCH = 10, 4
CONV_VALUES = numpy.random.default_rng(0).normal(size=(ROWS, 3, 4, 5)).astype("<f4")
HEAD_VALUES = numpy.random.default_rng(1).normal(size=(ROWS, 6)).astype("<f4")
LABEL_VALUES = numpy.arange(ROWS) % 3
NAMES = [f"img-{number}.png" for number in range(ROWS)]


def written(place: Path, *arrays: ArraySpec, num_batches: int = 3) -> Features:
    values: dict[str, Array] = {"conv": CONV_VALUES, "head": HEAD_VALUES, "labels": LABEL_VALUES}
    store = store_at(place)
    manifest = Manifest(
        storage=store.kind,
        model="Net",
        data="ten pictures",
        num_samples=ROWS,
        batch_size=BATCH,
        num_batches=3,
        arrays=arrays,
        origins=tuple(
            LayerOrigin(
                name=array.name, label=f"{array.name}_1_1", address="body.0", transforms=("pool", "float16")
            )
            for array in arrays
            if array.role == "layer"
        ),
        fingerprints=Fingerprints(weights={}, structure="", data={}, call={}),
    )
    store.write(NAME, manifest.encoded())
    store.make_room(arrays, ROWS, BATCH)
    store.write_texts(IDS, numpy.array(NAMES))
    writer = store.writer("one")
    for number in range(num_batches):
        part = slice(number * BATCH, (number + 1) * BATCH)
        for array in arrays:
            if array.file in values:
                writer.put_rows(array, number * BATCH, values[array.file][part])
        writer.commit([Done(batch=number, first=number * BATCH, rows=len(LABEL_VALUES[part]))])
    writer.close()
    return open_features(place)


@pytest.fixture(params=["features", "features.zarr"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def test_layers_of_different_sizes_live_in_one_dataset(place: Path) -> None:
    dataset = written(place, CONV, HEAD, LABELS, IDS).to_xarray()

    assert list(dataset.data_vars) == ["conv", "head"]
    assert dataset["conv"].dims == ("sample", "conv.channel", "conv.y", "conv.x")
    assert dataset["head"].dims == ("sample", "head.channel")
    numpy.testing.assert_array_equal(dataset["conv"].values, CONV_VALUES)
    numpy.testing.assert_array_equal(dataset["head"].values, HEAD_VALUES)
    assert dataset["label"].values.tolist() == LABEL_VALUES.tolist()
    assert dataset["sample"].values.tolist() == NAMES


def test_samples_are_found_by_name_and_by_label(place: Path) -> None:
    dataset = written(place, CONV, HEAD, LABELS, IDS).to_xarray()

    numpy.testing.assert_array_equal(dataset["head"].sel(sample="img-7.png").values, HEAD_VALUES[7])
    ones = dataset["head"].where(dataset["label"] == 1, drop=True)
    numpy.testing.assert_array_equal(ones.values, HEAD_VALUES[LABEL_VALUES == 1])
    numpy.testing.assert_allclose(
        dataset["head"].groupby("label").mean().values,
        [HEAD_VALUES[label == LABEL_VALUES].mean(axis=0) for label in range(3)],
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("rows", "channels", "ys"),
    [
        (3, slice(None), slice(None)),
        (slice(2, 9, 3), 1, slice(0, 2)),
        ([7, 0, 7], [2, 0], slice(None)),
        (-1, [0, 1], 3),
        (slice(None, None, -1), slice(None), [3, 0]),
        (numpy.arange(ROWS) % 2 == 0, 0, [1]),
    ],
)
def test_each_dimension_is_indexed_for_itself(place: Path, rows: Any, channels: Any, ys: Any) -> None:
    conv = written(place, CONV, LABELS).to_xarray()["conv"]

    found = conv.isel({"sample": rows, "conv.channel": channels, "conv.y": ys})

    expected = xarray.DataArray(CONV_VALUES, dims=conv.dims).isel(
        {"sample": rows, "conv.channel": channels, "conv.y": ys}
    )
    assert found.dims == expected.dims
    numpy.testing.assert_array_equal(found.values, expected.values)


def test_points_are_indexed_in_pairs_where_xarray_is_asked_to(place: Path) -> None:
    head = written(place, HEAD).to_xarray()["head"]
    rows = xarray.DataArray([1, 9, 4], dims="point")
    channels = xarray.DataArray([0, 5, 2], dims="point")

    found = head.isel({"sample": rows, "head.channel": channels})

    numpy.testing.assert_array_equal(found.values, HEAD_VALUES[[1, 9, 4], [0, 5, 2]])


class SpiedRows:
    """Rows that remember what was asked of them."""

    def __init__(self, rows: Any, asked: list[Any]) -> None:
        self._rows = rows
        self._asked = asked
        self.shape, self.dtype = rows.shape, rows.dtype

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        self._asked.append(key)
        return self._rows[key]


def test_nothing_is_read_before_it_is_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = written(place, CONV, HEAD, LABELS, IDS)
    asked: list[Any] = []
    kind = type(features._store)
    original = kind.rows

    def spied(self: Any, array: ArraySpec, num_rows: int) -> Any:
        rows = original(self, array, num_rows)
        return SpiedRows(rows, asked) if array.role == "layer" else rows

    monkeypatch.setattr(kind, "rows", spied)

    dataset = features.to_xarray()
    chosen = dataset["conv"].isel(sample=slice(2, 8)).isel(sample=[0, 3])
    assert "conv" in repr(dataset)
    assert asked == []

    numpy.testing.assert_array_equal(chosen.values, CONV_VALUES[[2, 5]])
    assert [numpy.asarray(key).tolist() for key in asked] == [[2, 5]]


def test_rows_that_are_not_extracted_yet_are_refused(place: Path) -> None:
    dataset = written(place, CONV, HEAD, LABELS, num_batches=2).to_xarray()

    numpy.testing.assert_array_equal(dataset["head"].isel(sample=slice(0, 8)).values, HEAD_VALUES[:8])
    with pytest.raises(InputError, match="sample 8 of 'head' is not extracted yet"):
        dataset["head"].isel(sample=slice(6, 10)).values
    with pytest.raises(InputError, match="sample 9 of 'conv' is not extracted yet"):
        dataset["conv"].isel(sample=-1).values


def test_what_a_dataset_holds_may_be_changed_and_the_file_stays(place: Path) -> None:
    features = written(place, HEAD)
    head = features.to_xarray()["head"].load()

    head[:] = 0

    numpy.testing.assert_array_equal(features["head"][:], HEAD_VALUES)


def test_a_dataset_knows_where_it_comes_from(place: Path) -> None:
    dataset = written(place, CONV).to_xarray("conv_1_1")

    assert dataset.attrs == {"model": "Net", "data": "ten pictures", "source": str(place)}
    assert dataset["conv"].attrs == {
        "layer": "conv_1_1",
        "address": "body.0",
        "transforms": ["pool", "float16"],
    }


def test_without_names_samples_are_numbers(place: Path) -> None:
    dataset = written(place, HEAD).to_xarray()

    assert list(dataset.coords) == ["sample"]
    numpy.testing.assert_array_equal(dataset["head"].sel(sample=[4, 2]).values, HEAD_VALUES[[4, 2]])


def test_samples_of_different_shapes_are_refused_with_the_fix(place: Path) -> None:
    features = written(place, WORDS, HEAD)

    with pytest.raises(
        InputError, match=r"features\['words'\]\.padded\(\), or .* features\.to_xarray\('head'\)"
    ):
        features.to_xarray()
    assert list(features.to_xarray("head").data_vars) == ["head"]


def test_a_layer_may_be_called_as_a_coordinate_is(place: Path) -> None:
    label = ArraySpec(name="label", file="head", dtype="<f4", shape=(6,))
    dataset = written(place, label, LABELS).to_xarray()

    numpy.testing.assert_array_equal(dataset["layer.label"].values, HEAD_VALUES)
    assert dataset["label"].values.tolist() == LABEL_VALUES.tolist()


def test_a_layer_may_be_called_as_a_dimension_of_another_is(place: Path) -> None:
    other = ArraySpec(name="conv.x", file="head", dtype="<f4", shape=(6,), dims=("channel",))
    dataset = written(place, CONV, other).to_xarray()

    numpy.testing.assert_array_equal(dataset["conv.x"].values, HEAD_VALUES)


def test_what_was_loaded_goes_to_another_process(place: Path) -> None:
    dataset = written(place, CONV, HEAD, LABELS, IDS).to_xarray()

    copy = pickle.loads(pickle.dumps(dataset.isel(sample=slice(0, 3)).load()))

    numpy.testing.assert_array_equal(copy["head"].values, HEAD_VALUES[:3])


def test_dimensions_without_names_and_with_the_same_name_are_told_apart() -> None:
    nameless = ArraySpec(name="a", file="a", dtype="<f4", shape=(2, 3))
    twice = ArraySpec(name="a", file="a", dtype="<f4", shape=(2, 2), dims=("token", "token"))

    assert dimension_names(nameless) == ("sample", "a.dim0", "a.dim1")
    assert dimension_names(twice) == ("sample", "a.token", "a.token1")


def test_without_xarray_the_error_names_the_fix(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = written(place, HEAD)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match=r"pip install 'torcheer\[xarray\]'"):
        features.to_xarray()

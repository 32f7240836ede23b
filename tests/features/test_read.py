"""Reading features: as NumPy reads an array, without torch, and with whatever a folder may hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from tests.features.making import made_features
from torcheer.errors import FileFormatError, InputError, LayerNotFoundError
from torcheer.features import extract, open_features
from torcheer.features.saved_features import StoredLayer

NUM = 40
VALUES = numpy.random.default_rng(0).normal(size=(NUM, 3, 5)).astype(numpy.float32)


@pytest.fixture
def layer(tmp_path: Path) -> StoredLayer:
    found = made_features(tmp_path / "f", {"conv": VALUES}, dims={"conv": ("channel", "time")})["conv"]
    assert isinstance(found, StoredLayer)
    return found


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        numpy.int64(3),
        slice(None),
        slice(3, 9),
        slice(9, 3, -2),
        slice(None, None, -1),
        slice(-5, None),
        slice(100, 200),
        [3, 1, 1],
        [],
        numpy.array([5, -2]),
        [[0, 1], [2, 3]],
        numpy.arange(NUM) % 3 == 0,
        VALUES > 1,
        ...,
        None,
        (),
        (3, 1),
        (slice(2, 5), 1),
        (slice(None), slice(None), [0, 2]),
        ([1, 2], [0, 1], [3, 4]),
        (..., 0),
        (..., slice(1, 3)),
        (0, ..., 2),
    ],
    ids=str,
)
def test_keys_mean_what_they_mean_to_numpy(layer: StoredLayer, key: Any) -> None:
    assert numpy.array_equal(layer[key], VALUES[key])


@pytest.mark.parametrize("key", [NUM, -NUM - 1, [NUM], (0, 3), "conv", 1.5])
def test_keys_that_are_out_of_bounds(layer: StoredLayer, key: Any) -> None:
    with pytest.raises(IndexError):
        layer[key]


def test_a_layer_is_an_array(layer: StoredLayer) -> None:
    assert numpy.array_equal(numpy.asarray(layer), VALUES)
    assert numpy.array_equal(numpy.asarray(layer, dtype=numpy.float64), VALUES.astype(numpy.float64))
    assert numpy.allclose(numpy.mean(layer, axis=0), VALUES.mean(axis=0))  # type: ignore[call-overload]
    assert len(layer) == NUM
    assert (layer.shape, layer.ndim, layer.dtype, layer.nbytes) == (VALUES.shape, 3, "float32", VALUES.nbytes)
    assert layer.dims == ("sample", "channel", "time")
    assert all(numpy.array_equal(one, other) for one, other in zip(layer, VALUES, strict=True))
    assert repr(layer) == "<StoredLayer 'conv': float32 (40, 3, 5)>"


def test_the_file_cannot_be_changed_by_mistake(layer: StoredLayer) -> None:
    with pytest.raises(ValueError, match="read-only"):
        layer[:5][0, 0, 0] = 1.0


def test_layers_answer_to_the_names_of_their_ops_and_modules(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.ReLU())), torch.randn(5, 4)
    features = extract(model, x, layers="all", to=tmp_path / "f", progress=False)

    assert features.layers == ["linear_1_1", "relu_1_2"]
    for name in ("linear_1_1", "linear_1", "0"):
        assert features[name].name == "linear_1_1"
    for name in ("relu_1_2", "relu_1", "1.0", "1"):
        assert features[name].name == "relu_1_2"
    assert features.origin("1").label == "relu_1_2"
    assert "0" in features
    assert "nothing" not in features


def test_a_name_that_is_none_is_told_with_the_nearest(tmp_path: Path) -> None:
    features = made_features(tmp_path / "f", {"features.0": VALUES, "features.3": VALUES})

    with pytest.raises(LayerNotFoundError, match=r"The nearest: features\.[03]"):
        features["features.1"]
    with pytest.raises(LayerNotFoundError):
        features[3]  # type: ignore[index]


def test_a_name_that_could_be_several_is_told(tmp_path: Path) -> None:
    origins = {"a": {"aliases": ("x",)}, "b": {"aliases": ("x",)}}
    features = made_features(tmp_path / "f", {"a": VALUES, "b": VALUES}, origins=origins)

    with pytest.raises(LayerNotFoundError, match="could be any of a, b"):
        features["x"]


def test_what_print_shows(tmp_path: Path) -> None:
    features = made_features(
        tmp_path / "f",
        {"conv": VALUES},
        labels=range(NUM),  # type: ignore[arg-type]
        num_done=32,
        dims={"conv": ("channel", "time")},
    )

    text = repr(features)

    assert "40 samples (made for a test), 32 extracted so far; with labels" in text
    assert "1 layer, " in text
    assert "channel 3 × time 5  float32" in text


def test_features_that_are_still_being_written_are_seen_to_grow(tmp_path: Path) -> None:
    from tests.features.making import write_rows
    from torcheer.features.stores.folder import FolderStore

    features = made_features(tmp_path / "f", {"conv": VALUES}, num_done=32)
    layer = features["conv"]
    assert not features.is_complete
    with pytest.raises(InputError, match="sample 32 of 'conv' is not extracted yet"):
        layer[:]

    write_rows(FolderStore(tmp_path / "f"), features.manifest, {"conv": VALUES}, 32, NUM)

    assert features.is_complete
    assert numpy.array_equal(layer[:], VALUES)


# --- without torch ----------------------------------------------------------------------------------------


def run_python(program: str, *flags: str) -> str:
    done = subprocess.run(
        [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_reading_does_not_import_torch(tmp_path: Path) -> None:
    made_features(tmp_path / "f", {"conv": VALUES}, labels=range(NUM))  # type: ignore[arg-type]

    printed = run_python(
        "import sys\n"
        "import torcheer.features.saved_features as reading\n"
        f"features = reading.open_features({str(tmp_path / 'f')!r})\n"
        "print(features['conv'][3:5].sum(), features.labels[7], 'Net' in repr(features))\n"
        "assert 'torch' not in sys.modules\n"
    )

    assert printed.split() == [str(VALUES[3:5].sum()), "7", "True"]


def test_numpy_alone_reads_what_was_extracted(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 3)), torch.randn(5, 4)
    features = extract(
        model, x, layers=["0"], to=tmp_path / "f", ids=list("abcde"), batch_size=2, progress=False
    )

    printed = run_python(
        "import sys, numpy\n"
        f"folder = {str(tmp_path / 'f')!r}\n"
        "values = numpy.load(folder + '/0.npy', mmap_mode='r')\n"
        "ids = numpy.load(folder + '/ids.npy')\n"
        "print(values.shape, values.dtype, values[2:].tobytes().hex(), *ids)\n"
        "assert 'torcheer' not in sys.modules\n"
    )

    expected = numpy.asarray(features["0"][2:]).tobytes().hex()
    assert printed.strip() == f"(5, 3) float32 {expected} a b c d e"


# --- what a folder may hold -------------------------------------------------------------------------------


def test_a_folder_without_features_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="there are no features at"):
        open_features(tmp_path)
    with pytest.raises(FileFormatError, match="there are no features at"):
        open_features(tmp_path / "nowhere")


def damaged(path: Path, **changes: Any) -> Path:
    made_features(path, {"conv": VALUES}, num_done=32)
    manifest = json.loads((path / "manifest.json").read_text())
    for name, value in changes.items():
        if name in manifest:
            manifest[name] = value
        else:
            manifest["arrays"][0][name] = value
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "another"},
        {"version": 99},
        {"arrays": "none"},
        {"arrays": []},
        {"origins": []},
        {"num_samples": -5},
        {"num_samples": "many"},
        {"file": "../secret"},
        {"file": "/etc/passwd"},
        {"file": ".hidden"},
        {"file": ""},
        {"dtype": "O"},
        {"dtype": "|V8"},
        {"dtype": "M8[s]"},
        {"dtype": "nonsense"},
        {"shape": [-1]},
        {"shape": [10**9, 10**9]},
        {"shape": ["a"]},
        {"shape": [0] * 70},
        {"layout": "other"},
        {"role": "other"},
    ],
    ids=str,
)
def test_a_manifest_that_cannot_be_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        open_features(damaged(tmp_path / "f", **changes))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{}",
        b'{"format": "\xc3\x28"}',
        b'{"format": "\xed\xa0\x80"}',
        '{"format": "ü"}'.encode("latin-1"),
        b'{"format": ' + b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_manifest_that_is_none_is_refused(content: bytes, tmp_path: Path) -> None:
    made_features(tmp_path / "f", {"conv": VALUES})
    (tmp_path / "f" / "manifest.json").write_bytes(content)

    with pytest.raises(FileFormatError):
        open_features(tmp_path / "f")


def test_a_manifest_that_promises_too_much_is_told_when_it_is_read(tmp_path: Path) -> None:
    features = open_features(damaged(tmp_path / "f", num_samples=10**12))

    with pytest.raises(FileFormatError, match="too short"):
        features["conv"]


def test_samples_beyond_what_the_files_can_hold_are_not_listed(tmp_path: Path) -> None:
    features = open_features(damaged(tmp_path / "f", num_samples=10**12))

    with pytest.raises(FileFormatError, match="far more than its files can hold"):
        _ = features.done


def test_labels_beyond_what_zarr_can_hold_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "f.zarr"
    data = torch.randn(6, 4), torch.arange(6)
    extract(nn.Linear(4, 3), data, layers=["output_1"], to=folder, progress=False)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"num_samples": 10**12}))

    with pytest.raises(FileFormatError, match="far more than its files can hold"):
        _ = open_features(folder).labels


@pytest.mark.parametrize(
    "line",
    [
        b'{"batch": 9, "first": -5, "rows": 4}',
        b'{"batch": 9, "first": 0, "rows": 4611686018427387904}',
        b'{"batch": 9, "first": 0, "rows": 1, "inputs": "\xc3\x28"}',
        b'{"batch": ' + b"[" * 100_000,
        b'{"batches": -1, "total_rows": 1}',
    ],
    ids=["before the first", "too many", "no UTF-8", "nested without end", "less than none"],
)
def test_a_line_of_a_journal_that_cannot_be_is_left_out(tmp_path: Path, line: bytes) -> None:
    made_features(tmp_path / "f", {"conv": VALUES}, num_done=32)
    (tmp_path / "f" / "done" / "zzz.jsonl").write_bytes(line + b"\n")

    assert open_features(tmp_path / "f").num_done == 32


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    features = made_features(tmp_path / "f", {"conv": VALUES})
    (tmp_path / "f" / "conv.npy").unlink()

    with pytest.raises(FileFormatError, match="is gone"):
        features["conv"]


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    features = made_features(tmp_path / "f", {"conv": VALUES})
    with open(tmp_path / "f" / "conv.npy", "r+b") as file:
        file.truncate(300)

    with pytest.raises(FileFormatError, match="too short"):
        features["conv"]


def test_lines_of_a_journal_that_mean_nothing_are_passed_over(tmp_path: Path) -> None:
    features = made_features(tmp_path / "f", {"conv": VALUES}, num_done=32)
    (tmp_path / "f" / "done" / "zzz.jsonl").write_bytes(b'{"a": 1}\n\xff\xfe\n[]\n{"batch": 1, "fir')

    assert open_features(tmp_path / "f").num_done == features.num_done == 32


def test_ids_that_several_samples_have_are_noted(tmp_path: Path) -> None:
    model, x = nn.Sequential(nn.Linear(4, 3)), torch.randn(5, 4)

    features = extract(model, x, layers=["0"], to=tmp_path / "f", ids=list("abcbe"), progress=False)

    assert features.ids.tolist() == list("abcbe")
    assert "some samples have the same id, such as b." in features.manifest.notes

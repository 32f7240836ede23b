"""What is tortured, what must come out of it, and how it is looked at while it is being written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy

from tests.features.torture_target import PACE
from torcheer.errors import FileFormatError
from torcheer.features.read import Features, open_features

ROOT: Final = Path(__file__).parents[2]
_TARGETS: Final = "tests.features.torture_target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One sort of extraction."""

    name: str
    target: str
    layers: tuple[str, ...]
    options: Mapping[str, str]
    ending: str = ""

    def command(self, to: Path) -> list[str]:
        options = [f"--{name}={value}" for name, value in self.options.items()]
        layers = ",".join(self.layers)
        target = f"{_TARGETS}:{self.target}"
        return ["torcheer", "extract", target, "--layers", layers, "--to", str(to), "--no-progress", *options]


_NET: Final = ("inner.0", "inner.4", "inner.5")
_WORDS: Final = ("words", "mix")
_PCA: Final = {"transform": f"{_TARGETS}:pca"}
_RAGGED: Final = {"shapes": "ragged", "ids": "name"}

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(name="rows", target="model_and_data", layers=_NET, options={}),
        Kind(name="pca", target="model_and_data", layers=("inner.0", "inner.5"), options=_PCA),
        Kind(name="ragged", target="texts", layers=_WORDS, options=_RAGGED),
        Kind(name="stream", target="stream", layers=_NET, options={}),
        Kind(name="few", target="few", layers=_NET, options={}),
        Kind(name="zarr", target="model_and_data", layers=_NET, options={}, ending=".zarr"),
        Kind(name="zarr-pca", target="model_and_data", layers=("inner.5",), options=_PCA, ending=".zarr"),
        Kind(name="zarr-ragged", target="texts", layers=_WORDS, options=_RAGGED, ending=".zarr"),
        Kind(name="zarr-stream", target="stream", layers=_NET, options={}, ending=".zarr"),
    )
}


def environment(**more: str) -> dict[str, str]:
    """One thread each, as torchrun has it."""
    own = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", PACE)}
    return {**own, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **more}


class Reference:
    """What an undisturbed process makes of it, without torchrun, to the last bit."""

    def __init__(self, kind: Kind, place: Path) -> None:
        self.path = place / f"reference-{kind.name}{kind.ending}"
        command = [sys.executable, "-m", *kind.command(self.path)]
        # With as many threads as torch takes: torchrun gives each process one, and nothing may depend on it.
        own = environment()
        del own["OMP_NUM_THREADS"]
        subprocess.run(command, check=True, env=own, cwd=ROOT, stdout=subprocess.DEVNULL)
        self._features = open_features(self.path)
        assert self._features.is_complete
        self._layers = {name: _values(self._features, name) for name in self._features.layers}

    @property
    def num_samples(self) -> int:
        return self._features.num_samples

    def check_done(self, path: Path) -> int:
        """What is reported as done must be what it will be in the end. How many samples that are."""
        try:
            features = open_features(path)
        except FileFormatError:
            assert not _has_manifest(path), f"{path} has a manifest, and does not open"
            return 0
        numbers = numpy.flatnonzero(features.done)
        if len(numbers):
            for name, expected in self._layers.items():
                found = features[name][numbers]
                for number, one in zip(numbers, found, strict=True):
                    assert _same(one, expected[number]), f"{path}: {name}[{number}] is reported as done"
            for role in ("labels", "ids", "lengths"):
                column, wanted = getattr(features, role), getattr(self._features, role)
                if wanted is not None:
                    assert numpy.array_equal(column[numbers], wanted[numbers]), f"{path}: {role}"
        return len(numbers)

    def check_equal(self, path: Path) -> None:
        """Every layer, labels, ids and lengths; and each file that NumPy alone reads, byte by byte."""
        features = open_features(path)
        assert features.is_complete, f"{path} is not complete"
        assert self.check_done(path) == self.num_samples
        # What a ragged layer is in, is called after the process that wrote it.
        ragged = {array.file for array in features.manifest.arrays if array.layout == "ragged"}
        for file in _plain_files(self.path):
            name = file.relative_to(self.path)
            if not ragged & {name.parts[0], name.parts[0].partition(".rank-")[0]}:
                assert (path / name).read_bytes() == file.read_bytes(), f"{path / name} is not {file}"
        for array in features.manifest.layers:
            if features.manifest.storage == "npy" and array.layout == "rows":
                whole = numpy.load(path / f"{array.file}.npy")
                assert _same(whole, numpy.asarray(self._layers[array.name])), f"{path}: {array.file}.npy"


def _values(features: Features, name: str) -> Any:
    return features[name][:]


def _same(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes())


def _has_manifest(path: Path) -> bool:
    return any((path / folder / "manifest.json").exists() for folder in ("", "torcheer"))


def _plain_files(path: Path) -> list[Path]:
    """Arrays and chunks; but no journals, nor what says in which part of them a ragged sample is."""
    found = [*path.rglob("*.npy"), *path.rglob("c.*"), *path.rglob("*.npz")]
    return [file for file in found if "places" not in file.relative_to(path).as_posix() and file.is_file()]


def state_of(path: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file: when it was written, which it is, and what is in it."""
    return {
        file.relative_to(path).as_posix(): (file.stat().st_mtime_ns, file.stat().st_ino, file.read_bytes())
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def leftovers(path: Path) -> list[str]:
    """Files that were begun under another name, by a process that was killed."""
    return [file.name for file in path.rglob(".*") if file.is_file()]

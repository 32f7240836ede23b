"""Every kind of store, opened anew as another process would; and arrays to put into them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy
import pytest
from fsspec.implementations.local import LocalFileSystem
from zarr.storage import ObjectStore

from torcheer.features.manifest import ArraySpec
from torcheer.features.stores import Array, FolderStore, Store
from torcheer.features.stores.zarr_store import RemoteObjects, ZarrStore

KINDS = [
    "folder",
    "zarr",
    "zarr-file",
    "zarr-memory",
    "zarr-folders",
    "zarr-obstore-memory",
    "zarr-obstore-local",
]
LOCAL_KINDS = ["folder", "zarr", "zarr-file"]

Open = Callable[[], Store]


class Folders(LocalFileSystem):
    """A place with real folders that nobody makes, as sftp and smb have them."""

    protocol = "torcheerfolders"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("torcheerfolders://"))


def opener(kind: str, folder: Path) -> Open:
    """Each call is another store at the same place."""
    if kind == "folder":
        return lambda: FolderStore(folder / "features")
    if kind == "zarr":
        return lambda: ZarrStore(folder / "features.zarr")
    if kind == "zarr-file":
        return lambda: ZarrStore(f"file://{folder}/features.zarr")
    if kind == "zarr-memory":
        url = f"memory://torcheer-tests/{folder.name}"
        filesystem = fsspec.filesystem("memory")
        if filesystem.exists(url):
            filesystem.rm(url, recursive=True)
        return lambda: ZarrStore(url)
    if kind == "zarr-folders":
        fsspec.register_implementation("torcheerfolders", Folders, clobber=True)
        return lambda: ZarrStore(f"torcheerfolders://{folder}/not/there/yet")
    stores = pytest.importorskip("obstore.store")
    if kind == "zarr-obstore-memory":
        objects = stores.MemoryStore()
        return lambda: ZarrStore("s3://nowhere", RemoteObjects(ObjectStore(objects)))
    (folder / "objects").mkdir(exist_ok=True)
    objects = stores.LocalStore(folder / "objects")
    return lambda: ZarrStore("s3://elsewhere", RemoteObjects(ObjectStore(objects)))


CONV = ArraySpec(name="conv", file="conv", dtype="<f4", shape=(3, 2, 2), dims=("channel", "y", "x"))
HEAD = ArraySpec(name="head", file="head", dtype="<f2", shape=(5,), dims=("unit",))
LABELS = ArraySpec(name="labels", file="labels", dtype="<i8", shape=(), role="labels")
WORDS = ArraySpec(
    name="words", file="words", dtype="<f4", shape=(-1, 4), dims=("token", "channel"), layout="ragged"
)
IDS = ArraySpec(name="ids", file="ids", dtype="text", shape=(), role="ids")


def values_of(array: ArraySpec, num_rows: int, seed: int = 0) -> Array:
    drawn = numpy.random.default_rng(seed).normal(0, 100, (num_rows, *array.shape))
    return drawn.astype(array.numpy_dtype)


def sentences(num: int, seed: int = 0) -> list[Array]:
    random = numpy.random.default_rng(seed)
    return [random.normal(size=(int(random.integers(0, 6)), 4)).astype("<f4") for _ in range(num)]

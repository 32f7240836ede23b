"""What goes into a run comes out of it again, bit by bit, over the disk."""

import io
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

import torcheer as tl
from tests.many import examples

DTYPES = [
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64),
    *(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
]


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Of any type and shape, with any bits."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    size = math.prod(shape)
    if dtype == torch.bool:
        values = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        return torch.tensor(values, dtype=dtype).reshape(shape)
    num_bytes = size * dtype.itemsize
    data = draw(st.binary(min_size=num_bytes, max_size=num_bytes))
    return torch.tensor(list(data), dtype=torch.uint8).view(dtype).reshape(shape)


def bits(tensor: Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


@given(st.lists(tensors(), min_size=1, max_size=12))
@settings(max_examples=examples(40))
def test_tensors_of_every_type_come_back_bit_by_bit(given_tensors: list[Tensor]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with tl.Run(folder) as run:
            for step, tensor in enumerate(given_tensors):
                run.log_tensor(step, "x", tensor)
        found = tl.open_run(folder).tensors("x")
        assert [record.step for record in found] == list(range(len(given_tensors)))
        for record, tensor in zip(found, given_tensors, strict=True):
            assert (record.dtype, tuple(record.shape)) == (str(tensor.dtype)[6:], tuple(tensor.shape))
            assert record.raw == bits(tensor)
            again = record.to_torch()
            assert again.dtype == tensor.dtype
            assert bits(again) == bits(tensor)


POINTS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats()), min_size=1, max_size=30)


@given(st.dictionaries(st.text(max_size=30), POINTS, min_size=1, max_size=5))
@settings(max_examples=examples(40))
def test_numbers_of_every_kind_come_back_in_order_under_any_name(
    series: dict[str, list[tuple[int, float]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with tl.Run(folder) as run:
            for name, points in series.items():
                for step, value in points:
                    run.log(step, {name: value})
        saved = tl.open_run(folder)
        assert set(saved.names("scalar")) == set(series)
        for name, points in series.items():
            found = saved.scalars(name)
            assert found.steps.tolist() == [step for step, _ in points]
            assert found.values.tobytes() == np.array([value for _, value in points]).tobytes()


@given(st.lists(st.text(max_size=200), min_size=1, max_size=8))
@settings(max_examples=examples(30))
def test_texts_come_back_letter_by_letter(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with tl.Run(folder) as run:
            for step, text in enumerate(texts):
                run.log_text(step, "words", text)
        reader = tl.open_run(folder).reader()
        entries = reader.records("text", "words")
        assert [(reader.data(f"{one.part}:{one.id}") or b"").decode() for one in entries] == texts


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everything")
    with tl.Run(folder) as run:
        run.log_histogram(1, "histogram", np.arange(100.0), bins=np.array([0.0, 25.0, 50.0, 99.0]))
        run.log_image(1, "image", PIXELS, dataformats="HWC")
        run.log_video(1, "video", PIXELS.transpose(2, 0, 1)[None, None].repeat(3, axis=1))
        run.log_audio(1, "audio", np.zeros(80), sample_rate=8000)
        run.log_embedding(1, "embedding", POINT_ROWS, metadata=["a", "b", "c"])
        run.log_pr_curve(1, "curve", [0, 1, 1], [0.1, 0.6, 0.9], num_thresholds=5)
        run.log_confusion(1, "confusion", [[5, 1], [2, 7]], labels=["cat", "dog"])
        run.log_hparams({"lr": 0.1, "name": "adam", "big": True}, {"acc": 0.5})
    return folder


PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
POINT_ROWS = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)


def read(folder: Path, kind: str, name: str) -> tuple[object, bytes]:
    reader = tl.open_run(folder).reader()
    (entry,) = reader.records(kind, name)  # type: ignore[arg-type]
    assert entry.step == (0 if kind == "hparams" else 1)
    return entry.head, reader.data(f"{entry.part}:{entry.id}") or b""


def test_pictures_and_films_come_back_pixel_by_pixel(everything: Path) -> None:
    _, png = read(everything, "image", "image")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), PIXELS)
    head, frames = read(everything, "video", "video")
    assert len(head.frame_bytes) == 3  # type: ignore[attr-defined]
    first = frames[: head.frame_bytes[0]]  # type: ignore[attr-defined]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(first)).convert("RGB")), PIXELS)


def test_all_other_kinds_come_back_with_their_numbers(everything: Path) -> None:
    numbers = np.frombuffer(read(everything, "histogram", "histogram")[1])
    assert numbers.tolist() == [0, 25, 50, 99, 25, 25, 50]
    assert read(everything, "audio", "audio")[1][:4] == b"RIFF"
    head, data = read(everything, "embedding", "embedding")
    assert data[: POINT_ROWS.nbytes] == POINT_ROWS.tobytes()
    labels = data[POINT_ROWS.nbytes : POINT_ROWS.nbytes + head.label_bytes]  # type: ignore[attr-defined]
    assert json.loads(labels) == [["a", "b", "c"]]
    rows = np.frombuffer(read(everything, "pr_curve", "curve")[1]).reshape(6, 5)
    assert rows[:4, 2].tolist() == [2, 0, 1, 0]  # at the threshold of one half
    assert np.frombuffer(read(everything, "confusion", "confusion")[1]).tolist() == [5, 1, 2, 7]
    head, _ = read(everything, "hparams", "hparams")
    assert head.hparams == {"lr": 0.1, "name": "adam", "big": True}  # type: ignore[attr-defined]
    assert head.metrics == {"acc": 0.5}  # type: ignore[attr-defined]

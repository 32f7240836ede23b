"""Records of runs: lists of them, their bytes, tensors, and histograms on common bins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import torcheer as tl
from tests.app.runs_page import RunsPage, page_on
from tests.run.handmade_part import HandmadePart
from torcheer.app.runs.run_records import array_of, evenly, resampled
from torcheer.errors import FileFormatError
from torcheer.run import HistogramHead, TensorHead
from torcheer.run.records import VideoHead


def only_run(page: RunsPage) -> str:
    return str(next(iter(page.all_runs(1).values()))["id"])


def records(page: RunsPage, run_id: str, kind: str, name: str, most: int = 100) -> list[dict[str, Any]]:
    answer = page.once("records", run_id=run_id, kind=kind, name=name, most=most).answer
    assert answer["type"] == "records", answer
    return list(answer["records"])


@given(num=st.integers(0, 500), most=st.integers(1, 60))
def test_a_choice_is_even_and_has_the_first_and_the_last(num: int, most: int) -> None:
    chosen = list(evenly(range(num), most))

    assert len(chosen) == min(num, most)
    assert sorted(set(chosen)) == chosen
    if chosen:
        assert chosen[-1] == num - 1
    if len(chosen) > 1:
        assert chosen[0] == 0
        gaps = np.diff(chosen)
        assert gaps.max() - gaps.min() <= 1


def test_records_come_with_their_heads_and_one_with_its_bytes(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        for step in (3, 1, 2):
            run.log_text(step, "words", f"at step {step}: <b>ü</b>")
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        found = records(page, run_id, "text", "words")
        assert [one["step"] for one in found] == [1, 2, 3]
        assert found[0]["head"] == {"kind": "text", "num_characters": len("at step 1: <b>ü</b>")}
        head, data = page.once("record", run_id=run_id, record=found[1]["record"])
        assert head["entry"] == found[1]
        assert data.decode() == "at step 2: <b>ü</b>"
        assert [one["step"] for one in records(page, run_id, "text", "words", 2)] == [1, 3]
        assert page.once("records", run_id=run_id, kind="text", name="words", most=2).answer["num_all"] == 3
        assert records(page, run_id, "text", "no such") == []
        assert records(page, run_id, "tensor", "words") == []


@pytest.mark.parametrize(
    "record", ["", ":", "rank-0:", "rank-0:99", "rank-9:1", "../x:1", "rank-0:-1", "a" * 256]
)
def test_a_record_that_is_not_there_is_refused_with_a_sentence(tmp_path: Path, record: str) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_text(0, "words", "x")
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        for record in ("", ":", "rank-0:", "rank-0:99", "rank-9:1", "../x:1", "rank-0:-1", "a" * 256):
            assert "thinned out or taken back" in page.refused("record", run_id=run_id, record=record)
            refusal = page.refused("run_tensor", run_id=run_id, record=record, window=None)
            assert "thinned out or taken back" in refusal
        assert "no longer in the folder" in page.refused("record", run_id="", record="rank-0:1")


def test_a_record_that_is_too_large_is_refused_with_the_way_to_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.runs.run_records.MAX_RECORD_BYTES", 1000)
    with tl.Run(tmp_path / "run") as run:
        run.log_text(0, "words", "x" * 1001)
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        (entry,) = records(page, run_id, "text", "words")
        assert "tl.open_run" in page.refused("record", run_id=run_id, record=entry["record"])


def test_heads_that_are_far_too_large_do_not_make_an_answer_so(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    frames = [0] * 50_000
    for step in range(60):
        head = VideoHead(width=1, height=1, frames_per_second=1.0, frame_bytes=frames)
        part.add_record("video", "film", head, b"", step=step)
    with page_on(tmp_path) as page:
        found = records(page, only_run(page), "video", "film")
    assert 1 < len(found) < 60
    assert (found[0]["step"], found[-1]["step"]) == (0, 59)


# --- tensors -----------------------------------------------------------------------------------------------

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 float8_e4m3fn".split()


def test_tensors_of_all_types_are_looked_at_as_those_of_a_pass_are(tmp_path: Path) -> None:
    torch.manual_seed(0)
    tensors = {name: (torch.randn(2, 3, 4) * 3).to(getattr(torch, name)) for name in DTYPES}
    tensors |= {"none": torch.empty(0, 5), "number": torch.tensor(7.0)}
    with tl.Run(tmp_path / "run") as run:
        for name, tensor in tensors.items():
            run.log_tensor(0, name, tensor)
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        for name, tensor in tensors.items():
            (entry,) = records(page, run_id, "tensor", name)
            answer, data = page.once("run_tensor", run_id=run_id, record=entry["record"], window=None)
            view = answer["view"]
            assert view["shape"] == list(tensor.shape)
            values = tensor.abs() if tensor.is_complex() else tensor
            expected = values.to(torch.float64).numpy()
            found = np.frombuffer(data, view["encoding"]).reshape(expected.shape)
            assert np.allclose(found, expected, rtol=1e-6), name
            if tensor.numel():
                assert view["max"] == pytest.approx(expected.max())
                assert sum(view["histogram"]) == tensor.numel()


def test_a_window_of_a_tensor_is_that_window(tmp_path: Path) -> None:
    values = np.arange(10_000.0).reshape(100, 100)
    with tl.Run(tmp_path / "run") as run:
        run.log_tensor(0, "w", values)
    window: dict[str, Any] = {"item": [], "first_tile": 0, "num_tiles": 1}
    window |= {
        "first_row": 5,
        "row_step": 10,
        "num_rows": 3,
        "first_column": 90,
        "column_step": 3,
        "num_columns": 4,
    }
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        (entry,) = records(page, run_id, "tensor", "w")
        for _ in range(2):  # the second time it is at hand
            _, data = page.once("run_tensor", run_id=run_id, record=entry["record"], window=window)
            assert np.array_equal(np.frombuffer(data, "<f8").reshape(3, 4), values[5:26:10, 90:100:3])
        window["num_rows"] = 100
        question = {"run_id": run_id, "record": entry["record"], "window": window}
        assert "reaches outside" in page.refused("run_tensor", **question)


def tensor_head(shape: list[int], dtype: str = "float32") -> TensorHead:
    return TensorHead(
        shape=shape, dtype=dtype, mean=0.0, std=0.0, min=0.0, max=1.0, num_zeros=0, num_nan=0, num_inf=0
    )


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (tensor_head([2**62, 2**62]), "damaged"),
        (tensor_head([5]), "damaged"),
        (tensor_head([-1, -4]), "no tensor has"),
        (tensor_head([1] * 70 + [4]), "no tensor has"),
        (tensor_head([4], "float99"), "cannot be shown"),
        (tensor_head([]), "damaged"),
    ],
)
def test_bytes_that_do_not_fit_a_head_are_no_tensor(head: TensorHead, words: str) -> None:
    """Nothing is allocated from what a head says."""
    with pytest.raises(FileFormatError, match=words):
        array_of(head, bytes(16))


def test_a_record_that_is_no_tensor_has_no_tensor(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_text(0, "words", "x")
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        (entry,) = records(page, run_id, "text", "words")
        assert "no tensor" in page.refused("run_tensor", run_id=run_id, record=entry["record"], window=None)


# --- histograms --------------------------------------------------------------------------------------------


@given(
    edges=st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), min_size=2, max_size=12).map(sorted),
    seed=st.integers(0, 2**16),
    num_bins=st.integers(1, 20),
)
def test_resampling_loses_and_invents_nothing(edges: list[float], seed: int, num_bins: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, len(edges) - 1).astype(float)
    span = (edges[0] - 1.0, edges[-1] + 1.0)
    row = resampled((np.array(edges), counts), span, num_bins)

    assert row.sum() == pytest.approx(counts.sum())
    assert (row >= -1e-9).all()


@given(num_bins=st.integers(1, 30), factor=st.integers(1, 5), seed=st.integers(0, 2**16))
def test_bins_that_are_put_together_hold_what_they_held(num_bins: int, factor: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, num_bins * factor).astype(float)
    edges = np.linspace(-3.0, 5.0, num_bins * factor + 1)

    expected = counts.reshape(num_bins, factor).sum(axis=1)
    assert np.allclose(resampled((edges, counts), (-3.0, 5.0), num_bins), expected, atol=1e-6)


def histograms(page: RunsPage, kind: str, name: str, num_steps: int = 50, num_bins: int = 20) -> Any:
    question = {"run_id": only_run(page), "kind": kind, "name": name}
    answer, data = page.once("histograms", **question, num_steps=num_steps, num_bins=num_bins)
    assert answer["type"] == "histograms", answer
    return answer, np.frombuffer(data).reshape(len(answer["steps"]), num_bins)


def test_histograms_over_time_stand_on_common_bins(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    with tl.Run(tmp_path / "run") as run:
        for step in range(10):
            run.log_histogram(step, "w", generator.normal(step, 1.0, 1000))
    with page_on(tmp_path) as page:
        answer, rows = histograms(page, "histogram", "w")
        assert (answer["steps"], answer["num_all"]) == (list(range(10)), 10)
        assert np.allclose(rows.sum(axis=1), 1000)
        middles = np.linspace(answer["low"], answer["high"], 41)[1::2]
        assert np.allclose(rows @ middles / 1000, np.arange(10), atol=0.3)
        answer, rows = histograms(page, "histogram", "w", num_steps=4)
        assert answer["steps"] == [0, 3, 6, 9]


def test_histograms_of_tensors_are_counted_from_their_values(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    tensors = [generator.normal(0.0, step + 1.0, (20, 30)).astype(np.float32) for step in range(4)]
    tensors[2][0, :3] = [np.nan, np.inf, -np.inf]
    with tl.Run(tmp_path / "run") as run:
        for step, tensor in enumerate(tensors):
            run.log_tensor(step, "w", tensor)
            run.log_tensor(step, "same", np.full(7, 3))
        run.log_tensor(0, "no number", np.full(3, np.nan))
        run.log_tensor(0, "huge", np.array([-1.7e308, 1.7e308]))
    with page_on(tmp_path) as page:
        for _ in range(2):  # the second time from what is known
            answer, rows = histograms(page, "tensor", "w")
            for tensor, row in zip(tensors, rows, strict=True):
                finite = tensor[np.isfinite(tensor)].astype(np.float64)
                expected = np.histogram(finite, bins=20, range=(answer["low"], answer["high"]))[0]
                assert np.array_equal(row, expected)
        answer, rows = histograms(page, "tensor", "same")
        assert answer["low"] < 3 < answer["high"]
        assert rows.sum(axis=1).tolist() == [7.0] * 4
        answer, rows = histograms(page, "tensor", "huge", num_bins=2)
        assert rows.tolist() == [[1.0, 1.0]]
        question = {"run_id": only_run(page), "kind": "tensor", "name": "no number"}
        assert "no histogram" in page.refused("histograms", **question, num_steps=5, num_bins=5)


def test_histograms_that_cannot_be_are_passed_over(tmp_path: Path) -> None:
    def head(num_bins: int) -> HistogramHead:
        return HistogramHead(
            num_bins=num_bins, num=3.0, min=0.0, max=2.0, sum=3.0, sum_squares=5.0, num_nan=0, num_inf=0
        )

    def numbers(*values: float) -> bytes:
        return np.array(values, dtype="<f8").tobytes()

    part = HandmadePart(tmp_path / "run")
    part.add_record("histogram", "w", head(2), numbers(0, 1, 2, 1, 2), step=1)
    part.add_record("histogram", "w", head(2), numbers(0, 1, 2, 1), step=2)  # a count is missing
    part.add_record("histogram", "w", head(2), numbers(2, 1, 0, 1, 2), step=3)  # its edges fall
    part.add_record("histogram", "w", head(2**60), numbers(0, 1, 2, 1, 2), step=4)
    part.add_record("histogram", "w", head(2), numbers(0, np.nan, 2, 1, 2), step=5)
    part.add_record("histogram", "w", head(2), numbers(0, 1, 2, 1, -2), step=6)
    part.add_record("histogram", "w", head(-1), b"", step=7)
    part.add_record("histogram", "w", head(3), numbers(-1e308, 1, 2, np.inf, 1, 2, 0), step=8)
    with page_on(tmp_path) as page:
        answer, rows = histograms(page, "histogram", "w", num_bins=2)
        assert answer["steps"] == [1, 8]
        assert rows.tolist() == [[1.0, 2.0], [1.0, 2.0]]
        assert (answer["low"], answer["high"]) == (0.0, 2.0)

"""Embeddings in two and three dimensions: right, in a process of their own, ended when nobody wants them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torcheer as tl
from tests.app.runs_page import ENDLESS, FAILING, RunsPage, page_on, started_processes
from tests.run.handmade_part import HandmadePart
from torcheer.analysis import principal_components
from torcheer.app import shared_analyses as projection
from torcheer.app.shared_analyses import Order, principal_places, reduce_points
from torcheer.run import EmbeddingHead


def points_of(num_points: int, num_dims: int, seed: int = 0) -> np.ndarray:
    """Two clouds, far from each other in the first dimension."""
    points = np.random.default_rng(seed).standard_normal((num_points, num_dims)).astype(np.float32)
    points[: num_points // 2, 0] += 30
    return points


def order_for(points: np.ndarray, method: str, **changes: Any) -> Order:
    given = {"method": method, "num_points": len(points), "num_dims": points.shape[1], "wanted_dims": 2}
    return Order(**(given | {"neighbours": 5.0, "metric": "euclidean"} | changes))


# --- the methods -------------------------------------------------------------------------------------------


@given(
    num_points=st.integers(4, 40),
    num_dims=st.integers(1, 12),
    wanted=st.sampled_from([2, 3]),
    seed=st.integers(0, 99),
)
def test_principal_places_are_those_of_the_singular_values(
    num_points: int, num_dims: int, wanted: int, seed: int
) -> None:
    points = (
        np.random.default_rng(seed).standard_normal((num_points, num_dims)) * np.arange(1, num_dims + 1) ** 2
    )
    places, share = principal_places(points.astype(np.float32), wanted)

    left, sizes, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    expected = np.zeros((num_points, wanted))
    count = min(wanted, len(sizes))
    expected[:, :count] = (left * sizes)[:, :count]
    # Axes may point either way.
    assert np.allclose(np.abs(places), np.abs(expected), atol=1e-4 * sizes[0])
    assert share == pytest.approx((sizes[:wanted] ** 2).sum() / (sizes**2).sum(), rel=1e-4)


def test_principal_places_of_very_many_dimensions_are_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of(50, 30) * np.linspace(5, 1, 30, dtype=np.float32)
    exact, exact_share = principal_places(points, 3)
    monkeypatch.setattr("torcheer.app.shared_analyses._MAX_SIDE", 20)
    places, share = principal_places(points, 3)

    assert np.allclose(places, exact, atol=1e-2 * np.abs(exact).max())
    assert share == pytest.approx(exact_share, rel=1e-4)


@pytest.mark.parametrize("method", ["pca", "tsne", pytest.param("umap", marks=pytest.mark.many)])
def test_clouds_that_are_apart_stay_apart(method: str) -> None:
    points = points_of(40, 60)
    said: list[tuple[float, str]] = []
    places, *_ = reduce_points(points, order_for(points, method), lambda *words: said.append(words))

    first, second = places[:20], places[20:]
    gap = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert gap > 2 * max(first.std(axis=0).max(), second.std(axis=0).max())
    assert all(0 <= progress <= 1 for progress, _ in said)
    if method != "pca":
        assert max(progress for progress, _ in said) > 0.4  # t-SNE may be content before the end


def test_the_same_question_has_the_same_answer() -> None:
    points = points_of(20, 5)
    first, second = (reduce_points(points, order_for(points, "tsne"), lambda *_: None)[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_coordinates_that_are_no_numbers_are_said() -> None:
    points = points_of(20, 5)
    points[3, 2] = np.nan
    points[4, 1] = np.inf
    places, note, _ = reduce_points(points, order_for(points, "pca"), lambda *_: None)

    assert np.isfinite(places).all()
    assert "2 points have NaN or infinity" in note


def test_angles_are_what_counts_for_cosine() -> None:
    points = points_of(20, 5) + 5
    order = order_for(points, "pca", metric="cosine")
    short, long = (
        reduce_points(points * scale, order, lambda *_: None)[0] for scale in (1.0, np.float32(100.0))
    )
    assert np.allclose(short, long, atol=1e-3)


# --- over the socket ---------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path: Path) -> Iterator[RunsPage]:
    with tl.Run(tmp_path / "run") as run:
        run.log_embedding(0, "space", points_of(50, 8), metadata=[str(number) for number in range(50)])
        run.log_text(0, "words", "x")
    with page_on(tmp_path) as page:
        yield page


def reduce_question(
    page: RunsPage, kind: str = "embedding", name: str = "space", **changes: Any
) -> dict[str, Any]:
    run_id = next(iter(page.all_runs(1).values()))["id"]
    (record,) = page.once("records", run_id=run_id, kind=kind, name=name, most=1).answer["records"]
    question: dict[str, Any] = {"run_id": run_id, "record": record["record"], "method": "pca", "num_dims": 2}
    return question | {"neighbours": 15, "metric": "euclidean"} | changes


def heard_until_done(page: RunsPage, number: int) -> tuple[list[Any], bytes]:
    answers = []
    while True:
        answer, data = page.hear(number)
        assert answer["type"] == "reduction", answer
        answers.append(answer)
        if answer["is_done"]:
            return answers, data
        assert data == b""


def test_points_come_back_in_fewer_dimensions_and_at_once_the_second_time(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = reduce_question(page, num_dims=3)
    answers, data = heard_until_done(page, page.begin("reduce", **question))
    assert (answers[-1]["num_points"], answers[-1]["num_dims"], answers[-1]["progress"]) == (50, 3, 1.0)
    places = np.frombuffer(data, "<f4").reshape(50, 3)
    expected, share = principal_places(points_of(50, 8), 3)
    # Axes may point either way.
    assert np.allclose(np.abs(places), np.abs(expected), atol=1e-3)
    assert sum(answers[-1]["shares"]) == pytest.approx(share, rel=1e-4)

    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: ("/no/such/program",))
    assert heard_until_done(page, page.begin("reduce", **question))[1] == data


def test_many_points_are_placed_as_few_are(page: RunsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    question = reduce_question(page, num_dims=8)
    here = heard_until_done(page, page.begin("reduce", **question))
    monkeypatch.setattr(projection, "_MOST_HERE", 0)
    there = heard_until_done(page, page.begin("reduce", **question | {"num_dims": 7}))
    few, many = (np.frombuffer(data, "<f4").reshape(50, -1) for _, data in (here, there))
    assert np.allclose(few[:, :7], many, atol=1e-4)
    assert np.allclose(here[0][-1]["shares"][:7], there[0][-1]["shares"], atol=1e-6)


def test_points_are_placed_on_the_axes_of_others(tmp_path: Path) -> None:
    first, then = points_of(40, 5), points_of(30, 5, seed=1) * 3
    then[2, 1] = np.nan
    with tl.Run(tmp_path / "run") as run:
        run.log_embedding(0, "space", first)
        run.log_embedding(1, "space", then)
        run.log_embedding(0, "flat", first[:, :2])
    with page_on(tmp_path) as page:
        question = reduce_question(page, num_dims=5)
        listed = page.once("records", run_id=question["run_id"], kind="embedding", name="space", most=9)
        axes, record = (one["record"] for one in listed.answer["records"])
        flat = reduce_question(page, name="flat")["record"]
        assert "other dimensions" in page.refused("reduce", **question | {"record": record, "axes_of": flat})
        on_axes = question | {"record": record, "axes_of": axes}
        answers, data = heard_until_done(page, page.begin("reduce", **on_axes))
    found = principal_components(first, 5)
    expected = (np.nan_to_num(then) - found.mean) @ found.axes.T
    assert answers[-1]["shares"] == []
    assert np.allclose(np.frombuffer(data, "<f4").reshape(30, 5), expected, atol=1e-3)


def test_what_cannot_be_reduced_is_refused_with_a_sentence(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = reduce_question(page)
    words = reduce_question(page, "text", "words")
    assert "no embedding" in page.refused("reduce", **words)
    assert "no longer in the folder" in page.refused("reduce", **question | {"run_id": "nowhere"})
    monkeypatch.setitem(projection.MAX_POINTS, "pca", 49)
    assert "49 is the most" in page.refused("reduce", **question)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for method in ("tsne", "umap"):
        assert "pip install 'torcheer[projector]'" in page.refused("reduce", **question | {"method": method})


def test_an_embedding_whose_bytes_do_not_fit_is_refused(tmp_path: Path) -> None:
    sizes = {"label_bytes": 0, "sprite_bytes": 0, "sprite_width": 0, "sprite_height": 0, "sprites_per_row": 0}
    part = HandmadePart(tmp_path / "run")
    for name, num_points in (("few", 3), ("wrong", 10)):
        head = EmbeddingHead(num_points=num_points, num_dims=2, columns=[], matrix_bytes=24, **sizes)
        part.add_record("embedding", name, head, bytes(24))
    with page_on(tmp_path) as page:
        few = reduce_question(page, name="few", method="tsne")
        assert "needs 4 points" in page.refused("reduce", **few)


def test_a_process_that_fails_is_said_to_have_failed(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    question = reduce_question(page, method="tsne")
    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: FAILING)
    assert "the server's log says why" in page.refused("reduce", **question)
    assert "a secret reason" in caplog.text


def test_a_reduction_ends_when_it_is_stopped_and_others_wait_for_it(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = started_processes(monkeypatch)
    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: ENDLESS)
    question = reduce_question(page, method="tsne")
    first = page.begin("reduce", **question)
    assert page.hear(first).answer["progress"] == 0.25
    second = page.begin("reduce", **question | {"num_dims": 3})
    assert "waits" in page.hear(second).answer["note"]
    assert len(processes) == 1
    page.stop(first)
    assert page.hear(second).answer["progress"] == 0.25
    assert processes[0].returncode is not None
    page.stop(second)
    while processes[1].returncode is None:
        page.once("passes")

"""Features over the socket: found, looked into, analysed in a process of their own, and kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from tests.app.runs_page import ENDLESS, FAILING, Heard, RunsPage, page_on, started_processes
from tests.features.making import made_features, write_rows
from torcheer.app.features import feature_answers
from torcheer.app.features import feature_sets as shelf
from torcheer.app.server import view
from torcheer.errors import TorcheerError
from torcheer.features import FolderStore

RANDOM = np.random.default_rng(7)
LABELS = np.repeat([2, 0, 1], 20)[RANDOM.permutation(60)]
CENTRES = RANDOM.normal(size=(3, 12)) * 2
FLAT = (CENTRES[LABELS] + RANDOM.normal(size=(60, 12))).astype(np.float32)
PLANES = RANDOM.normal(size=(60, 3, 4, 5)).astype(np.float32)
IDS = [f"image-{number:02d}" for number in range(60)]
LAYERS = {"conv.1": PLANES, "fc": FLAT}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name in (
        (feature_answers, "_LIST_SECONDS"),
        (feature_answers, "_SET_SECONDS"),
        (shelf, "_SCAN_SECONDS"),
    ):
        monkeypatch.setattr(where, name, 0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made_features(tmp_path / "deep" / "vgg", LAYERS, LABELS, IDS, model="VGG")
    return tmp_path


@pytest.fixture
def page(folder: Path) -> Iterator[RunsPage]:
    with page_on(folder) as opened:
        yield opened


def listed(page: RunsPage) -> list[Any]:
    number = page.begin("feature_sets")
    found = page.hear(number).answer
    page.stop(number)
    return list(found["sets"])


def set_id(page: RunsPage) -> str:
    (one,) = listed(page)
    return str(one["id"])


def followed(page: RunsPage, type: str, **question: Any) -> list[Heard]:
    """All answers up to the last one."""
    number = page.begin(type, **question)
    answers = []
    while True:
        heard = page.hear(number)
        assert heard.answer["type"] != "refusal", heard.answer
        answers.append(heard)
        if heard.answer["is_done"]:
            page.stop(number)
            return answers


def matrix(data: bytes, side: int) -> np.ndarray:
    return np.frombuffer(data, "<f4").reshape(side, side)


# --- what is there -----------------------------------------------------------------------------------------


def test_a_folder_with_very_many_others_hides_no_set_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.run.read.run_folders._MAX_FOLDERS", 10)
    for number in range(20):
        (folder / "data" / "images" / f"class-{number}").mkdir(parents=True)

    assert [one.name for one in shelf.find_features(folder)] == ["deep/vgg"]


def test_sets_are_found_below_a_folder_and_told_with_how_far_they_are(folder: Path) -> None:
    made_features(folder / "second", {"fc": FLAT}, num_done=32)
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.json").write_text('{"format": "torcheer-features", "version": 9}')
    (folder / "other").mkdir()
    (folder / "other" / "manifest.json").write_text('{"format": "something else"}')
    with page_on(folder) as page:
        by_name = {one["name"]: one for one in listed(page)}
    assert sorted(by_name) == ["broken", "deep/vgg", "second"]
    whole, part = by_name["deep/vgg"], by_name["second"]
    assert (whole["model"], whole["num_layers"], whole["num_samples"], whole["num_done"]) == (
        "VGG",
        2,
        60,
        60,
    )
    assert whole["is_complete"]
    assert whole["num_bytes"] >= PLANES.nbytes + FLAT.nbytes
    assert (part["num_done"], part["num_samples"], part["is_complete"]) == (32, 60, False)
    assert "version 9" in by_name["broken"]["note"]


def test_a_folder_that_is_a_set_itself_is_shown(folder: Path) -> None:
    with page_on(folder / "deep" / "vgg") as page:
        (one,) = listed(page)
    assert one["name"] == "vgg"


def test_a_set_in_zarr_is_found_and_analysed_as_any_other(tmp_path: Path) -> None:
    made_features(tmp_path / "below" / "vgg.zarr", LAYERS, LABELS)
    with page_on(tmp_path) as page:
        (one,) = listed(page)
        assert (one["name"], one["storage"], one["num_done"]) == ("below/vgg.zarr", "zarr", 60)
        answer, data = page.once("feature_map", set_id=one["id"], layer=1, num_rows=60, num_columns=12)
        assert np.array_equal(np.frombuffer(data, "<f4").reshape(60, 12), FLAT[answer["rows"]["samples"]])
        (*_, (answer, data)) = followed(
            page, "feature_similarity", set_id=one["id"], layer=1, metric="correlation", most=60
        )
        assert np.allclose(matrix(data, 60), np.corrcoef(FLAT[answer["rows"]["samples"]]), atol=1e-5)


def test_urls_are_places_for_features_and_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "pass.safetensors").write_bytes(b"")
    assert shelf.shelf_of([tmp_path / "pass.safetensors"]) is None
    found = shelf.shelf_of(["memory://bucket/vgg", "memory://bucket/vgg"])
    assert found is not None
    assert [one.place.name for one in found.sets().values()] == ["vgg"]


def test_a_url_that_leads_nowhere_is_said_before_a_page_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TorcheerError, match="no features at memory://nowhere"):
        view(["memory://nowhere"], open_browser=False)

    def fails(url: str) -> None:
        raise RuntimeError("no way there")

    monkeypatch.setattr("torcheer.app.server.open_features", fails)
    with pytest.raises(TorcheerError, match="s3://bucket/vgg cannot be read: RuntimeError: no way there"):
        view(["s3://bucket/vgg"], open_browser=False)


def test_a_folder_without_features_has_none_and_says_so(tmp_path: Path) -> None:
    with page_on(tmp_path) as page:
        assert listed(page) == []
        assert "no longer here" in page.refused("feature_set", set_id="nowhere")


def test_the_layers_of_a_set_are_told_with_their_shapes_and_sizes(folder: Path) -> None:
    origins = {"conv.1": {"label": "conv2d_1_1", "address": "conv.1", "transforms": ("mean over y",)}}
    made_features(folder / "told", LAYERS, LABELS, origins=origins, dims={"conv.1": ("channel", "y", "x")})
    with page_on(folder / "told") as page:
        answer = page.hear(page.begin("feature_set", set_id=set_id(page))).answer
    conv, fc = answer["layers"]
    assert (conv["name"], conv["label"], conv["shape"]) == ("conv.1", "conv2d_1_1", [3, 4, 5])
    assert (conv["dims"], conv["transforms"]) == (["channel", "y", "x"], ["mean over y"])
    assert (conv["num_units"], conv["num_bytes"], conv["dtype"]) == (60, PLANES.nbytes, "float32")
    assert fc["num_units"] == 12
    assert (answer["label_kind"], answer["labels"]) == ("classes", ["0", "1", "2"])


def test_a_page_hears_of_samples_as_they_are_extracted(tmp_path: Path) -> None:
    features = made_features(tmp_path / "set", LAYERS, LABELS, num_done=32)
    with page_on(tmp_path) as page:
        number = page.begin("feature_set", set_id=set_id(page))
        assert page.hear(number).answer["listing"]["num_done"] == 32
        store = FolderStore(tmp_path / "set")
        write_rows(store, features.manifest, {**LAYERS, "labels": LABELS}, 32, 60)
        while not (heard := page.hear(number).answer["listing"])["is_complete"]:
            pass
        assert heard["num_done"] == 60


# --- values ------------------------------------------------------------------------------------------------


def test_the_map_holds_samples_sorted_by_label_with_as_many_of_each(page: RunsPage) -> None:
    answer, data = page.once("feature_map", set_id=set_id(page), layer=0, num_rows=12, num_columns=20)
    rows = answer["rows"]
    samples = rows["samples"]
    assert LABELS[samples].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert rows["label_of"] == LABELS[samples].tolist()
    assert rows["ids"] == [IDS[sample] for sample in samples]
    assert (rows["num_done"], answer["num_units"]) == (60, 60)
    expected = PLANES.reshape(60, -1)[samples][:, answer["units"]]
    assert np.array_equal(np.frombuffer(data, "<f4").reshape(12, 20), expected)
    assert (answer["low"], answer["high"]) == (float(expected.min()), float(expected.max()))


def test_a_unit_and_a_sample_are_what_was_stored(page: RunsPage) -> None:
    which = set_id(page)
    answer, data = page.once("feature_unit", set_id=which, layer=0, num_rows=60, unit=27)
    assert answer["place"] == [1, 1, 2]
    assert np.array_equal(np.frombuffer(data, "<f4"), PLANES[answer["rows"]["samples"], 1, 1, 2])
    answer, data = page.once("feature_sample", set_id=which, layer=0, sample=33)
    assert (answer["name"], answer["label"], answer["shape"]) == ("image-33", str(LABELS[33]), [3, 4, 5])
    assert np.array_equal(np.frombuffer(data, "<f4"), PLANES[33].ravel())
    assert answer["mean"] == pytest.approx(float(PLANES[33].mean()), rel=1e-5)


def test_samples_that_are_not_there_yet_are_in_no_picture(tmp_path: Path) -> None:
    made_features(tmp_path / "set", LAYERS, LABELS, num_done=32)
    with page_on(tmp_path) as page:
        which = set_id(page)
        answer, _ = page.once("feature_map", set_id=which, layer=1, num_rows=60, num_columns=12)
        assert sorted(answer["rows"]["samples"]) == list(range(32))
        assert answer["rows"]["num_done"] == 32
        assert "not extracted yet" in page.refused("feature_sample", set_id=which, layer=1, sample=40)
        (*_, last) = followed(page, "feature_similarity", set_id=which, layer=1, metric="cosine", most=50)
        assert sorted(last.answer["rows"]["samples"]) == list(range(32))


def test_what_cannot_be_is_refused_with_a_sentence(page: RunsPage) -> None:
    which = set_id(page)
    assert "2 layers" in page.refused("feature_map", set_id=which, layer=7, num_rows=4, num_columns=4)
    assert "0 to 11" in page.refused("feature_unit", set_id=which, layer=1, num_rows=4, unit=12)
    assert "no sample 60" in page.refused("feature_sample", set_id=which, layer=1, sample=60)
    assert "cannot be read" in page.refused(
        "feature_map", set_id=which, layer=1, num_rows=5000, num_columns=4
    )
    assert "no longer here" in page.refused("feature_map", set_id="x", layer=1, num_rows=4, num_columns=4)


def test_without_labels_there_is_nothing_to_probe(tmp_path: Path) -> None:
    made_features(tmp_path / "set", {"fc": FLAT})
    with page_on(tmp_path) as page:
        which = set_id(page)
        said = page.refused("feature_probes", set_id=which, layers=[0], kind="ridge", folds=3, most=60)
        assert "no labels" in said
        answer, _ = page.once("feature_map", set_id=which, layer=0, num_rows=60, num_columns=12)
        assert answer["rows"]["samples"] == list(range(60))
        assert answer["rows"]["labels"] == []


# --- analyses ----------------------------------------------------------------------------------------------


def test_similarity_is_the_correlation_of_samples_and_labels_have_a_contrast(page: RunsPage) -> None:
    (*_, (answer, data)) = followed(
        page, "feature_similarity", set_id=set_id(page), layer=1, metric="correlation", most=30
    )
    samples = answer["rows"]["samples"]
    assert LABELS[samples].tolist() == [0] * 10 + [1] * 10 + [2] * 10
    expected = np.corrcoef(FLAT[samples].astype(np.float64))
    assert np.allclose(matrix(data, 30), expected, atol=1e-5)
    same = LABELS[samples][:, None] == LABELS[samples]
    within = expected[same & ~np.eye(30, dtype=bool)].mean()
    assert answer["contrast"]["within"] == pytest.approx(within, abs=1e-5)
    assert answer["contrast"]["between"] == pytest.approx(expected[~same].mean(), abs=1e-5)


def test_samples_with_nan_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    values = FLAT.copy()
    values[[3, 9], 0] = np.nan
    made_features(tmp_path / "set", {"fc": values}, LABELS)
    with page_on(tmp_path) as page:
        (*_, (answer, data)) = followed(
            page, "feature_similarity", set_id=set_id(page), layer=0, metric="euclidean", most=60
        )
    assert "2 samples hold NaN" in answer["note"]
    samples = answer["rows"]["samples"]
    assert sorted(samples) == [one for one in range(60) if one not in (3, 9)]
    apart = np.linalg.norm(FLAT[samples][:, None] - FLAT[samples], axis=2)
    assert np.allclose(matrix(data, 58), apart, atol=1e-4)


def test_layers_are_compared_by_how_they_order_pairs(page: RunsPage) -> None:
    question = {
        "set_id": set_id(page),
        "layers": [0, 1],
        "method": "rsa",
        "metric": "correlation",
        "most": 60,
    }
    (*_, (answer, data)) = followed(page, "feature_layers", **question)
    assert (answer["layers"], answer["num_samples"]) == ([0, 1], 60)
    vectors = [pdist(values.reshape(60, -1).astype(np.float64), "correlation") for values in (PLANES, FLAT)]
    expected = spearmanr(*vectors).statistic
    assert np.allclose(matrix(data, 2), [[1, expected], [expected, 1]], atol=1e-5)
    (*_, (answer, data)) = followed(page, "feature_layers", **question | {"method": "cka"})
    assert np.allclose(np.diagonal(matrix(data, 2)), 1)


def probe_question(page: RunsPage, **changes: Any) -> dict[str, Any]:
    return {"set_id": set_id(page), "layers": [0, 1], "kind": "ridge", "folds": 4, "most": 60} | changes


def test_probes_come_layer_by_layer_and_at_once_the_second_time(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [heard.answer for heard in followed(page, "feature_probes", **probe_question(page))]
    with_some = [[probe["layer"] for probe in answer["probes"]] for answer in answers if answer["probes"]]
    assert with_some == [[0], [1]]
    noise, good = (answer["probes"][0] for answer in answers if answer["probes"])
    assert (good["metric"], good["num_samples"], good["num_units"]) == ("accuracy", 60, 12)
    assert good["chance"] == pytest.approx(1 / 3)
    assert good["mean"] == pytest.approx(np.mean(good["scores"]))
    assert len(good["scores"]) == 4
    assert good["mean"] > 0.9 > noise["mean"]
    assert np.array(good["confusion"]).sum(axis=1).tolist() == [20, 20, 20]
    assert np.trace(good["confusion"]) / 60 == pytest.approx(good["mean"])

    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: ("/no/such/program",))
    (only,) = followed(page, "feature_probes", **probe_question(page))
    assert [probe["mean"] for probe in only.answer["probes"]] == [noise["mean"], good["mean"]]


def test_features_that_are_extracted_anew_are_analysed_anew(folder: Path) -> None:
    question = {"layer": 0, "metric": "cosine", "most": 60}
    with page_on(folder) as page:
        which = set_id(page)
        (*_, before) = followed(page, "feature_similarity", set_id=which, **question)
        shutil.rmtree(folder / "deep" / "vgg")
        made_features(folder / "deep" / "vgg", {"other": PLANES * PLANES}, LABELS, model="Another")
        (*_, after) = followed(page, "feature_similarity", set_id=which, **question)
    assert before.data != after.data


def test_a_process_that_fails_is_said_to_have_failed(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: FAILING)
    said = page.refused("feature_similarity", set_id=set_id(page), layer=0, metric="cosine", most=60)
    assert "the server's log says why" in said
    assert "a secret reason" in caplog.text


def test_an_analysis_ends_when_the_page_no_longer_wants_it(
    page: RunsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = started_processes(monkeypatch)
    monkeypatch.setattr("torcheer.app.processes.command_of", lambda module: ENDLESS)
    number = page.begin("feature_similarity", set_id=set_id(page), layer=0, metric="cosine", most=60)
    assert page.hear(number).answer["progress"] == 0.25
    page.stop(number)
    while processes[0].returncode is None:
        page.once("passes")


# --- points ------------------------------------------------------------------------------------------------


def test_samples_come_as_points_with_their_labels_and_in_fewer_dimensions(page: RunsPage) -> None:
    which = set_id(page)
    (*_, (answer, data)) = followed(page, "feature_points", set_id=which, layer=1, most=60)
    head = answer["head"]
    assert (head["num_points"], head["num_dims"], head["columns"]) == (60, 12, ["label", "sample"])
    points = np.frombuffer(data[: head["matrix_bytes"]], "<f4").reshape(60, 12)
    labels, names = json.loads(data[head["matrix_bytes"] :])
    numbers = [IDS.index(name) for name in names]
    assert np.array_equal(points, FLAT[numbers])
    assert labels == [str(one) for one in LABELS[numbers]]
    question = {"method": "pca", "num_dims": 2, "neighbours": 5, "metric": "euclidean"}
    (*_, (answer, data)) = followed(page, "feature_reduce", set_id=which, layer=1, most=60, **question)
    centred = points - points.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred.astype(np.float64), full_matrices=False)
    assert np.allclose(
        np.abs(np.frombuffer(data, "<f4").reshape(60, 2)), np.abs(left * sizes)[:, :2], atol=1e-3
    )


def test_layers_of_many_units_are_brought_to_their_principal_axes(tmp_path: Path) -> None:
    wide = RANDOM.normal(size=(40, 3)).astype(np.float32) @ RANDOM.normal(size=(3, 700)).astype(np.float32)
    made_features(tmp_path / "set", {"wide": wide})
    with page_on(tmp_path) as page:
        (*_, (answer, data)) = followed(page, "feature_points", set_id=set_id(page), layer=0, most=40)
    assert "700 units" in answer["note"]
    assert "100% of the variance" in answer["note"]
    head = answer["head"]
    points = np.frombuffer(data[: head["matrix_bytes"]], "<f4").reshape(40, head["num_dims"])
    # On all axes that there are, no two points come nearer to one another.
    assert np.allclose(pdist(points), pdist(wide), rtol=1e-3, atol=1e-2)

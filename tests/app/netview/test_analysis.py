"""The analysis as a page gets it, against NumPy, SciPy and scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

import torcheer as tl
from tests.app.net_runs import AskedRun, layer, scene
from tests.app.runs_page import page_on
from tests.app.serving import take_apart
from tests.app.watched_runs import only_id
from torcheer.app.netview import net_analysis
from torcheer.app.netview import net_messages as messages
from torcheer.app.netview.net_analysis import Analyses
from torcheer.errors import InputError

RANDOM = np.random.default_rng(7)
CLASSES = np.array([2, 10, 2, 1, 10, 1, 2, 10])
IMAGES = RANDOM.normal(size=(8, 2, 4, 3)).astype(np.float32)
HIDDEN = (RANDOM.normal(size=(8, 6)) + 3 * RANDOM.normal(size=(11, 6))[CLASSES]).astype(np.float32)


class Asked:
    """Answers without a socket."""

    def __init__(self, path: Path, **choice: Any) -> None:
        self.asked = AskedRun(path)
        self.analyses = Analyses(self.asked.nets)
        plain: dict[str, Any] = {"variable": "Act", "scope": "batch", "step": 0, "item": 0, "most": 1024}
        self.choice = plain | {"labels": ""} | choice

    def __call__(self, kind: str, choice: Any = (), **more: Any) -> tuple[dict[str, Any], np.ndarray]:
        wanted = messages.NetItemChoice(**(self.choice | dict(choice)))
        question = getattr(messages, kind)(id=7, run_id="a", rank=0, choice=wanted, **more)
        frame = self.analyses.answers[type(question)](self.asked.run, question)
        if isinstance(frame, str):
            return dict(json.loads(frame)), np.empty(0)
        head, data = take_apart(frame)
        return head, np.frombuffer(data, np.uint8)


def floats(data: np.ndarray) -> np.ndarray:
    return data.view("<f4").astype(float)


def a_batch(path: Path) -> Path:
    with tl.Run(path) as run:
        run.log_netview(0, scene(layer("image", 2, 4, 3, is_input=True), layer("fc", 6)))
        run.log_tensor(0, "image.Act", IMAGES)
        run.log_tensor(0, "fc.Act", HIDDEN)
        run.log_tensor(0, "labels", CLASSES)
        run.log_moment(0, {"name": "first"})
    return path


def some_moments(path: Path, num_moments: int = 12) -> tuple[Path, np.ndarray]:
    values = RANDOM.normal(size=(num_moments, 3, 5)).astype(np.float32)
    with tl.Run(path) as run:
        for step, batch in enumerate(values):
            run.log_tensor(2 * step, "fc.Act", batch)
            run.log_moment(2 * step, {"trial": "ab"[step % 2], "epoch": step // 4})
    return path, values


# --- items and labels ------------------------------------------------------------------------------


def test_the_items_of_a_batch_have_the_labels_of_a_tensor_in_the_order_of_their_numbers(
    tmp_path: Path,
) -> None:
    head, _ = Asked(a_batch(tmp_path), labels="tensor:labels")("NetItemsQuestion")
    assert (head["steps"], head["items"]) == ([0] * 8, list(range(8)))
    assert head["labels"] == ["1", "2", "10"]
    assert [head["labels"][at] for at in head["label_of"]] == [str(one) for one in CLASSES]
    assert [one["key"] for one in head["label_choices"]] == ["tensor:labels", "counter:name", "item:"]


def test_moments_are_items_with_a_counter_as_their_label(tmp_path: Path) -> None:
    path, _ = some_moments(tmp_path)
    asked = Asked(path, scope="moments", step=15, item=1, labels="counter:trial")
    head, _ = asked("NetItemsQuestion")
    assert head["steps"] == list(range(0, 16, 2))
    assert (set(head["items"]), head["labels"], head["label_of"]) == ({1}, ["a", "b"], [0, 1] * 4)
    assert {"counter:trial", "counter:epoch", "moment:"} <= {one["key"] for one in head["label_choices"]}
    assert head["note"] == ""


def test_all_items_of_all_moments_are_taken_or_evenly_some_of_them(tmp_path: Path) -> None:
    path, _ = some_moments(tmp_path)
    asked = Asked(path, scope="all", step=99, labels="item:")
    head, _ = asked("NetItemsQuestion")
    assert (len(head["steps"]), head["items"][:4], head["labels"]) == (36, [0, 1, 2, 0], ["0", "1", "2"])
    head, _ = asked("NetItemsQuestion", {"most": 9})
    assert head["steps"] == [0, 0, 0, 12, 12, 12, 22, 22, 22]
    assert "3 of 12 moments" in head["note"]


def test_a_line_of_text_is_the_label_of_each_item_and_what_has_none_says_so(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(3, "fc.Act", np.eye(3))
        run.log_text(1, "classes", "cat\ndog")
    head, _ = Asked(tmp_path, step=3, labels="text:classes")("NetItemsQuestion")
    assert [head["labels"][at] for at in head["label_of"]] == ["cat", "dog", "(none)"]
    assert head["label_choices"][0]["key"] == "text:classes"


def test_a_text_of_any_name_with_a_line_for_each_item_is_offered(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(3, "fc.Act", np.eye(3))
        run.log_text(0, "notes", "a training\nof two lines")
        run.log_text(0, "animal", "cat\ndog\ncat")
    head, _ = Asked(tmp_path, step=3)("NetItemsQuestion")
    assert [one["key"] for one in head["label_choices"] if one["key"].startswith("text:")] == ["text:animal"]


def test_what_cannot_be_chosen_is_refused_with_what_to_do(tmp_path: Path) -> None:
    asked = Asked(a_batch(tmp_path))
    with pytest.raises(InputError, match="no labels 'colour'"):
        asked("NetItemsQuestion", {"labels": "colour"})
    for missing in ("text:gone", "tensor:gone", "counter:gone", "tensor:image.Act"):
        assert asked("NetItemsQuestion", {"labels": missing})[0]["labels"] == ["(none)"]
    with pytest.raises(InputError, match=r"nothing of Net was recorded.*another variable"):
        asked("NetItemsQuestion", {"variable": "Net"})
    with pytest.raises(InputError, match="no layer 'z'"):
        asked("NetSimilarityQuestion", layer="z", metric="cosine")
    with pytest.raises(InputError, match="tuning needs labels"):
        asked("NetTuningQuestion", layer="fc")
    with pytest.raises(InputError, match="6 units: there is no unit 6"):
        asked("NetUnitTuningQuestion", layer="fc", unit=6)


# --- similarity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["correlation", "cosine", "euclidean"])
def test_similarity_and_its_tree_are_those_of_scipy(tmp_path: Path, metric: str) -> None:
    asked = Asked(a_batch(tmp_path), labels="tensor:labels")
    head, data = asked("NetSimilarityQuestion", layer="fc", metric=metric)
    tree = data[: 7 * 4 * 8].view("<f8").reshape(7, 4)
    values = floats(data[7 * 4 * 8 :]).reshape(8, 8)
    distances = squareform(pdist(HIDDEN.astype(float), metric))
    assert np.allclose(values if metric == "euclidean" else 1 - values, distances, atol=1e-5)
    assert np.allclose(tree[:, 2], hierarchy.average(squareform(distances, checks=False))[:, 2], atol=1e-5)
    assert CLASSES[head["by_label"]].tolist() == sorted(CLASSES)
    assert sorted(head["by_tree"]) == head["leaves"] == head["places"] == list(range(8))
    same = CLASSES[:, None] == CLASSES
    others = ~np.eye(8, dtype=bool)
    assert head["contrast"]["within"] == pytest.approx(values[same & others].mean(), abs=1e-5)
    assert head["contrast"]["between"] == pytest.approx(values[~same].mean(), abs=1e-5)
    assert head["contrast"]["contrast"] > 0


def test_layers_are_held_against_each_other_by_the_ranks_of_their_pairs(tmp_path: Path) -> None:
    asked = Asked(a_batch(tmp_path), labels="tensor:labels")
    layers = ["image", "gone", "fc"]
    head, data = asked("NetLikenessQuestion", layers=layers, metric="correlation")
    values = floats(data).reshape(3, 3)
    pairs = [pdist(points.reshape(8, -1).astype(float), "correlation") for points in (IMAGES, HIDDEN)]
    assert values[0, 2] == values[2, 0] == pytest.approx(spearmanr(*pairs).statistic, abs=1e-6)
    assert (values[0, 0], values[2, 2]) == pytest.approx((1, 1))
    assert np.isnan(values[1]).all()
    assert "no layer 'gone'" in head["layers"][1]["why"]
    assert head["layers"][2]["contrast"]["contrast"] > head["layers"][0]["contrast"]["contrast"]


def test_layers_of_which_fewer_items_were_recorded_are_compared_by_those_that_both_have(
    tmp_path: Path,
) -> None:
    other = RANDOM.normal(size=(5, 9))
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "fc.Act", HIDDEN)
        run.log_tensor(0, "few.Act", other)
    asked = Asked(tmp_path)
    head, _ = asked("NetSimilarityQuestion", layer="few", metric="cosine")
    assert (head["places"], head["contrast"]) == ([0, 1, 2, 3, 4], None)
    assert "3 of 8 items were not recorded" in head["note"]
    _, data = asked("NetLikenessQuestion", layers=["fc", "few"], metric="cosine")
    pairs = [pdist(points.astype(float), "cosine") for points in (HIDDEN[:5], other)]
    assert floats(data)[1] == pytest.approx(spearmanr(*pairs).statistic, abs=1e-6)


def test_items_with_nan_are_left_out_and_silent_ones_are_in_no_tree(tmp_path: Path) -> None:
    points = HIDDEN.copy()
    points[2, 3] = np.nan
    points[5] = 4.0
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "fc.Act", points)
    asked = Asked(tmp_path)
    head, data = asked("NetSimilarityQuestion", layer="fc", metric="correlation")
    assert head["places"] == [0, 1, 3, 4, 5, 6, 7]
    assert head["leaves"] == [0, 1, 3, 4, 6, 7]
    assert "1 of 8 items hold NaN" in head["note"]
    assert "1 item has no correlation" in head["note"]
    values = floats(data[5 * 4 * 8 :]).reshape(7, 7)
    assert np.isnan(values[4]).all()
    assert np.isfinite(np.delete(np.delete(values, 4, 0), 4, 1)).all()


def test_rows_of_moments_are_those_that_were_recorded_at_just_these(tmp_path: Path) -> None:
    path, values = some_moments(tmp_path)
    asked = Asked(path, scope="moments", step=99, item=2)
    _, data = asked("NetSimilarityQuestion", layer="fc", metric="euclidean")
    wanted = squareform(pdist(values[:, 2].astype(float)))
    assert np.allclose(floats(data[11 * 32 :]).reshape(12, 12), wanted, atol=1e-5)
    _, data = asked("NetSimilarityQuestion", {"scope": "all"}, layer="fc", metric="euclidean")
    wanted = squareform(pdist(values.reshape(36, 5).astype(float)))
    assert np.allclose(floats(data[35 * 32 :]).reshape(36, 36), wanted, atol=1e-5)


def test_a_moment_that_is_written_anew_is_not_answered_from_what_was_kept(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "fc.Act", HIDDEN)
        run.flush()
        asked = Asked(tmp_path)
        _, before = asked("NetSimilarityQuestion", layer="fc", metric="euclidean")
        run.log_tensor(0, "fc.Act", 2 * HIDDEN)
        run.flush()
        asked.asked.look_anew()
        _, after = asked("NetSimilarityQuestion", layer="fc", metric="euclidean")
    assert np.allclose(floats(after[224:]), 2 * floats(before[224:]), rtol=1e-5)


# --- components, tuning, fields ----------------------------------------------------------------------


def test_components_are_those_of_scikit_learn(tmp_path: Path) -> None:
    head, data = Asked(a_batch(tmp_path))("NetComponentsQuestion", layer="image", num_components=3)
    wanted = PCA(3).fit(IMAGES.reshape(8, -1))
    assert head["shares"] == pytest.approx(wanted.explained_variance_ratio_, rel=1e-4)
    places = floats(data).reshape(8, 3)
    assert np.allclose(np.abs(places), np.abs(wanted.transform(IMAGES.reshape(8, -1))), atol=1e-4)


def test_tuning_is_the_mean_for_each_label(tmp_path: Path) -> None:
    asked = Asked(a_batch(tmp_path), labels="tensor:labels")
    means = np.array([HIDDEN[one == CLASSES].mean(axis=0, dtype=float) for one in (1, 2, 10)])
    head, data = asked("NetTuningQuestion", layer="fc")
    best, selectivity, _ = floats(data).reshape(3, head["num_units"])
    assert best.astype(int).tolist() == means.argmax(axis=0).tolist()
    others = (means.sum(axis=0) - means.max(axis=0)) / 2
    wanted = (means.max(axis=0) - others) / (np.abs(means.max(axis=0)) + np.abs(others))
    assert np.allclose(selectivity, wanted, atol=1e-5)
    head, data = asked("NetUnitTuningQuestion", layer="fc", unit=4)
    responses, of_labels, d_primes = np.split(floats(data), [8, 11])
    assert np.allclose(responses, HIDDEN[:, 4])
    assert np.allclose(of_labels, means[:, 4], atol=1e-5)
    assert head["counts"] == [2, 3, 3]
    one, rest = HIDDEN[CLASSES == 2, 4].astype(float), HIDDEN[CLASSES != 2, 4].astype(float)
    wanted = (one.mean() - rest.mean()) / np.sqrt((one.var(ddof=1) + rest.var(ddof=1)) / 2)
    assert d_primes[1] == pytest.approx(wanted, rel=1e-5)


def test_a_silent_unit_prefers_no_label(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "fc.Act", np.concatenate([HIDDEN[:, :1], np.zeros((8, 1))], axis=1))
        run.log_tensor(0, "labels", CLASSES)
    _, data = Asked(tmp_path, labels="tensor:labels")("NetTuningQuestion", layer="fc")
    assert np.isnan(floats(data).reshape(3, 2)[0]).tolist() == [False, True]


def test_a_unit_without_labels_has_its_responses_alone(tmp_path: Path) -> None:
    head, data = Asked(a_batch(tmp_path))("NetUnitTuningQuestion", layer="fc", unit=0)
    assert np.allclose(floats(data), HIDDEN[:, 0])
    assert head["counts"] == []


def test_a_receptive_field_is_the_mean_of_the_source_by_response(tmp_path: Path) -> None:
    asked = Asked(a_batch(tmp_path))
    more = {"layer": "fc", "unit": 1, "source": "image", "above": "zero"}
    head, data = asked("NetFieldQuestion", minus_mean=False, **more)
    shares = np.maximum(HIDDEN[:, 1].astype(float), 0)
    wanted = (shares @ IMAGES.reshape(8, -1)) / shares.sum()
    assert np.allclose(floats(data), wanted, atol=1e-5)
    assert (head["num_units"], head["num_responses"]) == (24, int((shares > 0).sum()))
    assert (head["low"], head["high"]) == pytest.approx((wanted.min(), wanted.max()), abs=1e-5)
    _, data = asked("NetFieldQuestion", minus_mean=True, **more)
    assert np.allclose(floats(data), wanted - IMAGES.reshape(8, -1).mean(axis=0), atol=1e-5)
    head, data = asked("NetFieldQuestion", minus_mean=False, **(more | {"above": "mean"}))
    shares = np.maximum(HIDDEN[:, 1] - HIDDEN[:, 1].mean(dtype=float), 0)
    assert np.allclose(floats(data), (shares @ IMAGES.reshape(8, -1)) / shares.sum(), atol=1e-5)
    assert head["num_responses"] == int((shares > 0).sum())


def test_a_unit_that_never_responds_has_no_field(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "image.Act", IMAGES)
        run.log_tensor(0, "fc.Act", -np.abs(HIDDEN))
    more = {"layer": "fc", "unit": 0, "source": "image", "above": "zero", "minus_mean": False}
    head, data = Asked(tmp_path)("NetFieldQuestion", **more)
    assert np.isnan(floats(data)).all()
    assert (head["num_responses"], head["low"], head["high"]) == (0, None, None)


# --- sizes -------------------------------------------------------------------------------------------


def test_what_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(a_batch(tmp_path), labels="tensor:labels")
    monkeypatch.setattr(net_analysis, "_MOST_MEANS", 10)
    with pytest.raises(InputError, match=r"tuning of 6 units to 3 labels.*smaller layer"):
        asked("NetTuningQuestion", layer="fc")
    monkeypatch.setattr(net_analysis, "_MOST_LIKENESS_BYTES", IMAGES.nbytes)
    head, _ = asked("NetLikenessQuestion", layers=["image", "fc"], metric="cosine")
    assert head["layers"][0]["why"] == ""
    assert "choose fewer items" in head["layers"][1]["why"]
    monkeypatch.setattr(net_analysis, "MAX_BYTES", HIDDEN.nbytes - 1)
    monkeypatch.setattr(Analyses, "_rows", None)
    with pytest.raises(InputError, match=r"8 items of 'fc', with 6 units each, take .* choose fewer items"):
        asked("NetSimilarityQuestion", layer="fc", metric="cosine")


def test_one_item_is_not_compared_with_anything(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "fc.Act", HIDDEN[:1])
    with pytest.raises(InputError, match=r"one item.*two at least.*moments as items"):
        Asked(tmp_path)("NetSimilarityQuestion", layer="fc", metric="cosine")


def test_a_page_asks_through_its_socket_and_is_told_why_not(tmp_path: Path) -> None:
    a_batch(tmp_path / "run")
    choice = {"variable": "Act", "scope": "batch", "step": 0, "item": 0, "most": 100, "labels": ""}
    with page_on(tmp_path) as page:
        of_run = {"run_id": only_id(page), "rank": 0}
        head, data = page.once("net_similarity", choice=choice, layer="fc", metric="cosine", **of_run)
        assert head["type"] == "net_similarity"
        assert len(data) == 7 * 32 + 64 * 4
        refused = page.once("net_tuning", choice=choice, layer="fc", **of_run).answer
        assert (refused["type"], "needs labels" in refused["message"]) == ("refusal", True)
        refused = page.once("net_items", choice=choice | {"most": 1025}, **of_run).answer
        assert refused["type"] == "refusal"

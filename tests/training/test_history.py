"""What a training went through: by epoch and by step, the best of it, and as a line to read at a glance."""

from __future__ import annotations

import copy
import pickle

import numpy
import pytest

from tests.training.fitted import EPOCHS, STEPS, fitted, loader
from torcheer.errors import InputError
from torcheer.training import History


def made(**figures: list[float]) -> History:
    history = History()
    rows = zip(*figures.values(), strict=True)
    for epoch, values in enumerate(rows):
        named = dict(zip((name.replace("_", "/") for name in figures), values, strict=True))
        history.add_epoch(named, step=10 * epoch + 9, seconds=0.5)
    return history


def test_figures_are_found_by_name() -> None:
    history = fitted(test_loader=loader(), metrics="accuracy")

    assert history.names == ["train/loss", "train/accuracy", "test/loss", "test/accuracy"]
    assert "test/loss" in history
    assert len(history) == len(history["test/loss"]) == EPOCHS
    assert len(history.steps) == history.num_steps == len(history.steps["train/loss"]) == STEPS
    assert history.seconds > 0
    with pytest.raises(InputError, match="there is no figure 'test/los': do you mean 'test/loss'"):
        history["test/los"]


def test_the_best_epoch_is_found_by_what_the_name_says() -> None:
    nan = numpy.nan
    history = made(
        test_loss=[3.0, nan, 1.0, 1.0], test_accuracy=[0.2, 0.9, 0.9, nan], test_size=[1.0, 2.0, 3.0, 4.0]
    )

    best = history.best("test/loss")
    assert (best.value, best.epoch, best.step) == (1.0, 2, 29)
    assert float(history.best("test/accuracy")) == 0.9
    assert history.best("test/accuracy").epoch == 1
    assert history.best("test/size", "max").epoch == 3
    with pytest.raises(InputError, match=r"'test/size' does not say which is better.*mode='max'"):
        history.best("test/size")
    with pytest.raises(InputError, match="no number in any epoch"):
        made(test_loss=[nan, nan]).best("test/loss")


def test_a_history_is_read_at_a_glance() -> None:
    history = made(train_loss=[4.0, 2.0, 1.0], test_size=[1.0, 2.0, 3.0])

    assert repr(history).splitlines() == [
        "History of 3 epochs, 0 steps, 1.50 s",
        "  train/loss  1         █▃▁  best 1 in epoch 3",
        "  test/size   3         ▁▅█",
    ]
    history.stopped_by = "<enough>"
    assert "&lt;enough&gt;" in history._repr_html_()


def test_a_history_becomes_data_frames() -> None:
    history = fitted(clip_norm=1.0)

    epochs, steps = history.to_pandas(), history.to_pandas("steps")

    assert epochs["train/loss"].tolist() == history["train/loss"].tolist()
    assert epochs["step"].tolist() == [3, 7]
    assert epochs.index.name == "epoch"
    assert steps["train/grad_norm"].tolist() == history.steps["train/grad_norm"].tolist()
    with pytest.raises(InputError, match="of='runs'"):
        history.to_pandas("runs")  # type: ignore[arg-type]


def test_a_figure_that_some_rows_lack_is_no_number_there() -> None:
    history = History()
    history.steps.extend({"a": [1.0]}, 1)
    history.steps.extend({"a": [2.0, 3.0], "b": [5.0, 6.0]}, 2)
    history.steps.extend({"b": [7.0]}, 1)

    assert history.steps["a"].tolist()[:3] == [1.0, 2.0, 3.0]
    assert numpy.isnan(history.steps["a"][3])
    assert numpy.isnan(history.steps["b"][0])
    assert history.steps.tail("b", 1).tolist() == [5.0, 6.0, 7.0]


def test_a_history_can_be_kept_and_copied() -> None:
    history = fitted()
    other = History()

    other.load_state_dict(history.state_dict())

    for one in (other, copy.deepcopy(history), pickle.loads(pickle.dumps(history))):
        assert one.steps["train/loss"].tolist() == history.steps["train/loss"].tolist()
        assert one["train/loss"].tolist() == history["train/loss"].tolist()

"""transformers' own Trainer, and what the run has afterwards: the numbers that the Trainer itself keeps."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.vision import torchvision  # noqa: F401  # which transformers imports, where it is installed

transformers: Any = importlib.import_module("transformers")

from torcheer.training.transformers import TorcheerCallback  # noqa: E402

transformers.logging.set_verbosity_error()

WHOLE = {"every": 1, "budget": None, "when_full": "block"}  # every step is watched, whatever it costs


class Net(nn.Module):
    """A model as the Trainer takes it: by name, with a loss of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.fails_at: int | None = None
        self.num_passes = 0

    def forward(self, x: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        if self.num_passes == self.fails_at:
            raise ValueError("no more")
        self.num_passes += self.training
        logits = self.layer(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def data() -> list[dict[str, Tensor]]:
    x = torch.randn(16, 3, generator=torch.Generator().manual_seed(0))
    return [{"x": row, "labels": (row.sum() > 0).long()} for row in x]


def trainer_of(
    folder: Path, callback: Any, model: Any = None, fails_at: int | None = None, **options: Any
) -> Any:
    torch.manual_seed(0)
    model = model or Net()
    model.fails_at = fails_at
    settings = {
        "num_train_epochs": 2,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "use_cpu": True,
        "report_to": "none",
    }
    arguments = transformers.TrainingArguments(folder / "out", **{**settings, **options})
    return transformers.Trainer(
        model, arguments, train_dataset=data(), eval_dataset=data()[:8], callbacks=[callback]
    )


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A training with all that there is, at which many tests look."""

    run: tl.SavedRun
    trainer: Any
    before: dict[str, float]  # the evaluation before it
    predicted: dict[str, float]  # the metrics after it
    states: list[str]  # of the run after each of the three


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("trained")
    config = transformers.GPT2Config(
        vocab_size=11, n_positions=6, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    rows = torch.randint(0, 11, (16, 5), generator=torch.Generator().manual_seed(0))
    callback = TorcheerCallback(folder / "a", watch=WHOLE, histograms="epoch", passes="epoch", netview=2)
    trainer = trainer_of(
        folder,
        callback,
        transformers.GPT2LMHeadModel(config),
        eval_strategy="epoch",
        gradient_accumulation_steps=2,
        learning_rate=0.01,
    )
    trainer.train_dataset = trainer.eval_dataset = [{"input_ids": row, "labels": row} for row in rows]
    before = trainer.evaluate()
    states = [tl.open_run(folder / "a").state]
    trainer.train()
    states.append(tl.open_run(folder / "a").state)
    predicted = trainer.predict(trainer.eval_dataset).metrics
    states.append(tl.open_run(folder / "a").state)
    return Trained(
        run=tl.open_run(folder / "a"), trainer=trainer, before=before, predicted=predicted, states=states
    )


def test_the_run_has_what_the_trainer_keeps_of_its_logs(trained: Trained) -> None:
    history = trained.trainer.state.log_history
    for name, logged in (
        ("train/loss", "loss"),
        ("train/learning_rate", "learning_rate"),
        ("train/grad_norm", "grad_norm"),
        ("eval/loss", "eval_loss"),
        ("train/train_loss", "train_loss"),
    ):
        rows = [row for row in history if logged in row]
        # The Trainer forgets what was evaluated before it trained; the run does not.
        first = [(0, trained.before["eval_loss"])] if logged == "eval_loss" else []
        series = trained.run.scalars(name)
        assert list(zip(series.steps, series.values, strict=True)) == [
            *first,
            *((row["step"], row[logged]) for row in rows),
        ]
    assert trained.run.scalars("train/loss").steps.tolist() == [1, 2, 3, 4]  # two batches make a step
    assert trained.run.scalars("test/loss").values.tolist() == [trained.predicted["test_loss"]]


def test_settings_and_the_end_are_in_the_run(trained: Trained) -> None:
    hparams = trained.run.hparams()
    assert (hparams["learning_rate"], hparams["gradient_accumulation_steps"]) == (0.01, 2)
    assert '"n_embd": 8' in trained.run.texts("model_config")[0].text
    assert trained.run.status().total_steps == 4
    assert trained.states == ["finished"] * 3


def test_layers_are_watched_at_the_steps_of_the_trainer(trained: Trained) -> None:
    watched = trained.run.watched
    assert watched.steps.tolist() == [1, 2, 3, 4]  # also the one after an evaluation
    last = trained.trainer.model.transformer.h[0].mlp.c_fc.weight.detach().norm().item()
    assert watched["transformer.h.0.mlp.c_fc.weight"].norm.values[-1] == pytest.approx(last, rel=1e-5)
    assert all(not module._forward_pre_hooks for module in trained.trainer.model.modules())


def test_passes_histograms_and_moments_come_as_often_as_asked(trained: Trained) -> None:
    assert [record.step for record in trained.run.passes("pass")] == [1, 3]
    (record, _) = trained.run.passes("pass")
    assert record.document.model_name == "GPT2LMHeadModel"
    weights = {name for name, _ in trained.trainer.model.named_parameters()}
    assert weights | {f"{name}.Grad" for name in weights} <= set(trained.run.names("histogram"))
    assert len(tl.NetView(trained.run.path / "netview").run.tensors("transformer.h.0.mlp.c_fc.Act")) == 2


def test_a_training_that_goes_on_takes_back_what_came_after_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = {"save_strategy": "steps", "save_steps": 3, "max_grad_norm": 0.0}
    first = TorcheerCallback()
    whole = trainer_of(tmp_path / "whole", first, **options)
    whole.evaluate()
    path = first.path
    whole.train()
    assert first.path == path  # what was evaluated before is in the same run
    assert path is not None
    expected = tl.open_run(path).scalars("train/loss")

    callback = TorcheerCallback()  # into a folder of its own choice
    with pytest.raises(ValueError, match="no more"), callback:
        trainer_of(tmp_path, callback, fails_at=5, **options).train()
    assert callback.path is not None
    died = tl.open_run(callback.path)
    assert (died.state, died.status().reason) == ("died", "ValueError: no more")
    assert died.scalars("train/loss").steps.tolist() == [1, 2, 3, 4, 5]

    again = TorcheerCallback()  # which does not know that folder
    trainer_of(tmp_path, again, **options).train(resume_from_checkpoint=True)
    assert again.path == callback.path
    run = tl.open_run(callback.path)
    assert run.state == "finished"
    assert run.scalars("train/loss").steps.tolist() == expected.steps.tolist() == list(range(1, 9))
    assert run.scalars("train/loss").values.tolist() == pytest.approx(expected.values.tolist())


def test_a_training_that_was_left_in_its_middle_has_died_when_the_next_begins(tmp_path: Path) -> None:
    callback = TorcheerCallback(tmp_path / "a")
    trainer = trainer_of(tmp_path, callback, fails_at=2)
    with pytest.raises(ValueError, match="no more"):
        trainer.train()
    assert tl.open_run(tmp_path / "a").state == "running"  # the Trainer says nothing of exceptions
    trainer.model.fails_at = 5  # of all passes
    with pytest.raises(ValueError, match="no more"):
        trainer.train()
    trainer_of(tmp_path, TorcheerCallback(tmp_path / "a")).train()  # of another Trainer and callback
    (part,) = tl.open_run(tmp_path / "a").reader().parts().values()
    assert len(part.status().sessions) == 3
    assert tl.open_run(tmp_path / "a").state == "finished"


def test_callbacks_that_the_trainer_makes_anew_are_as_they_were(tmp_path: Path) -> None:
    callback = TorcheerCallback(tmp_path / "a", watch=WHOLE, passes=2, comment="mine", tags=("one",))
    state = callback.state()
    twin = TorcheerCallback(**state["args"])
    for name, value in state["attributes"].items():
        setattr(twin, name, value)
    assert twin.state() == state
    assert twin.path == str(tmp_path / "a")
    with_function = TorcheerCallback(watch={"on_alarm": print})
    assert "watch" not in with_function.state()["args"]  # which no checkpoint can hold


def test_what_cannot_be_meant_is_said_when_the_callback_is_made() -> None:
    for options in ({"watch": "often"}, {"passes": "weekly"}, {"netview": 0}, {"watch": {"run": "b"}}):
        with pytest.raises(tl.InputError):
            TorcheerCallback(**options)

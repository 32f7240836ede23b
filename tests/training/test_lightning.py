"""Lightning's own Trainer, and what the run has afterwards: the numbers that Lightning itself reports."""

import csv
import importlib
import logging
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import torcheer as tl
from tests.vision import torchvision  # noqa: F401  # which Lightning imports by way of torchmetrics

lightning = importlib.import_module("lightning.pytorch")

from torcheer.training.lightning import TorcheerCallback, TorcheerLogger  # noqa: E402

WHOLE = {"every": 1, "budget": None, "when_full": "block"}  # every step is watched, whatever it costs


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Lightning says much about devices, loaders and what could be installed besides."""
    names = ("lightning.pytorch", "lightning.fabric", "pytorch_lightning", "lightning_fabric")
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(pytorch_)?lightning.*|lightning_.*")
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        yield


def module_of(package: Any) -> Any:
    class Classifier(package.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self, lr: float = 0.1) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
            self.losses: list[float] = []
            self.fails_at: int | None = None
            self.error: BaseException = ValueError("no more")

        def forward(self, x: Tensor) -> Any:
            return self.net(x)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            if len(self.losses) == self.fails_at:
                raise self.error
            loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.losses.append(loss.item())
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

        def test_step(self, batch: Any, batch_idx: int) -> None:
            self.log("test_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)

    return Classifier()


def loader() -> Any:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16, 4, generator=generator)
    return DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)


def trainer_of(package: Any, folder: Path, **options: Any) -> Any:
    settings = {
        "default_root_dir": folder,
        "accelerator": "cpu",
        "max_epochs": 2,
        "log_every_n_steps": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": False,
        "logger": False,
    }
    return package.Trainer(**{**settings, **options})


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fit and a test with all that there is, at which many tests look."""

    folder: Path
    run: tl.SavedRun
    rows: list[dict[str, str]]  # as Lightning's own CSVLogger has them
    module: Any
    trainer: Any
    weights: list[Tensor]  # of the first layer, after each step
    measured: dict[str, float]  # after it


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    folder = tmp_path_factory.mktemp("fitted")
    weights: list[Tensor] = []

    class Weights(lightning.Callback):  # type: ignore[misc,name-defined]
        def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
            weights.append(module.net[0].weight.detach().clone())

    torch.manual_seed(0)
    module = module_of(lightning)
    own, other = TorcheerLogger(folder, name="a", comment="both"), lightning.loggers.CSVLogger(folder, "csv")
    callback = TorcheerCallback(watch=WHOLE, histograms="epoch", passes="epoch", netview=3)
    trainer = trainer_of(lightning, folder, logger=[own, other], callbacks=[callback, Weights()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(module, loader(), loader())
        state = tl.open_run(own.log_dir).state
        (tested,) = trainer.test(module, loader(), verbose=False)
        (validated,) = trainer.validate(module, loader(), verbose=False)
    assert state == "finished"  # already before the test, which goes on with it
    with open(Path(other.log_dir) / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return Fitted(
        folder=Path(own.log_dir),
        run=tl.open_run(own.log_dir),
        rows=rows,
        module=module,
        trainer=trainer,
        weights=weights,
        measured={**tested, **validated},
    )


def test_the_run_has_the_numbers_that_another_logger_gets(fitted: Fitted) -> None:
    names = [name for name in fitted.rows[0] if name != "step"]
    assert {"train_loss_step", "train_loss_epoch", "val_loss", "test_loss", "epoch"} <= set(names)
    for name in names:
        series = fitted.run.scalars(name)
        rows = [row for row in fitted.rows if row[name]]
        assert series.steps.tolist() == [int(row["step"]) for row in rows], name
        assert series.values.tolist() == [float(row[name]) for row in rows], name
    assert fitted.run.scalars("train_loss_step").values.tolist() == pytest.approx(fitted.module.losses)
    # Sanity checking is no validation: there is one for each epoch, and the one that was asked for.
    assert fitted.run.scalars("val_loss").steps.tolist() == [3, 7, 8]
    assert fitted.run.scalars("val_loss").values[-1] == fitted.measured["val_loss"]
    assert fitted.run.scalars("test_loss").values.tolist() == [fitted.measured["test_loss"]]


def test_the_run_ends_with_the_fit_and_again_with_the_test(fitted: Fitted) -> None:
    status = fitted.run.status()
    assert (status.state, status.comment) == ("finished", "both")
    assert fitted.run.hparams() == {"lr": 0.1}
    assert fitted.folder == fitted.folder.parents[1] / "a" / "version_0"


def test_layers_are_watched_at_the_steps_of_lightning(fitted: Fitted) -> None:
    watched = fitted.run.watched
    assert {"net.0.Act", "net.0.weight", "net.2.weight.Grad"} <= set(watched.names)
    assert watched.steps.tolist() == list(range(8))  # also those after a validation
    norms = [weight.norm().item() for weight in fitted.weights]
    assert numpy.allclose(watched["net.0.weight"].norm.values, norms, rtol=1e-5)
    assert all(not module._forward_pre_hooks for module in fitted.module.modules())


def test_passes_histograms_and_moments_come_as_often_as_asked(fitted: Fitted) -> None:
    passes = fitted.run.passes("pass")
    assert [record.step for record in passes] == [0, 4]
    assert {"net.0.weight", "net.0.weight.Grad"} <= set(fitted.run.names("histogram"))
    of_weights = [record.step for record in fitted.run.histograms("net.0.weight.Grad")]
    assert {0, 4} <= set(of_weights)
    # What is watched has tensors of these names already, so that the moments are a run within the run.
    moments = tl.NetView(fitted.folder / "netview")
    assert {layer.name for layer in moments.scene.layers} >= {"net.0", "net.2"}
    assert len(moments.run.tensors("net.2.Act")) == 3  # steps 0, 3, 6


def test_looking_changes_nothing_of_the_training(fitted: Fitted, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = module_of(lightning)
    trainer_of(lightning, tmp_path).fit(module, loader(), loader())
    assert module.losses == fitted.module.losses


@pytest.mark.parametrize("error", [ValueError("no more"), KeyboardInterrupt()])
def test_a_fit_that_fails_leaves_a_run_that_died(tmp_path: Path, error: BaseException) -> None:
    logger, callback = TorcheerLogger(tmp_path, version="failing"), TorcheerCallback(watch=False)
    module = module_of(lightning)
    module.fails_at, module.error = 3, error
    trainer = trainer_of(lightning, tmp_path, logger=logger, callbacks=[callback])
    # Of Ctrl-C Lightning makes an exit in good order, and has it ignored from then on.
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises((ValueError, SystemExit)):
        trainer.fit(module, loader())
    signal.signal(signal.SIGINT, before)

    run = tl.open_run(tmp_path / "lightning" / "failing")
    assert (run.state, run.status().reason.partition(":")[0]) == ("died", type(error).__name__)
    assert run.scalars("train_loss_step").values.tolist() == pytest.approx(module.losses)


def test_a_fit_that_goes_on_takes_back_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    torch.manual_seed(0)
    straight = module_of(lightning)
    trainer_of(lightning, tmp_path, max_epochs=3).fit(straight, loader())

    torch.manual_seed(0)
    module = module_of(lightning)
    module.fails_at = 10
    saving = lightning.callbacks.ModelCheckpoint(tmp_path / "kept", save_last=True)
    options = {"max_epochs": 3, "enable_checkpointing": True}
    logger = TorcheerLogger(tmp_path, version=7)
    with pytest.raises(ValueError, match="no more"):
        trainer_of(
            lightning, tmp_path, logger=logger, callbacks=[saving, TorcheerCallback(watch=False)], **options
        ).fit(module, loader())
    assert tl.open_run(logger.log_dir).scalars("train_loss_step").steps.tolist() == list(range(10))

    again = module_of(lightning)
    logger = TorcheerLogger(tmp_path, version=7)
    trainer = trainer_of(
        lightning, tmp_path, logger=logger, callbacks=[TorcheerCallback(watch=False)], **options
    )
    trainer.fit(again, loader(), ckpt_path=tmp_path / "kept" / "last.ckpt", weights_only=False)
    trainer.test(again, loader(), verbose=False)  # opens the run once more, and takes nothing back
    run = tl.open_run(logger.log_dir)
    assert run.state == "finished"
    assert run.scalars("train_loss_step").steps.tolist() == list(range(12))
    assert run.scalars("train_loss_step").values.tolist() == pytest.approx(straight.losses)


def test_a_callback_alone_keeps_the_loss_of_each_step_of_the_optimizer(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = module_of(lightning)
    callback = TorcheerCallback(tmp_path / "own", watch=False, passes=3)
    # A step is three batches, and the last of an epoch is one.
    trainer_of(lightning, tmp_path, callbacks=callback, accumulate_grad_batches=3).fit(module, loader())

    run = tl.open_run(tmp_path / "own")
    losses, first = run.scalars("train/loss"), module.losses
    assert losses.steps.tolist() == [0, 1, 2, 3]
    assert losses.values[0] == pytest.approx(sum(first[:3]) / 3)
    assert losses.values[2] == pytest.approx(sum(first[4:7]) / 3)
    assert run.status().total_steps == 4
    assert [record.step for record in run.passes("pass")] == [0, 3]
    assert run.scalars("epoch").values.tolist() == [0, 1]


def test_a_trial_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trainer_of(
        lightning, tmp_path, fast_dev_run=True, logger=TorcheerLogger("runs"), callbacks=[TorcheerCallback()]
    ).fit(module_of(lightning), loader())
    assert list(tmp_path.rglob("*.sqlite")) == []


class TwoNets(lightning.LightningModule):  # type: ignore[misc,name-defined]
    """Optimized by hand, and never called itself: only its layers are."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.small, self.large = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 1))

    def training_step(self, batch: Any, batch_idx: int) -> None:
        for optimizer in self.optimizers():
            loss = self.large(self.small(batch[0])).square().mean()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()

    def configure_optimizers(self) -> Any:
        return [torch.optim.SGD(net.parameters(), lr=0.1) for net in (self.small, self.large)]


def test_a_module_that_is_optimized_by_hand_is_seen_by_the_largest_layer_that_it_calls(
    tmp_path: Path,
) -> None:
    callback = TorcheerCallback(tmp_path / "own", watch=False, passes="epoch", histograms="epoch")
    trainer_of(lightning, tmp_path, callbacks=[callback], max_epochs=1).fit(TwoNets(), loader())

    run = tl.open_run(tmp_path / "own")
    (record,) = run.passes("pass")
    assert record.document.num_params == 9 * 4 + 9 + 9 + 1
    assert {"small.weight.Grad", "large.0.weight.Grad"} <= set(run.names("histogram"))


def test_the_other_package_of_the_same_library_takes_them_too(tmp_path: Path) -> None:
    package = importlib.import_module("pytorch_lightning")
    module = module_of(package)
    logger = TorcheerLogger(tmp_path, name="", version="other")
    trainer_of(package, tmp_path, logger=logger, callbacks=[TorcheerCallback(watch=False)], max_epochs=1).fit(
        module, loader()
    )
    run = tl.open_run(tmp_path / "other")
    assert run.state == "finished"
    assert run.scalars("train_loss_step").values.tolist() == pytest.approx(module.losses)


def test_only_rank_0_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lightning.pytorch.utilities.rank_zero import rank_zero_only

    logger = TorcheerLogger(tmp_path)
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    logger.log_metrics({"loss": 1.0}, 0)
    logger.log_hyperparams({"lr": 1.0})
    logger.experiment.log_text(0, "a", "b")
    logger.finalize("success")
    assert list(tmp_path.iterdir()) == []


def test_a_logger_takes_what_lightning_may_give_it(tmp_path: Path) -> None:
    logger = TorcheerLogger(tmp_path, prefix="big")
    logger.log_hyperparams(Namespace(lr=0.5, optimizer={"name": "sgd"}))
    logger.log_metrics({"loss": 1.0})
    logger.log_metrics({"loss": torch.tensor(2.0)})
    logger.finalize("success")

    run = tl.open_run(logger.log_dir)
    assert run.hparams() == {"lr": 0.5, "optimizer/name": "sgd"}
    assert run.scalars("big/loss").values.tolist() == [1.0, 2.0]
    assert TorcheerLogger(tmp_path).version == 1


def test_without_lightning_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("torcheer.training.lightning")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if "lightning" in name else find(name, *rest)
    )
    with pytest.raises(ImportError, match="pip install lightning"):
        importlib.import_module("torcheer.training.lightning")

"""Every public name that takes a model leaves all that hangs on it as it was: diffusers is the oracle."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torcheer as tl
from tests import vision  # noqa: F401  (before diffusers)
from tests.portrait import differences, portrait
from torcheer.training import Parameters


class Case(NamedTuple):
    """A model, what it takes, and how a loss is made of what it gives."""

    model: nn.Module
    args: tuple[Any, ...]
    first: Callable[[Any], Tensor]  # the tensor in its output
    layer: str  # the address of one that runs


class Config(OrderedDict[str, Any]):
    """Can be read, and that is all."""

    def _no(self, *_args: Any, **_options: Any) -> Any:
        raise TypeError("a configuration does not change")

    update = pop = popitem = clear = setdefault = move_to_end = __delitem__ = _no  # type: ignore[assignment]


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.config = Config([("size", 4), ("names", ["a", "b"])])
        self.layers = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1))
        self.seen, self.shapes = {"a": [1, {2}]}, [(1, 2)]

    def forward(self, x: Tensor, time: Tensor) -> tuple[Tensor]:
        return (self.layers(x) * (1 + time.reshape(-1, 1, 1, 1)),)


def small() -> Case:
    return Case(Small(), (torch.randn(4, 1, 8, 8), torch.arange(4)), lambda out: out[0], "layers.0")


def unet() -> Case:
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    return Case(model, (torch.randn(4, 1, 8, 8), torch.arange(4)), lambda out: out[0], "conv_in")


@pytest.fixture(params=[small, unet], ids=["small", "unet"], scope="module")
def built(request: pytest.FixtureRequest) -> Case:
    torch.manual_seed(0)
    case: Case = request.param()
    case.model.eval()
    return case


@pytest.fixture
def case(built: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="not put back")
        yield built
    built.model.zero_grad(set_to_none=True)
    built.model.eval()


def _batches(case: Case) -> list[tuple[Any, ...]]:
    return [(*case.args, case.args[0].roll(shift)) for shift in range(2)]


def _loss(case: Case) -> Callable[[Any, Tensor], Tensor]:
    return lambda out, target: F.mse_loss(case.first(out), target)


def _sgd(case: Case) -> torch.optim.Optimizer:
    return torch.optim.SGD(case.model.parameters(), 0.01)


# --- calls that only look ---------------------------------------------------------------------


def _log(**options: Any) -> Callable[[Case], Any]:
    return lambda case: tl.log_forward_pass(case.model, case.args, **options)


def _log_and_use(case: Case) -> None:
    """What is asked of a pass afterwards runs the model, or ops of it."""
    history = tl.log_forward_pass(case.model, case.args)
    assert history.validate()
    history.first_nonfinite()
    history.stats()
    history.draw(vis_outpath="drawn", vis_save_only=True)
    tl.compare(history, tl.log_forward_pass(case.model, case.args))
    history.save("pass.safetensors")
    tl.load_history("pass.safetensors")


def _edit(case: Case) -> None:
    plain = tl.log_forward_pass(case.model, case.args)
    label = next(op.layer_label for op in plain if op.layer_type == "conv2d")
    for key in (case.layer, label):
        tl.log_forward_pass(case.model, case.args, edit={key: torch.zeros_like})
    tl.log_forward_pass(case.model, case.args, edit={label: tl.patch_from(plain, label)})


def _log_of_one_that_raises(case: Case) -> None:
    wrong = (case.args[0].expand(4, 3, 8, 8), case.args[1])
    for call in (tl.log_forward_pass, tl.summary):
        with pytest.raises(RuntimeError, match="channels"):
            call(case.model, wrong)


def _gradients(case: Case) -> None:
    history = tl.log_forward_pass(case.model, case.args, save_gradients=True)
    case.first(history.output).sum().backward()
    assert history[-1].grad_contents is not None
    case.model.zero_grad(set_to_none=True)


def _picture(case: Case) -> None:
    for vis_opt in ("rolled", "unrolled"):
        tl.show_model_graph(case.model, case.args, vis_opt=vis_opt, vis_outpath="p", vis_save_only=True)
    tl.show_model_graph(case.model, case.args, vis_color_by="zeros", vis_outpath="p", vis_save_only=True)


def _net_view(case: Case) -> None:
    for loss in (None, lambda out: case.first(out).sum()):
        view = tl.NetView(case.model, case.args, run="net", loss=loss)
        view.update(case.args, step=1)
        view.close()


def _state(case: Case) -> None:
    state = tl.State(case.model, run="state")
    state.rec(case.first(case.model(*case.args)), "Out.Act")
    state.update()
    state.close()


def _evaluate(case: Case) -> None:
    tl.evaluate(case.model, _batches(case), loss=_loss(case))


def _extract(case: Case) -> None:
    tl.extract(case.model, [case.args], layers=[case.layer], to="features", progress=False)


def _graph(case: Case) -> None:
    with tl.SummaryWriter("writer") as writer:
        writer.add_graph(case.model, case.args)


def _checkpoint(case: Case) -> None:
    tl.save_checkpoint("check", model=case.model)


def _load_checkpoint(case: Case) -> None:
    tl.save_checkpoint("check", model=case.model)
    tl.load_checkpoint("check", model=case.model)


def _setup(case: Case) -> None:
    tl.Setup(model=case.model, loss=_loss(case), optimizer=_sgd(case), train=_batches(case))


def _tracked(case: Case) -> None:
    tl.ParallelHandler.trackable(case.model)
    handler = tl.ParallelHandler(callback_onrun=_hear, start_method="fork", frequency=1e6)
    try:
        handler.track_model(-1, {"net": case.model})
        case.model(*case.args)
        handler.track_layer(-1, {"one": case.model.get_submodule(case.layer)})
        case.model(*case.args)
    finally:
        handler.stop()


def _hear(*_args: Any) -> None:
    pass


# --- calls that train: weights may change, and nothing else -----------------------------------------


def _step(case: Case) -> None:
    tl.Stepper(case.model, _loss(case), _sgd(case)).step(_batches(case)[0])


def _fit(case: Case) -> None:
    batches = _batches(case)
    loss = _loss(case)
    tl.fit(
        case.model,
        batches,
        loss=loss,
        optimizer=_sgd(case),
        epochs=1,
        test_loader=batches,
        run="fit",
        checkpoints="checks",
        progress=False,
    )


def _watch(case: Case) -> None:
    optimizer = _sgd(case)
    with tl.watch(case.model, optimizer, run="watch", every=1):
        for batch in _batches(case):
            optimizer.zero_grad()
            _loss(case)(case.model(*batch[:-1]), batch[-1]).backward()
            optimizer.step()
    optimizer.zero_grad()


def _training_run(case: Case) -> None:
    optimizer = _sgd(case)
    with tl.training_run("trained", model=case.model, optimizer=optimizer, watch=True):
        for batch in _batches(case):
            optimizer.zero_grad()
            _loss(case)(case.model(*batch[:-1]), batch[-1]).backward()
            optimizer.step()
    optimizer.zero_grad()


def _loop(case: Case) -> None:
    def setup(_parameters: Parameters) -> tl.Setup:
        return tl.Setup(
            model=case.model, loss=_loss(case), optimizer=_sgd(case), train=_batches(case), errors=None
        )

    with tl.Loop(setup, Parameters(), name="looped", seed=1) as loop:
        loop.init(seed=1)
        loop.step("trial", 1)


LOOKS: dict[str, Callable[[Case], Any]] = {
    "log_forward_pass": _log(),
    "log_forward_pass, nothing saved": _log(layers_to_save="none"),
    "log_forward_pass, some saved": _log(layers_to_save=[-1], save_function_args=True),
    "log_forward_pass, treated": _log(activation_postfunc=torch.abs, detach_saved_tensors=True),
    "log_forward_pass, stopped": _log(stop_after=3),
    "log_forward_pass, ATen": _log(level="aten"),
    "log_forward_pass, drawn": _log(vis_opt="rolled", vis_outpath="drawn", vis_save_only=True),
    "log_forward_pass, used": _log_and_use,
    "log_forward_pass, edited": _edit,
    "log_forward_pass, raising": _log_of_one_that_raises,
    "log_forward_pass, gradients": _gradients,
    "validate_saved_activations": lambda case: tl.validate_saved_activations(case.model, case.args),
    "summary": lambda case: tl.summary(case.model, case.args),
    "show_model_graph": _picture,
    "NetView": _net_view,
    "State": _state,
    "evaluate": _evaluate,
    "extract": _extract,
    "trackable": lambda case: tl.trackable(case.model),
    "SummaryWriter.add_graph": _graph,
    "save_checkpoint": _checkpoint,
    "load_checkpoint": _load_checkpoint,
    "Setup": _setup,
    "ParallelHandler.track_model": _tracked,
}
TRAINS: dict[str, Callable[[Case], Any]] = {
    "Stepper": _step,
    "fit": _fit,
    "watch": _watch,
    "training_run": _training_run,
    "Loop": _loop,
}
# Names that take something called a model, and why no call of them is in the tables.
NOT_CALLED = {
    "Checkpoint": "what load_checkpoint gives: its model is a tree of tensors",
    "Evaluation": "what evaluate gives: its model is a name",
    "ModelHistory": "what log_forward_pass gives",
    "Training": "what fit gives to callbacks",
    "ParallelHandler.trackable": "called with ParallelHandler.track_model",
    "ParallelHandler.track_layer": "called with ParallelHandler.track_model",
    "ParrallelHandler.trackable": "another name for ParallelHandler",
    "ParrallelHandler.track_layer": "another name for ParallelHandler",
    "ParrallelHandler.track_model": "another name for ParallelHandler",
}


@pytest.mark.parametrize("call", LOOKS)
def test_a_call_that_looks_changes_nothing(case: Case, call: str) -> None:
    before = portrait(case.model)
    assert len(case.model.config) > 1

    LOOKS[call](case)

    assert differences(before, portrait(case.model)) == []


@pytest.mark.parametrize("call", TRAINS)
def test_a_call_that_trains_changes_weights_alone(case: Case, call: str) -> None:
    before = portrait(case.model, with_weights=False)

    TRAINS[call](case)

    case.model.eval()
    assert differences(before, portrait(case.model, with_weights=False)) == []


def test_every_public_name_that_takes_a_model_is_called_here() -> None:
    called = {name.partition(",")[0] for name in (*LOOKS, *TRAINS)}
    assert set(_names_that_take_a_model()) == called | NOT_CALLED.keys()


def _names_that_take_a_model() -> Iterator[str]:
    for name in tl.__all__:
        thing = getattr(tl, name)
        if callable(thing) and _takes_a_model(thing):
            yield name
        if isinstance(thing, type):
            for method in (method for method in dir(thing) if not method.startswith("_")):
                if callable(getattr(thing, method)) and _takes_a_model(getattr(thing, method)):
                    yield f"{name}.{method}"


def _takes_a_model(thing: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):  # not every class has one
        return False
    return any(
        parameter.name in ("model", "models", "setup") or "nn.Module" in str(parameter.annotation)
        for parameter in parameters
    )

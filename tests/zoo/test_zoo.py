"""Every model of the zoo is captured unchanged, validated op by op, found as torch sees it, and drawn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest
import torch
from torch import Tensor
from torch.nn.modules import module as torch_module
from torch.overrides import _get_current_function_mode_stack

import torcheer as tl
from tests.graph.picture_checks import check_picture
from tests.many import some
from tests.portrait import differences, portrait
from tests.zoo import (
    decoder_models,
    diffusers_models,
    encoder_models,
    image_models,
    multimodal_models,
    sound_models,
    timm_models,
    torch_models,
    torchvision_models,
    wrapped_models,
)
from tests.zoo.checks import (
    FACTORIES,
    Plain,
    Survey,
    Traces,
    forget,
    prepare,
    run_plain,
    seed,
    survey,
    traces,
)
from tests.zoo.specimen import Example, Specimen
from torcheer import ModelHistory, ValidationReport
from torcheer.capture import document_of
from torcheer.graph import draw_document, read_options

ZOO = [
    *torch_models.SHELF,
    *torchvision_models.SHELF,
    *timm_models.SHELF,
    *decoder_models.SHELF,
    *encoder_models.SHELF,
    *image_models.SHELF,
    *sound_models.SHELF,
    *multimodal_models.SHELF,
    *diffusers_models.SHELF,
    *wrapped_models.SHELF,
]

# Why an op may go unchecked, or a disturbed parent unnoticed. Anything else is a failure.
EXEMPTIONS = (
    "its output is undefined until it is written",
    "made before the pass, or outside torch",
    "it runs the autograd graph of the pass",
    "it ran inside a torch.func transform (vmap, grad…)",
    "does not change it: there is nothing in it",
    "does not change it: only its shape, type or device is used",
    "does not change it: its old value is written over",
    "does not change it: the values of its other arguments hide it",
    "does not change it: its output is one constant",
    "does not change it: attention over a single key is that key's value",
    "does not change it: it is a running statistic, which training updates but does not read",
)
# Contractions that torch's own counter of FLOPs does not know.
UNCOUNTED = ("mv", "dot", "vdot")


def _each() -> list[object]:
    """In `make test` a part of the quick ones; all models in `make test-all` and `make zoo`."""
    quick = some((pytest.param(one, id=one.name) for one in ZOO if one.quick), one_in=2)
    return [*quick, *(pytest.param(one, id=one.name, marks=pytest.mark.zoo) for one in ZOO if not one.quick)]


def test_the_zoo_holds_each_model_once() -> None:
    assert max(Counter(one.name for one in ZOO).values()) == 1
    assert len(ZOO) >= 40


@pytest.mark.parametrize("name", ["torch/unet", "transformers/gpt2"])
def test_a_value_that_was_tampered_with_is_found(name: str) -> None:
    (specimen,) = (one for one in ZOO if one.name == name)
    (example,) = prepare(specimen, number=1)
    with torch.no_grad():
        history = tl.log_forward_pass(example.model, example.args, example.kwargs)
        for op in [op for op in history if op.macs][::3]:
            kept = op.tensor_contents.clone()
            op.tensor_contents.add_(1)
            report = history.validate()
            assert not report
            assert any(op.layer_label in str(failure) for failure in report.failures), op.layer_label
            op.tensor_contents.copy_(kept)
        assert history.validate()


@pytest.mark.parametrize("specimen", _each())
def test_real_architecture(specimen: Specimen, record_property: Callable[[str, object], None]) -> None:
    example, plain_twin, surveyed_twin, sparing_twin = prepare(specimen, number=4)
    with torch.set_grad_enabled(specimen.training):
        start_afresh(example)
        started = perf_counter()
        history = tl.log_forward_pass(example.model, example.args, example.kwargs)
        captured = perf_counter()
        left_behind = traces(example.model)
        start_afresh(plain_twin)
        plain = run_plain(plain_twin)
        validating = perf_counter()
        report = history.validate()
        validated = perf_counter()
        start_afresh(surveyed_twin)
        surveyed = survey(surveyed_twin)
        check_saving_less(history, sparing_twin)

    record_property("num_ops", len(history))
    record_property("capture_seconds", captured - started)
    record_property("validate_seconds", validated - validating)
    record_property("exemptions", dict(Counter(_kind(one.why) for one in report.exemptions)))

    check_nothing_changed(history, plain, left_behind)
    check_report(report)
    check_edges(history, specimen)
    check_modules_and_params(history, surveyed)
    check_work(history, surveyed)
    check_loops_and_notes(history, specimen)
    check_texts(history)
    check_pictures(history)
    if specimen.training:
        check_gradients(history, plain, example.model, plain_twin.model)


@pytest.mark.zoo
@pytest.mark.parametrize("specimen", diffusers_models.SHELF, ids=lambda one: one.name)
def test_looking_leaves_configurations_and_containers_alone(specimen: Specimen, tmp_path: Path) -> None:
    (example,) = prepare(specimen, number=1)
    before = portrait(example.model)
    tl.summary(example.model, example.args)
    tl.show_model_graph(example.model, example.args, vis_outpath=str(tmp_path / "p"), vis_save_only=True)
    tl.NetView(example.model, example.args, run=tmp_path / "net").close()
    assert tl.validate_saved_activations(example.model, example.args)
    assert differences(before, portrait(example.model)) == []


def check_pictures(history: ModelHistory) -> None:
    """Nothing overlaps, nothing is left out, in either form."""
    document = document_of(history)
    for vis_opt in ("unrolled", "rolled"):
        drawing = read_options(vis_opt, {})
        faults = check_picture(draw_document(document, drawing).svg, document, drawing)
        assert not faults, f"{vis_opt}: " + "\n".join(faults[:10])


def start_afresh(example: Example) -> None:
    forget(example.model)
    seed(1)


def _kind(why: str) -> str:
    return re.sub(r"^disturbing \S+ does not change it: ", "", why)


def check_nothing_changed(history: ModelHistory, plain: Plain, left_behind: Traces) -> None:
    saved = [history[label].tensor_contents for label in history.output_layers]
    assert len(saved) == len(plain.outputs)
    for ours, theirs in zip(saved, plain.outputs, strict=True):
        assert_same(ours, theirs)
    assert left_behind.random == plain.traces.random
    assert left_behind.flags == plain.traces.flags
    assert left_behind.buffers.keys() == plain.traces.buffers.keys()
    for address, buffer in left_behind.buffers.items():
        assert_same(buffer, plain.traces.buffers[address])
    assert not _get_current_function_mode_stack()
    assert not torch_module._global_forward_hooks
    assert not torch_module._global_forward_pre_hooks


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    """Bit for bit, NaN like NaN."""
    assert ours.dtype == theirs.dtype
    torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=0, atol=0, equal_nan=True)


def check_report(report: ValidationReport) -> None:
    assert report, str(report)
    assert report.forward_checked
    assert report.num_inexact == 0
    num_exempt = sum(not one.why.startswith("disturbing") for one in report.exemptions)
    assert report.num_replayed + num_exempt >= report.num_ops
    unexplained = [one for one in report.exemptions if not one.why.endswith(EXEMPTIONS)]
    assert not unexplained, "\n".join(map(str, unexplained))


def check_saving_less(history: ModelHistory, example: Example) -> None:
    """A few layers kept, the rest let go at once: the same graph and labels, the same values."""
    labels = history.layer_labels
    wanted = sorted({labels[int(part * (len(labels) - 1))] for part in (0.1, 0.3, 0.5, 0.7, 0.9, 1)})
    start_afresh(example)
    less = tl.log_forward_pass(example.model, example.args, example.kwargs, layers_to_save=wanted)
    assert less.layer_labels == labels
    assert [op.parent_layers for op in less] == [op.parent_layers for op in history]
    assert [op.layer_label for op in less if op.has_saved_activations] == [x for x in labels if x in wanted]
    for label in (label for label in wanted if "empty" not in label):
        assert_same(less[label].tensor_contents, history[label].tensor_contents)


def check_edges(history: ModelHistory, specimen: Specimen) -> None:
    labels = history.layer_labels
    assert len(set(labels)) == len(labels) == history.num_tensors_total
    place = {label: position for position, label in enumerate(labels)}
    for op in history:
        assert all(place[parent] < place[op.layer_label] for parent in op.parent_layers)
        assert all(op.layer_label in history[parent].child_layers for parent in op.parent_layers)
        if op.parent_layers or op.computed_with_params:
            continue
        if op.layer_type == "source":
            assert specimen.sources, f"{op.layer_label} in {op.containing_module_origin} comes from nowhere"
        else:
            known = op.is_input_layer or op.is_buffer_layer or op.func_applied_name in FACTORIES
            assert known, f"{op.layer_label} ({op.func_applied_name}) has no parent"
    for op in (history[label] for label in history.output_layers):
        constant = any(part in (op.input_output_address or "") for part in specimen.constant_outputs)
        assert op.has_input_ancestor is not constant, op.layer_label


def check_modules_and_params(history: ModelHistory, surveyed: Survey) -> None:
    ran = {info.address: info.num_passes for info in history.module_tree.modules.values() if info.num_passes}
    assert ran == dict(surveyed.module_calls)
    assert set(ran) - {""} <= set(history.module_addresses)
    used = {param.address for op in history if op.is_output_ancestor for param in op.parent_params}
    assert surveyed.params_reached <= used


def check_work(history: ModelHistory, surveyed: Survey) -> None:
    num_macs = sum(op.macs or 0 for op in history if op.layer_type not in UNCOUNTED)
    assert 2 * num_macs == surveyed.num_flops


def check_loops_and_notes(history: ModelHistory, specimen: Specimen) -> None:
    assert history.model_max_recurrent_loops == specimen.loops
    assert history.model_is_recurrent is (specimen.loops > 1)
    unexpected = [note for note in history.notes if not any(part in note for part in specimen.notes)]
    assert not unexpected


def check_texts(history: ModelHistory) -> None:
    """Every field of every op can be asked for."""
    assert str(history).startswith(f"Log of {history.model_name} forward pass:")
    assert all(op.layer_label in str(op) for op in history)
    assert history.to_pandas()["layer_label"].tolist() == history.layer_labels


def check_gradients(
    history: ModelHistory, plain: Plain, model: torch.nn.Module, plain_model: torch.nn.Module
) -> None:
    """The saved outputs lead back to the same gradients as the plain ones."""
    saved = [history[label].tensor_contents for label in history.output_layers]
    for outputs in (saved, plain.outputs):
        seed(2)
        loss = sum(t.float().pow(2).mean() for t in outputs if t.requires_grad)
        assert isinstance(loss, Tensor)
        loss.backward()
    theirs = dict(plain_model.named_parameters())
    num_with_gradient = 0
    for address, param in model.named_parameters():
        other = theirs[address]
        assert (param.grad is None) is (other.grad is None), address
        if param.grad is not None and other.grad is not None:
            num_with_gradient += 1
            assert_same(param.grad, other.grad)
    assert num_with_gradient

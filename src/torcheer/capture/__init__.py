"""From torch to a pass: catch every operation, keep its tensors, answer questions about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.capture.analysis.compare import Comparison, compare
    from torcheer.capture.analysis.faults import Fault
    from torcheer.capture.analysis.stats import StatsTable
    from torcheer.capture.analysis.validate import ValidationReport, validate_saved_activations
    from torcheer.capture.aten import AtenCall
    from torcheer.capture.backward.passes import BackwardPass
    from torcheer.capture.batches import TARGET_NAMES, Batch, detached, moved, num_items_of, split
    from torcheer.capture.capturing import Order, capture
    from torcheer.capture.choosing import Trackable, chosen_layers, trackable, unwrapped
    from torcheer.capture.describing import document_of
    from torcheer.capture.devices import AUTOMATIC, chosen_device, place
    from torcheer.capture.drawing import draw_history, show_model_graph
    from torcheer.capture.editing.editor import Edit
    from torcheer.capture.editing.rules import patch_from
    from torcheer.capture.fields.field import Field
    from torcheer.capture.history import ModelHistory
    from torcheer.capture.inputs import (
        Call,
        bind,
        check_model,
        copy_of_containers,
        copy_of_tensors,
        named_root,
    )
    from torcheer.capture.log import log_forward_pass
    from torcheer.capture.memory import has_data
    from torcheer.capture.modes import same_modes_after
    from torcheer.capture.nesting import collect_tensors, map_leaves, map_tensors, tensors_in
    from torcheer.capture.op import Op
    from torcheer.capture.opening import OpenCopies
    from torcheer.capture.savefile.read import load_history
    from torcheer.capture.savefile.safetensors_file import FILE_TYPES, Piece, TensorFile, write_tensors
    from torcheer.capture.savefile.write import save_history
    from torcheer.capture.saving import Selection, Treatment
    from torcheer.capture.scopes import Scope
    from torcheer.capture.stances import begin_eager, end_eager, without_compiler
    from torcheer.capture.state import same_model_after, same_random_state_after, seed_everything
    from torcheer.capture.summarising import Summary, summary
    from torcheer.capture.tape import BUFFER, INPUT, OUTPUT, OWN_TRAITS, SOURCE, TENSOR, Record, is_call
    from torcheer.capture.walk import ModelWalk, is_lazy
else:
    __getattr__, __dir__ = lazy_imports(__name__)

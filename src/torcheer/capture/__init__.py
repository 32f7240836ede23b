"""From torch to a pass: catch every operation, keep its tensors, answer questions about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.capture.aliasing import has_data
    from torcheer.capture.analysis.compare import Comparison, compare
    from torcheer.capture.analysis.edits import Edit, patch_from
    from torcheer.capture.analysis.faults import Fault
    from torcheer.capture.analysis.fields import Field
    from torcheer.capture.analysis.stats import StatsTable
    from torcheer.capture.analysis.validate import ValidationReport, validate_saved_activations
    from torcheer.capture.aten import AtenCall
    from torcheer.capture.backward.backward_pass import BackwardPass
    from torcheer.capture.draw_pass import Summary, draw_history, show_model_graph, summary
    from torcheer.capture.forward_pass import (
        Order,
        ValueTreatment,
        capture,
        log_forward_pass,
    )
    from torcheer.capture.function_mode import OpenCopies
    from torcheer.capture.history import ModelHistory, PassRecord
    from torcheer.capture.inputs import (
        Call,
        bind,
        call_with_copied_tensors,
        check_model,
        collect_tensors,
        map_tensors,
        tensors_in,
    )
    from torcheer.capture.model_state import (
        same_model_after,
        same_random_state_after,
        seed_everything,
        undisturbed,
    )
    from torcheer.capture.model_walk import ModelWalk, Selection
    from torcheer.capture.op import Op
    from torcheer.capture.page_source import HistorySource
    from torcheer.capture.savefile.read_pass import load_history
    from torcheer.capture.savefile.safetensors_file import FILE_TYPES, Piece, TensorFile, write_tensors
    from torcheer.capture.savefile.write_pass import save_history
    from torcheer.capture.tape import (
        BUFFER,
        INPUT,
        OUTPUT,
        SOURCE,
        Record,
        Scope,
        is_call,
        tensor_places,
    )
    from torcheer.capture.to_document import document_of
else:
    __getattr__, __dir__ = lazy_imports(__name__)

"""A pass without its tensors: types, labels, layers, modules, structure, text. No torch in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.graph.alignment import align
    from torcheer.graph.decisions import ConditionalBranch, Decision, decide
    from torcheer.graph.document import (
        DOCUMENT_VERSION,
        BranchEntry,
        Entry,
        Link,
        OpEntry,
        OpKind,
        ParamEntry,
        PassDocument,
        ScopeEntry,
        SourceEntry,
        check_document,
    )
    from torcheer.graph.drawing.formats import png_of
    from torcheer.graph.drawing.lettering import (
        BOLD,
        FONT_FAMILY,
        FONT_FILES,
        REGULAR,
        is_measured,
        printable,
        text_width,
    )
    from torcheer.graph.drawing.options import Drawing, DrawingOptions, Figure, read_options
    from torcheer.graph.drawing.picture import Picture, draw_document
    from torcheer.graph.flops import Arguments, Work, work_of
    from torcheer.graph.layers import LayerBook, feedback_loops
    from torcheer.graph.lookup import Lookup
    from torcheer.graph.modules import ModuleInfo, ModulePass, ModuleTree
    from torcheer.graph.naming import LabelBook, looks_like_label, op_labels, type_of_function
    from torcheer.graph.pace import Pace, clock_text, rate_text
    from torcheer.graph.places import PlaceBook, Site, SourceLine, goes_on, source_lines
    from torcheer.graph.progress import (
        PARTS,
        REFRESH_SECONDS,
        Bars,
        NotebookBars,
        Progress,
        TerminalBars,
        is_notebook,
        is_terminal,
        progress_text,
        say,
    )
    from torcheer.graph.rows import Column, RowTable, format_table, number_text, shape_text, share_text
    from torcheer.graph.sizes import readable_bytes, readable_count, readable_seconds
    from torcheer.graph.structure import Structure, reach
    from torcheer.graph.synonyms import common_name, family_name, is_move
    from torcheer.graph.text import (
        NO_FIGURE,
        SHAPE_ONLY,
        describe_op,
        describe_pass,
        no_grad_reason,
        no_params_reason,
        not_saved_reason,
        pass_as_html,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

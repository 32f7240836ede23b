"""A pass without its tensors: its document, labels, structure, FLOPs, text and pictures. No torch.

Progress bars and tables of text are here too, for all rooms above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
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
    from torcheer.graph.drawing.boxes import Figure
    from torcheer.graph.drawing.picture import (
        Drawing,
        DrawingOptions,
        Picture,
        draw_document,
        png_of,
        read_options,
    )
    from torcheer.graph.drawing.text_width import (
        BOLD,
        FONT_FAMILY,
        FONT_FILES,
        REGULAR,
        is_measured,
        printable,
        text_width,
    )
    from torcheer.graph.flops import Arguments, Work, work_of
    from torcheer.graph.pass_structure import (
        LabelBook,
        LayerBook,
        Lookup,
        ModuleInfo,
        ModulePass,
        ModuleTree,
        Structure,
        feedback_loops,
        looks_like_label,
        reach,
        type_of_function,
    )
    from torcheer.graph.progress_bars import (
        PARTS,
        Bars,
        NotebookBars,
        Pace,
        Progress,
        TerminalBars,
        clock_text,
        is_terminal,
        progress_text,
        rate_text,
        say,
    )
    from torcheer.graph.source_places import (
        ConditionalBranch,
        Decision,
        PlaceBook,
        Site,
        SourceLine,
        decide,
        goes_on,
        site_key,
        source_lines,
    )
    from torcheer.graph.text import (
        NO_FIGURE,
        SHAPE_ONLY,
        Column,
        RowTable,
        describe_op,
        describe_pass,
        format_table,
        no_grad_reason,
        no_params_reason,
        not_saved_reason,
        number_text,
        pass_as_html,
        readable_bytes,
        readable_count,
        readable_seconds,
        shape_text,
        share_text,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

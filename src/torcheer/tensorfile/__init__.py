"""Files and raw numbers without torch: safetensors files, what is shown of a tensor, files written whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.tensorfile.files import (
        NoOrdinaryFileError,
        open_file,
        sync_folder,
        target_of,
        write_atomically,
    )
    from torcheer.tensorfile.reader import (
        CHECKSUMS,
        CHUNK_BYTES,
        ITEM_BYTES,
        MAX_DIMS,
        MAX_HEADER_BYTES,
        MAX_WINDOW_VALUES,
        FileKind,
        HeaderEntry,
        NamedTwice,
        TensorBytes,
        TensorKind,
        TensorView,
        Window,
        checksum,
        default_window,
        grid_of,
        item_bytes_of,
        look_at,
        num_values,
        unique,
    )
    from torcheer.tensorfile.tensor_figures import (
        RAW_TYPES,
        Array,
        Figures,
        as_numbers,
        as_real,
        figures_of,
        pieces_of,
        share_of,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)

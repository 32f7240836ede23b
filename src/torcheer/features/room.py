"""Whether what is to be written fits where it goes; asked before the first byte."""

from __future__ import annotations

from typing import Final

from torcheer.errors import InputError
from torcheer.features.manifest import Manifest
from torcheer.features.stores.protocol import Store
from torcheer.graph import readable_bytes

_SPARE: Final = 1.02  # what the journals take, and the disk itself


def check_room(store: Store, manifest: Manifest) -> None:
    """What is there already needs no more room. Streams and ragged samples: nobody knows before."""
    total, free = manifest.num_bytes, store.free_bytes()
    if total is None or free is None:
        return
    needed = max(0, total - store.used_bytes())
    if needed * _SPARE > free:
        largest = max(manifest.layers, key=lambda layer: layer.row_bytes)
        share = largest.row_bytes / max(1, sum(layer.row_bytes for layer in manifest.layers))
        raise InputError(
            f"these features take {readable_bytes(total)}, and {store.where} has room for "
            f"{readable_bytes(free)}: extract "
            f"fewer layers ({largest.name} alone is {share:.0%}), make them smaller on the way "
            "(transform='pool', "
            "'float16', 'project:512'), or choose another place."
        )

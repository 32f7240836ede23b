"""A script for torchrun: the ranks form a group, extract together, and each finds everything when it is done.

torchrun --nproc-per-node 2 --max-restarts 1 -m tests.features.torture_gloo FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from unittest import mock

import torch.distributed

import torcheer.features.extraction
from tests.features.torture_target import few
from torcheer.features.extraction import extract
from torcheer.features.saved_features import open_features


def main(folder: Path) -> None:
    torch.distributed.init_process_group("gloo")
    model, data = few()
    with mock.patch.object(torcheer.features.extraction, "_COMMIT_SECONDS", 0.0):
        returned = extract(model, data, layers=["inner.0", "inner.5"], to=folder / "features", progress=False)
    found = {
        "complete": returned.is_complete and open_features(folder / "features").is_complete,
        "ids": open_features(folder / "features").ids.tolist(),
        "ranks": torch.distributed.get_world_size(),
        "life": int(os.environ["TORCHELASTIC_RESTART_COUNT"]),
    }
    (folder / f"rank-{torch.distributed.get_rank()}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

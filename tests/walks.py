"""`python -m tests.walks`: the files in which a function runs while a pass is captured, and drawn."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import torch
from torch import nn

import torcheer as tl

_SOURCE: Final = Path(tl.__file__).parent


@contextmanager
def walked() -> Iterator[set[str]]:
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(_SOURCE):
            files.add(str(path.relative_to(_SOURCE)))

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)


def main() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10))
    x = torch.rand(2, 3, 8, 8)
    with tempfile.TemporaryDirectory() as folder:
        picture = f"{folder}/picture.svg"
        tl.log_forward_pass(model, x).draw(vis_outpath=picture)  # all is imported after this
        with walked() as captured:
            history = tl.log_forward_pass(model, x)
            history["conv2d_1"].tensor_contents
        with walked() as drawn:
            history.draw(vis_outpath=picture)
    for name, files in (("a pass", captured), ("a drawing", drawn)):
        print(f"{name}: {len(files)} files")
        print("".join(f"    {file}\n" for file in sorted(files)), end="")


if __name__ == "__main__":
    main()

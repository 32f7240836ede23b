"""Draw the pictures of the tutorial: `python -m docs.tutorial.pictures`, which `make gallery` does.

Each page draws its own: its Python blocks are run, as the tests do, and the pictures they leave are kept.
"""

import contextlib
import shutil
import tempfile
from pathlib import Path

import torch

from tests.test_docs import blocks_of, run

FOLDER = Path(__file__).parent


def main() -> None:
    torch.set_num_threads(1)
    for page in sorted(FOLDER.glob("*.md")):
        names: dict[str, object] = {"__name__": "__main__"}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            for block in blocks_of(page.read_text(encoding="utf-8")):
                run(block, names, page)
            for picture in sorted(Path(folder).glob("*.png")):
                shutil.copy(picture, FOLDER / picture.name)


if __name__ == "__main__":
    main()

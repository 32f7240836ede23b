"""Run every Python block of README.md and docs/, and compare what it prints with what is shown.

The blocks of one file share their names, as if typed one after the other. A ```text block right after a
Python block is its output: times and the random seed may differ, and a line `...` stands for any lines.
"""

import contextlib
import io
import itertools
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.vision import torchvision  # noqa: F401  (other trainers import it where it is installed)

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)``` *$", re.M | re.S)
VARYING = (
    (re.compile(r"\d+(\.\d+)?(e[-+]?\d+)? ?(s|ms|µs|us|ns)\b"), "<time>"),
    (re.compile(r"Random seed: \d+"), "Random seed: <seed>"),
    (re.compile(r"[ \t]+"), " "),
)


class Block(NamedTuple):
    info: str
    code: str
    line: int
    output: str | None


def blocks_of(text: str) -> list[Block]:
    """The Python blocks of a Markdown text, each with the output shown for it, if any."""
    fences = list(FENCE.finditer(text))
    blocks = []
    for fence, following in itertools.zip_longest(fences, fences[1:]):
        info = fence["info"].strip()
        if not info.lower().startswith("py"):
            continue
        output = None
        if (
            following
            and following["info"].strip() == "text"
            and not text[fence.end() : following.start()].strip()
        ):
            output = textwrap.dedent(following["body"])
        line = text.count("\n", 0, fence.start("body")) + 1
        blocks.append(Block(info, textwrap.dedent(fence["body"]), line, output))
    return blocks


def normalised(output: str) -> str:
    for pattern, replacement in VARYING:
        output = pattern.sub(replacement, output)
    return "\n".join(line.strip() for line in output.strip().splitlines())


def is_as_shown(printed: str, shown: str) -> bool:
    lines = [".*" if line == "..." else re.escape(line) for line in normalised(shown).splitlines()]
    return re.fullmatch("\n".join(lines), normalised(printed), re.S) is not None


def run(block: Block, names: dict[str, object], path: Path) -> str:
    # The empty lines make a traceback point at the right line of the document.
    code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(code, names)
    return stdout.getvalue()


def documents() -> list[Path]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in paths if blocks_of(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_in_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}

    for block in blocks_of(path.read_text(encoding="utf-8")):
        assert block.info == "python", (
            f"line {block.line}: every Python block runs, so '{block.info}' is no option"
        )
        printed = run(block, names, path)
        if block.output is not None and not is_as_shown(printed, block.output):
            assert normalised(printed) == normalised(block.output), f"line {block.line} prints something else"


def test_a_block_is_found_with_its_line_and_output() -> None:
    text = "# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n"

    assert blocks_of(text) == [Block("python", "print(1)\n", 4, "1\n")]


def test_output_further_down_belongs_to_no_block() -> None:
    text = "```python\nprint(1)\n```\nIt says:\n```text\n2\n```\n"

    assert [block.output for block in blocks_of(text)] == [None]


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("Time elapsed: 0.288s", "Time elapsed: 1.5s", True),
        ("conv  12.1 ms", "conv 980 µs", True),
        ("Random seed: 7", "Random seed: 3210097511", True),
        ("a\nb\nc\nd", "a\n...\nd", True),
        ("24 tensors (4.8 MB)", "25 tensors (4.8 MB)", False),
        ("a\nb", "a", False),
    ],
)
def test_only_times_and_seeds_may_differ(printed: str, shown: str, same: bool) -> None:
    assert is_as_shown(printed, shown) is same

"""Write what the code in README.md and docs/ prints below it: `python -m docs.outputs` (`make docs-outputs`).

The Python blocks of a document run one after the other, with common names, in a folder of their own. A
```text block right after a ```python block is what that block printed; after a ```sh block, what its commands
printed in that folder. A line `...` stands for lines that are left out. Code that is not run here, since it
serves until it is ended, is ```script, and that of a lesson ```lesson; neither shows output.

A block that still says what a run says stays as it is: a run changes times, seeds, addresses in memory, paths
of temporary files and ports, and nothing else. `--all` writes every block anew.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LEFT_OUT = "..."
OTHER_BLOCKS = ("script", "lesson")

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)``` *$", re.M | re.S)
_VARYING = (
    (re.compile(r"\d[\d,]*(\.\d+)?(e[-+]?\d+)? ?(s|ms|µs|us|ns)\b"), "<time>"),
    (re.compile(r"\b\d+:\d\d(:\d\d)?\b"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<date>"),
    (re.compile(r"Random seed: \d+"), "Random seed: <seed>"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
)


class Block(NamedTuple):
    """Code of a document, and the output that is shown for it, if any."""

    info: str
    code: str
    line: int
    output: str | None
    place: tuple[int, int]  # of the output in the text


class MisplacedError(ValueError):
    """A document that says something in a way that nobody checks."""


def blocks_of(text: str) -> list[Block]:
    """The blocks of code of a Markdown text."""
    fences = list(FENCE.finditer(text))
    blocks = []
    taken = set()
    for fence, following in itertools.zip_longest(fences, fences[1:]):
        info = fence["info"].strip()
        line = text.count("\n", 0, fence.start("body")) + 1
        if info in ("python", "sh"):
            output, place = None, (0, 0)
            if (
                following
                and following["info"].strip() == "text"
                and not text[fence.end() : following.start()].strip()
            ):
                output, place = textwrap.dedent(following["body"]), following.span("body")
                taken.add(following.start())
            blocks.append(Block(info, textwrap.dedent(fence["body"]), line, output, place))
        elif info == "text" and fence.start() not in taken:
            raise MisplacedError(f"line {line}: a text block shows what the code right before it printed.")
        elif info != "text" and info not in OTHER_BLOCKS:
            raise MisplacedError(f"line {line}: every Python block runs, so {info!r} is no option.")
    return blocks


def documents() -> list[Path]:
    """All that have code."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in paths if blocks_of(path.read_text(encoding="utf-8"))]


def printed_by(path: Path) -> Iterator[tuple[Block, str]]:
    """Run a document in the current folder: each block with what it printed."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if block.info == "python":
            yield block, _run_python(block, names, path)
        elif block.output is not None:
            yield block, _run_commands(block.code)


def _run_python(block: Block, names: dict[str, object], path: Path) -> str:
    # The empty lines make a traceback point at the right line of the document.
    code = compile("\n" * (block.line - 1) + block.code, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(code, names)
    return stdout.getvalue()


def _run_commands(code: str) -> str:
    """What commands of torcheer print to a terminal of 100 columns."""
    printed = ""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    for line in code.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program != "torcheer":
            raise MisplacedError(f"only commands of torcheer are run, and not {program!r}.")
        done = subprocess.run(
            [sys.executable, "-m", "torcheer", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed += done.stdout
    return printed


# --- what is shown, beside what was printed -----------------------------------------------------------


def as_printed(shown: str, printed: str) -> str | None:
    """The shown text with the lines of this run; None where it says anything else."""
    lines = printed.strip("\n").split("\n")
    is_loose = _varies(shown) or _varies(printed)  # a longer time moves all that stands after it
    wanted = [[]]
    for line in shown.strip("\n").split("\n"):
        if line.strip() == LEFT_OUT:
            wanted.append([])
        else:
            wanted[-1].append(_comparable(line, is_loose))
    found = _places(wanted, [_comparable(line, is_loose) for line in lines])
    if found is None:
        return None
    parts = ["\n".join(lines[start : start + len(part)]) for start, part in zip(found, wanted, strict=True)]
    return f"\n{LEFT_OUT}\n".join(parts).strip("\n") + "\n"


def _places(wanted: Sequence[Sequence[str]], lines: Sequence[str]) -> list[int] | None:
    """Where each part begins: the first at the beginning, the last at the end, others in between."""
    if len(wanted) == 1:
        return [0] if list(wanted[0]) == list(lines) else None
    end = len(lines) - len(wanted[-1])
    if end < len(wanted[0]) or list(lines[: len(wanted[0])]) != wanted[0] or list(lines[end:]) != wanted[-1]:
        return None
    found, at = [0], len(wanted[0])
    for part in wanted[1:-1]:
        while at + len(part) <= end and list(lines[at : at + len(part)]) != part:
            at += 1
        if at + len(part) > end:
            return None
        found.append(at)
        at += len(part)
    return [*found, end]


def _varies(text: str) -> bool:
    return _fixed(text) != text


def _fixed(text: str) -> str:
    for path in {tempfile.gettempdir(), os.path.realpath(tempfile.gettempdir())}:
        text = re.sub(re.escape(path) + r"[^\s'\"]*", "<path>", text)
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return text


def _comparable(line: str, is_loose: bool) -> str:
    line = _fixed(line).rstrip()
    return re.sub(r"\s+", " ", line).strip() if is_loose else line


def rewritten(text: str, printed: Sequence[tuple[Block, str]], *, is_all: bool) -> str:
    """A document with what its blocks printed."""
    for block, output in reversed(printed):
        if block.output is None:
            continue
        new = as_printed(block.output, output)
        if new is not None and not is_all:
            continue
        if new is None and LEFT_OUT in [line.strip() for line in block.output.splitlines()]:
            raise MisplacedError(
                f"line {block.line}: it prints other lines than those around `...`. Take the `...` out and "
                f"choose again what is left out of this:\n{output}"
            )
        start, end = block.place
        indent = re.match(" *", text[start:end])
        new = new or output.strip("\n") + "\n"
        text = text[:start] + textwrap.indent(new, indent[0] if indent and block.output else "") + text[end:]
    return text


def write(path: Path, *, is_all: bool) -> None:
    """Run a document in a folder of its own, and write what its blocks print."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        printed = list(printed_by(path))
    new = rewritten(text, printed, is_all=is_all)
    if new != text:
        path.write_text(new, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)} was written\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.outputs", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="documents; all of them where none is given")
    parser.add_argument(
        "--all", action="store_true", help="also blocks that differ only in times and the like"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        sys.path.insert(0, str(ROOT))  # for the examples, from any folder
        importlib.import_module("tests.vision")  # other trainers import torchvision where it is installed
        write(given.paths[0].resolve(), is_all=given.all)
        return
    for path in given.paths or documents():
        # In a process of its own, as a reader would.
        options = ["--all"] if given.all else []
        command = [sys.executable, "-m", "docs.outputs", "--here", *options, str(path.resolve())]
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()

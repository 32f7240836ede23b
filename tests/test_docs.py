"""What stands in README.md and docs/: its code runs, prints what is shown, and its files are there.

`python -m docs.outputs` writes the outputs; see there for what a block is, and what a run may change.
"""

import functools
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from docs.outputs import (
    FENCE,
    ROOT,
    Block,
    MisplacedError,
    as_printed,
    blocks_of,
    documents,
    printed_by,
    rewritten,
)
from tests.vision import torchvision  # noqa: F401  (other trainers import it where it is installed)
from torcheer.learn.language import read


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_in_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    for block, printed in printed_by(path):
        if block.output is not None and as_printed(block.output, printed) is None:
            assert block.output == printed, f"line {block.line} prints something else: python -m docs.outputs"


# --- blocks ----------------------------------------------------------------------------------------------


def test_a_block_is_found_with_its_line_and_output() -> None:
    text = "# Title\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```sh\nls\n```\n"

    python, shell = blocks_of(text)

    assert python == Block(
        "python", "print(1)\n", 4, "1\n", (text.index("1\n```\n\n```sh"), text.index("```\n\n```sh"))
    )
    assert shell[:4] == ("sh", "ls\n", 12, None)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\nIt says:\n```text\n2\n```\n",  # nobody would compare it
        "```text\n2\n```\n",
        "```py\nprint(1)\n```\n",  # nobody would run it
        "```python no-run\nprint(1)\n```\n",
        "```\nprint(1)\n```\n",
    ],
)
def test_what_nobody_would_check_is_refused(text: str) -> None:
    with pytest.raises(MisplacedError):
        blocks_of(text)


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("Time elapsed: 0.288s", "Time elapsed: 1.5s", True),
        ("conv  12.1 ms", "conv 980 µs", True),
        ("Random seed: 7", "Random seed: 3210097511", True),
        ("<object at 0x7f51c2a0>", "<object at 0x55aa12345678>", True),
        ("http://127.0.0.1:6180/", "http://127.0.0.1:6199/", True),
        ("a\nb\nc\nd", "a\n...\nd", True),
        ("a\nb\nc\nd", "...\nc\nd", True),
        ("a\nb\nc\nd\ne", "a\n...\nc\n...", True),
        ("a\nb\nc\nd", "a\n...\nx\n...", False),
        ("24 tensors (4.8 MB)", "25 tensors (4.8 MB)", False),
        ("a  1", "a 1", False),
        ("a\nb", "a", False),
        ("a", "a\nb", False),
    ],
)
def test_only_what_a_run_changes_may_differ(printed: str, shown: str, same: bool) -> None:
    assert (as_printed(shown, printed) is not None) is same


def test_temporary_paths_may_differ(tmp_path_factory: pytest.TempPathFactory) -> None:
    one, other = (tmp_path_factory.mktemp(name) for name in ("one", "other"))

    assert as_printed(f"in {one}/x: 3 files", f"in {other}/y: 3 files") == f"in {other}/y: 3 files\n"
    assert as_printed(f"in {one}: 3 files", f"in {other}: 4 files") is None


def test_lessons_are_read_as_the_page_reads_them() -> None:
    lessons = [
        textwrap.dedent(found["body"])
        for path in PAGES
        for found in FENCE.finditer(text_of(path))
        if found["info"].strip() == "lesson"
    ]

    assert lessons
    for lesson in lessons:
        reading = read(lesson)
        assert reading.fault is None
        assert reading.loss is not None


# --- writing them ----------------------------------------------------------------------------------------

DOCUMENT = """\
```python
print("some lines")
```

```text
first: 10 ms
...
last: 20 ms
```

- in a list

  ```python
  print("other")
  ```

  ```text
  not this
  ```
"""


def written(first: str, second: str, *, is_all: bool = False) -> str:
    blocks = blocks_of(DOCUMENT)
    return rewritten(DOCUMENT, list(zip(blocks, (first, second), strict=True)), is_all=is_all)


def test_a_block_that_says_something_else_is_written_and_others_stay() -> None:
    new = written("first: 1 ms\nx\nlast: 2 ms\n", "this\n\nand that\n")

    assert new == DOCUMENT.replace("  not this\n", "  this\n\n  and that\n")


def test_on_demand_times_are_those_of_the_run_too() -> None:
    new = written("first: 1 ms\nx\nlast: 2 ms\n", "not this\n", is_all=True)

    assert new == DOCUMENT.replace("10 ms", "1 ms").replace("20 ms", "2 ms")


def test_what_cannot_be_abridged_as_before_is_left_to_a_person() -> None:
    with pytest.raises(MisplacedError, match="second: 1 ms"):
        written("second: 1 ms\nx\n", "not this\n")


# --- files ------------------------------------------------------------------------------------------------

NAMED = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|ts|tsx|css|js|md|sh|toml)|(?:[\w.-]+/)+)`")
LINKED = re.compile(r"\]\(([^)#\s]+)")
# Where a path in the docs may begin.
STARTS = ("", "src/torcheer/", "web/src/")


@functools.cache
def tree() -> frozenset[str]:
    """All files and folders of the project, the latter with a slash."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("only git knows which files are the project's, and there is none")
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    return frozenset(files) | {f"{parent}/" for name in files for parent in Path(name).parents}


def missing_in(text: str) -> set[str]:
    """Files that a page names in words and that are not there.

    A short name (`ring.py`) is that of a file beside one that the page names with its folder, or below it.
    What begins with no folder of the project is somebody else's: `runs/first`, `build/docs/`.
    """
    named = set(NAMED.findall(text))
    found = {name: start + name for name in named for start in STARTS if start + name in tree()}
    rooms = {f"{room}/" for path in found.values() for room in (Path(path), *Path(path).parents)} - {
        "./",
        *STARTS,
    }
    beside = {name for name in named for room in rooms if room + name in tree()}
    return {
        name
        for name in named - set(found) - beside
        if "/" not in name or any(f"{start}{name.split('/')[0]}/" in tree() for start in STARTS)
    }


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_page_names_is_there(path: Path) -> None:
    text = re.sub(r"^( *)```.*?^\1```", "", text_of(path), flags=re.M | re.S)

    assert missing_in(text) == set()
    assert [
        link for link in LINKED.findall(text) if "://" not in link and not (path.parent / link).exists()
    ] == []


def test_a_file_that_is_not_there_is_found() -> None:
    assert (
        missing_in("`run/records.py`, `records.py`, `docs/design/`, `web/src/data/globs.ts`, `build/docs/`")
        == set()
    )
    assert missing_in("`netview/weights.py`, `run/records.py`, `nowhere.py`, `run/nothing/`") == {
        "netview/weights.py",
        "nowhere.py",
        "run/nothing/",
    }

"""What was solved is kept, and no file, however damaged, keeps a student from going on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torcheer.learn.exercises import Progress, Typed

RIGHT, WRONG = Typed(answer="g * b", is_right=True), Typed(answer="g", is_right=False)


def test_what_was_typed_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "state" / "learn.json"
    first = Progress(path)
    first.note_answers("product", {"a": RIGHT})
    first.note_answers("product", {"b": WRONG})

    again = Progress(path)

    assert again.of("product") == {"a": RIGHT, "b": WRONG}
    assert again.of("matmul") == {}
    assert [one.name for one in path.parent.iterdir()] == ["learn.json"]


def test_all_can_be_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "learn.json"
    progress = Progress(path)
    progress.note_answers("product", {"a": RIGHT})

    progress.reset()

    assert progress.of("product") == {}
    assert Progress(path).of("product") == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"version": 1}',
        b'{"version": 99, "answers": {}}',
        b'{"version": 1, "answers": {"product": {"a": 3}}}',
        b'{"version": 1, "answers": [' + b"[" * 5000,
        b" " * 2_000_000,
    ],
)
def test_a_file_that_cannot_be_understood_is_put_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "learn.json"
    path.write_bytes(content)

    progress = Progress(path)
    progress.note_answers("product", {"a": RIGHT})

    assert progress.of("product") == {"a": RIGHT}
    assert (tmp_path / "learn.json.damaged").read_bytes() == content
    assert Progress(path).of("product") == {"a": RIGHT}


@given(st.binary(max_size=100))
def test_any_file_is_read_or_put_aside(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("progress") / "learn.json"
    path.write_bytes(content)

    assert Progress(path).of("product") == {}


def test_where_nothing_can_be_kept_the_exercises_go_on(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder")
    progress = Progress(in_the_way / "learn.json")

    progress.note_answers("product", {"a": RIGHT})

    assert progress.of("product") == {"a": RIGHT}


def test_a_folder_in_its_place_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "learn.json").mkdir()
    progress = Progress(tmp_path / "learn.json")

    progress.note_answers("product", {"a": RIGHT})

    assert progress.of("product") == {"a": RIGHT}


def test_without_a_place_it_lasts_as_long_as_the_program() -> None:
    progress = Progress(None)
    progress.note_answers("product", {"a": RIGHT})

    assert progress.of("product") == {"a": RIGHT}


def test_lists_and_progress_need_no_torch() -> None:
    code = (
        "import sys\n"
        "import torcheer.learn.exercises, torcheer.learn.lesson_document\n"
        "import torcheer.app.lessons\n"
        "assert 'torch' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)

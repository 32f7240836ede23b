"""The file with the user's secret: private, made once, and never trusted when it is not."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from torcheer.app.access import Secret, state_folder, user_secret

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files here have no owner and mode")


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "torcheer"
    first, second = user_secret(folder), user_secret(folder)

    assert first == second
    assert first.note == ""
    assert len(first.value) == 32
    assert user_secret(tmp_path / "another").value != first.value
    assert os.listdir(folder) == ["secret"]


@needs_owners
def test_a_secret_is_for_its_user_alone(tmp_path: Path) -> None:
    former = os.umask(0)
    try:
        user_secret(tmp_path / "torcheer")
    finally:
        os.umask(former)

    assert stat.S_IMODE((tmp_path / "torcheer").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "torcheer" / "secret").stat().st_mode) == 0o600


def test_servers_that_start_together_have_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        found = set(threads.map(lambda _: user_secret(tmp_path / "torcheer").value, range(64)))

    assert len(found) == 1


def holds_for_now(secret: Secret, folder: Path) -> bool:
    """A secret of this process, with a note in one line."""
    return len(secret.value) == 32 and secret.value != user_secret(folder).value and "\n" not in secret.note


@needs_owners
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604, 0o610, 0o777])
def test_a_secret_that_others_may_touch_is_not_trusted(tmp_path: Path, mode: int) -> None:
    user_secret(tmp_path)
    (tmp_path / "secret").chmod(mode)
    found = user_secret(tmp_path)

    assert holds_for_now(found, tmp_path)
    assert "not private" in found.note
    assert "remove it" in found.note


@needs_owners
def test_a_secret_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_secret(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 12345)

    assert "not private" in user_secret(tmp_path).note


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33, b"x" * 1_000_000])
def test_a_damaged_secret_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    user_secret(tmp_path)
    (tmp_path / "secret").write_bytes(content)
    found = user_secret(tmp_path)

    assert holds_for_now(found, tmp_path)
    assert "damaged" in found.note


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_file_is_not_trusted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secret", 0o600)  # to read it would take for ever
    assert holds_for_now(user_secret(tmp_path), tmp_path)

    other = tmp_path / "other"
    (other / "secret").mkdir(parents=True)
    assert holds_for_now(user_secret(other), other)


@needs_owners
def test_a_link_to_another_file_is_not_followed(tmp_path: Path) -> None:
    user_secret(tmp_path / "real")
    (tmp_path / "torcheer").mkdir()
    os.symlink(tmp_path / "real" / "secret", tmp_path / "torcheer" / "secret")
    found = user_secret(tmp_path / "torcheer")

    assert found.value != user_secret(tmp_path / "real").value
    assert found.note


def test_where_nothing_can_be_kept_the_server_still_has_a_secret(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = user_secret(tmp_path / "file" / "torcheer")

    assert holds_for_now(found, tmp_path / "file" / "torcheer")
    assert "must be opened anew" in found.note


def test_without_a_home_the_server_still_has_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)

    assert "home" in user_secret().note


def test_a_secret_is_not_shown_by_accident(tmp_path: Path) -> None:
    secret = user_secret(tmp_path)

    assert str(secret.value) not in repr(secret)


def test_the_folder_is_where_the_system_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path("/home/somebody")
    monkeypatch.setattr(Path, "home", lambda: home)

    assert state_folder("linux", {}) == home / ".local" / "state" / "torcheer"
    assert state_folder("linux", {"XDG_STATE_HOME": "/state"}) == Path("/state/torcheer")
    assert state_folder("linux", {"XDG_STATE_HOME": "relative"}) == home / ".local" / "state" / "torcheer"
    assert state_folder("darwin", {}) == home / "Library" / "Application Support" / "torcheer"
    assert state_folder("win32", {"LOCALAPPDATA": "/local"}) == Path("/local/torcheer")
    assert state_folder("win32", {}) == home / "AppData" / "Local" / "torcheer"

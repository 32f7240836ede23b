"""Archives from strangers: nothing is unpacked, nothing reaches outside, nothing fills the memory."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from torcheer.errors import FileFormatError
from torcheer.training.data import archives
from torcheer.training.data.archives import read_members

NAME = "cifar-10-batches-py/test_batch"


def written(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return path


def member(name: str, content: bytes = b"", *, kind: bytes = tarfile.REGTYPE, target: str = "") -> tuple:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, target
    return info, content


def test_only_what_is_wanted_is_read_and_nothing_is_written(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.tar.gz",
        member("../../outside", b"1"),
        member("/etc/passwd", b"2"),
        member("other", b"3"),
        member(f"./{NAME}", b"right"),
        member(NAME, b"again"),
    )

    assert list(read_members(path, {NAME, "not there"})) == [(NAME, b"right")]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_links_and_devices_under_a_wanted_name_are_no_files(tmp_path: Path, kind: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    path = written(tmp_path / "a.tar.gz", member(NAME, kind=kind, target=str(secret)), member("secret", b"x"))

    assert list(read_members(path, {NAME})) == []


def test_a_member_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path: Path) -> None:
    info, _ = member(NAME)
    info.size = 1 << 40
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf() + b"x" * 512))

    with pytest.raises(FileFormatError, match="claims 1,099,511,627,776 bytes"):
        list(read_members(path, {NAME}))


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_an_archive_that_unpacks_to_more_than_it_should_is_refused(
    tmp_path: Path, kind: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb: little on disk, too much in memory; as a file before the wanted one, and as a header."""
    monkeypatch.setattr(archives, "_MAX_UNPACKED_BYTES", 1 << 20)
    path = written(tmp_path / "a.tar.gz", member("bomb", bytes(8 << 20), kind=kind), member(NAME, b"x"))
    assert path.stat().st_size < 1 << 14

    with pytest.raises(FileFormatError, match="unpacks to more than 1 MB"):
        list(read_members(path, {NAME}))


def test_an_archive_that_is_cut_or_none_at_all_is_an_error_that_names_it(tmp_path: Path) -> None:
    whole = written(tmp_path / "a.tar.gz", member(NAME, os.urandom(3000))).read_bytes()

    for content in (
        b"",
        b"<html>",
        bytes(100),
        whole[:50],
        whole[:-1000],
        whole[:-6],
        whole[:40] + b"?" + whole[41:],
    ):
        path = tmp_path / "broken.tar.gz"
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=r"broken\.tar\.gz"):
            list(read_members(path, {NAME, "other"}))

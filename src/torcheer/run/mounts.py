"""On which kind of file system a folder lies: the write-ahead log needs memory that processes share."""

from __future__ import annotations

import os
import re
from pathlib import Path

_REMOTE = frozenset(
    "9p acfs afs beegfs ceph cifs coda davfs drvfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs "
    "panfs prl_fs pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs".split()
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def remote_kind(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The name of the file system where it is a remote one, or one that may be; empty for a local one."""
    kind = _kind_of(os.path.realpath(folder), mounts)
    is_remote = kind in _REMOTE or kind == "fuse" or kind.startswith("fuse.")
    return kind if is_remote else ""


def _kind_of(folder: str, mounts: Path) -> str:
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no Linux: SQLite itself says whether it can
        return ""
    best, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        place = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4])
        # Of mounts on one place the last hides the others.
        if len(place) >= len(best) and _is_under(folder, place):
            best, kind = place, after.split()[0]
    return kind


def _is_under(folder: str, place: str) -> bool:
    return folder == place or folder.startswith(place.rstrip("/") + "/")

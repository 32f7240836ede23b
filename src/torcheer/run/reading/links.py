"""Symbolic links in folders of runs: those that lead out of them are not followed unless asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRule:
    """Which links are followed: those that stay within some folders, or all."""

    roots: tuple[str, ...]  # without links in them
    follows_all: bool = False

    def allows(self, path: str | os.PathLike[str]) -> bool:
        if self.follows_all:
            return True
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # links in circles, on some systems
            return False
        return any(real == root or real.startswith(os.path.join(root, "")) for root in self.roots)

    def allows_entry(self, entry: os.DirEntry[str]) -> bool:
        return not entry.is_symlink() or self.allows(entry.path)


def links_within(*folders: str | os.PathLike[str], follow_links: bool = False) -> LinkRule:
    """A folder that was named may be a link itself."""
    return LinkRule(roots=tuple(os.path.realpath(folder) for folder in folders), follows_all=follow_links)


def links_note(count: int) -> str:
    """What is said of links that were not followed; nothing where there are none."""
    if not count:
        return ""
    if count == 1:
        return "1 link leads out of the folder, and is not followed"
    return f"{count:,} links lead out of the folder, and are not followed"

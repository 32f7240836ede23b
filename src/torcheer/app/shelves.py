"""What paths lead to: saved passes, runs, or both."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from torcheer.app.passes import Shelf
from torcheer.app.passfile import open_pass_file
from torcheer.app.runs.shelf import RunShelf
from torcheer.app.savedpasses import SavedPasses
from torcheer.errors import InputError
from torcheer.run import LinkRule, RunReader, find_runs, is_event_file, is_part, links_within
from torcheer.training.control import Control

_WANTED: Final = (
    "give a folder of runs, a run, a folder of TensorBoard event files, features, or a saved pass"
)


def shelves(paths: Sequence[Path], links: LinkRule | None = None) -> tuple[Shelf, RunShelf | None]:
    """The passes and the runs that some paths lead to. Runs are looked for wherever there is a folder.

    Links are followed that stay within the paths, or as the rule says.
    """
    if not paths:
        raise InputError(f"there is no path: {_WANTED}.")
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no {path}: {_WANTED}.")
        if not path.is_dir() and not path.is_file():
            raise InputError(f"{path} is no ordinary file: {_WANTED}.")
    # A file of a run stands for the run.
    paths = [path.absolute().parent if _is_of_run(path) else path for path in paths]
    folders = [path for path in paths if path.is_dir()]
    links = links or links_within(*folders)
    links = replace(links, roots=(*links.roots, *map(os.path.realpath, folders)))  # of files: their folders
    finder, opener = partial(find_runs, links=links), partial(RunReader, reads_now=False, links=links)
    runs = RunShelf(folders, finder, opener) if folders else None
    return SavedPasses(paths, open_pass_file, links), runs


def with_folders_of(paths: Sequence[Path], controls: Sequence[Control]) -> Sequence[Path]:
    """The paths, and the folders to which these trainings write, where none of the paths leads there."""
    found = list(paths)
    for control in controls:
        try:
            control.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"runs cannot go to {control.folder}: {error}. Name another folder.") from error
        if not any(_leads_to(path, control.folder) for path in found):
            found.append(control.folder)
    return found


def _leads_to(path: Path, folder: Path) -> bool:
    """Whether runs of this folder are found from there. Hidden folders are not looked into."""
    start = Path(os.path.abspath(path))
    if not folder.is_relative_to(start):
        return False
    return not any(part.startswith(".") for part in folder.relative_to(start).parts)


def _is_of_run(path: Path) -> bool:
    name = os.path.basename(path)
    return path.is_file() and (is_part(name) or is_event_file(name))

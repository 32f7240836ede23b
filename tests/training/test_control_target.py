"""How a training is named, found and loaded, and what is said where it cannot be."""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import torcheer
from tests.training import small_loop
from torcheer.app import server
from torcheer.errors import InputError
from torcheer.training import Loop
from torcheer.training.control import Control
from torcheer.training.control.controller import control
from torcheer.training.control.executor import load_loop
from torcheer.training.control.user_code import (
    fault_of,
    have_changed,
    imported_sources,
    read_target,
    target_of,
)

NAME = f"{small_loop.__name__}:loop"
LOOP = small_loop.loop()


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What loading adds to the path and to the modules is taken away."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


# --- by name -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("examples/etra25.py", "names no training"),
        ("module:", "names no training"),
        (":loop", "names no training"),
        ("module:lo op", "names no training"),
        ("no/such/file.py:loop", "there is no file no/such/file.py"),
        ("some/folder:loop", "is no module and no file"),
    ],
)
def test_a_name_that_cannot_be_is_refused_before_anything_runs(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Control(text)


# --- loaded --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("as_before")
def test_a_training_is_loaded_from_a_module_and_from_a_file(tmp_path: Path) -> None:
    assert load_loop(read_target(NAME)).name == "small"
    assert load_loop(read_target(f"{__name__}:LOOP")) is LOOP
    (tmp_path / "beside.py").write_text("NAME = 'from a file'")
    # With the name of a module of Python's own, and dataclasses, which look for their module.
    (tmp_path / "select.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nimport pickle\nimport beside\n"
        "from torcheer.training.loop.loop import Loop\n"
        "from torcheer.training.loop.setup import Parameters\n"
        "@dataclass(frozen=True)\nclass Mine(Parameters):\n    hidden: int = 3\n"
        "pickle.dumps(Mine())\n"
        "class Makers:\n    @staticmethod\n    def make(): return Loop(print, Mine(), name=beside.NAME)\n"
        "if __name__ == '__main__':\n    raise AssertionError\n"
    )
    loop = load_loop(read_target(f"{tmp_path / 'select.py'}:Makers.make"))
    assert (loop.name, loop.parameters.hidden) == ("from a file", 3)

    # It is known which files it came from, and when one of them is another.
    sources = imported_sources()
    assert {str(tmp_path / "select.py"), str(tmp_path / "beside.py"), small_loop.__file__} <= set(sources)
    assert {torch.__file__, json.__file__, torcheer.__file__}.isdisjoint(sources)
    assert not have_changed(sources)
    (tmp_path / "select.py").unlink()
    assert not have_changed(sources)  # as while it is saved
    os.utime(tmp_path / "beside.py", ns=(0, 0))
    assert have_changed(sources)


@pytest.mark.usefixtures("as_before")
def test_what_is_no_training_says_what_it_must_be(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("number = 3\ndef nothing(): ...\ndef gone(): ...\ndel gone\n")
    for name, message in (
        ("number", "is a int"),
        ("nothing", "returns a NoneType"),
        ("gone", "has no 'gone'"),
    ):
        with pytest.raises(InputError, match=message):
            load_loop(read_target(f"{tmp_path / 'net.py'}:{name}"))
    with pytest.raises(InputError, match=r"there is no module 'tests.nothing'"):
        load_loop(read_target("tests.nothing:loop"))
    (tmp_path / "net.py").write_text("import nothing_like_it\ndef loop(): ...\n")
    with pytest.raises(ModuleNotFoundError) as missing:
        load_loop(read_target(f"{tmp_path / 'net.py'}:loop"))
    assert fault_of(missing.value).place == "net.py, line 1"


# --- faults --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("as_before")
def test_a_fault_is_told_from_the_code_of_the_user_on(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("import json\n\ndef loop():\n    return json.loads('{')\n")
    with pytest.raises(ValueError, match="Expecting") as raised:
        load_loop(read_target(f"{file}:loop"))
    assert raised.tb.tb_next is not None
    fault = fault_of(raised.value.with_traceback(raised.tb.tb_next))  # without this test

    assert (fault.error, fault.place) == ("JSONDecodeError", "net.py, line 4, in loop")
    assert "return json.loads('{')" in fault.trace
    assert "loading.py" not in fault.trace
    file.write_text("def loop(:\n")
    with pytest.raises(SyntaxError) as broken:
        load_loop(read_target(f"{file}:loop"))
    assert fault_of(broken.value).place == "net.py, line 1"


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UnspeakableError(), "(its text cannot be had)"),
        (ValueError("\ud800 half a character"), "? half a character"),
        (ValueError("x" * 100_000), "characters are left out"),
    ],
)
def test_whatever_an_exception_says_can_be_sent(error: Exception, message: str) -> None:
    fault = fault_of(error)

    assert message in fault.message
    assert len(fault.message) + len(fault.trace) < 60_000
    assert fault.error == type(error).__name__


# --- tl.control ----------------------------------------------------------------------------------------


class Makers:
    def make(self) -> Loop[Any]:
        return small_loop.loop()

    @classmethod
    def make_by_class(cls) -> Loop[Any]:
        return small_loop.loop()


def test_functions_that_no_other_process_could_find_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "no_module", ("as", "some", "libraries", "do"))  # type: ignore[arg-type]

    def inside() -> Loop[Any]:
        return small_loop.loop()

    for made, message in (
        (lambda: 1, "a lambda has no name"),
        (inside, "defined inside a function"),
        (partial(small_loop.loop), "is held by no module"),
        (small_loop.loop(), "is held by no module"),
        (Makers().make, "has another 'Makers.make' or none"),  # the other process has no such object
    ):
        with pytest.raises(InputError, match=message):
            target_of(made)


def test_a_function_is_found_by_module_or_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert str(target_of(small_loop.loop)) == NAME
    assert str(target_of(LOOP)) == f"{__name__}:LOOP"
    assert str(target_of(Makers.make_by_class)) == f"{__name__}:Makers.make_by_class"
    main = types.ModuleType("__main__")
    exec("def loop(): ...", vars(main))
    main.loop.__module__ = "__main__"
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(InputError, match="in a notebook or at a prompt"):
        target_of(main.loop)

    (tmp_path / "script.py").touch()
    main.__file__ = str(tmp_path / "script.py")
    assert str(target_of(main.loop)) == f"{tmp_path / 'script.py'}:loop"
    monkeypatch.chdir(tmp_path)
    assert str(target_of(main.loop)) == "script.py:loop"
    main.__spec__ = types.SimpleNamespace(name="package.script")  # type: ignore[assignment]
    assert str(target_of(main.loop)) == "package.script:loop"
    main.__spec__ = types.SimpleNamespace(name="torcheer.training.control.worker")  # type: ignore[assignment]
    with pytest.raises(InputError, match="if __name__ == '__main__'"):
        control(small_loop.loop)


def test_control_opens_the_page_of_the_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown: dict[str, Any] = {}
    monkeypatch.setattr(server, "view", lambda paths, **options: shown.update(options, paths=paths))
    monkeypatch.setattr(sys, "path", ["", "mark.of.a.finder"])

    options: dict[str, Any] = {"folder": tmp_path, "values": {"hidden": 3}, "seed": 7}
    assert control(small_loop.loop, open_browser=False, port=0, **options) is None

    (made,) = shown["controls"]
    assert (str(made.target), made.folder, made.status.values) == (NAME, tmp_path, {"hidden": 3})
    assert (made.status.seed, made._seed) == (7, 7)
    assert (shown["paths"], shown["open_browser"], shown["port"]) == ([], False, 0)
    assert made._search_path == (str(Path.cwd()), "mark.of.a.finder")
    with pytest.raises(InputError, match="'hidden' is to be a int64"):
        control(small_loop.loop, values={"hidden": numpy.int64(3)})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="the seed is -1"):
        control(small_loop.loop, seed=-1)

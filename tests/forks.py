"""Workers for `make test` that are copies of the process that has read the tests: `-p tests.forks --forks 3`.

pytest-xdist starts each worker anew, and each imports and reads all tests: a sixth of the processor time of
the whole. Here the tests are read once, and a worker takes the next piece of a file when it has done its
last. Coverage is still measured in workers of pytest-xdist.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Literal

import pytest

_MOST_TESTS: Final = 32  # of a piece: neighbours share fixtures, and no worker waits long for the last one
_INDEX_BYTES: Final = 4

Piece = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="how many copies of this process run the tests")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.forks > 1:
        config.pluginmanager.register(_Forks(config.option.forks))


class _Forks:
    """In the process that has read the tests: starts the workers, and hands on what they report."""

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or session.testsfailed:
            return None  # pytest's own loop says what is wrong
        if terminal := session.config.pluginmanager.getplugin("terminalreporter"):
            terminal.showfspath = False  # results come from several files at a time
        pieces = _pieces(session.items)
        to_do = _pipe_of_indices(len(pieces))
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        workers = [_Worker(session, pieces, to_do, number) for number in range(self._num_workers)]
        os.close(to_do)
        try:
            _hand_on_reports(session, workers)
        finally:
            for worker in workers:
                worker.end()
        return True


def _pieces(items: list[pytest.Item]) -> list[Piece]:
    files = [list(of_file) for _, of_file in itertools.groupby(items, lambda item: item.path)]
    return [of_file[at : at + _MOST_TESTS] for of_file in files for at in range(0, len(of_file), _MOST_TESTS)]


def _pipe_of_indices(count: int) -> int:
    """The end of a pipe from which whoever is free reads the next index, until there is none."""
    reading, writing = os.pipe()
    for index in range(count):
        os.write(writing, index.to_bytes(_INDEX_BYTES, "little"))
    os.close(writing)
    return reading


class _Worker:
    """A copy of this process, as the process that started it sees it."""

    def __init__(self, session: pytest.Session, pieces: list[Piece], to_do: int, number: int) -> None:
        self.reports, sending = multiprocessing.Pipe(duplex=False)
        self.running: tuple[str, Any] | None = None  # name and place of its test
        self._process = multiprocessing.get_context("fork").Process(
            target=_work, args=(session, pieces, to_do, sending, number)
        )
        self._process.start()
        sending.close()

    def exit_code(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def end(self) -> None:
        if self._process.is_alive():
            self._process.terminate()
        self._process.join()


def _hand_on_reports(session: pytest.Session, workers: list[_Worker]) -> None:
    hook = session.config.hook
    at_work = {worker.reports: worker for worker in workers}
    while at_work:
        for ready in wait(list(at_work)):
            worker = at_work[ready]  # type: ignore[index]
            try:
                kind, *what = worker.reports.recv()
            except EOFError:
                del at_work[worker.reports]
                if worker.running is not None or worker.exit_code():
                    hook.pytest_runtest_logreport(report=_crash(worker))
                continue
            if kind == "start":
                worker.running = (what[0], what[1])
                hook.pytest_runtest_logstart(nodeid=what[0], location=what[1])
            elif kind == "finish":
                worker.running = None
                hook.pytest_runtest_logfinish(nodeid=what[0], location=what[1])
            elif kind == "report":
                report = hook.pytest_report_from_serializable(config=session.config, data=what[0])
                hook.pytest_runtest_logreport(report=report)
            else:
                message, when, name, place = what
                hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": message, "when": when, "nodeid": name, "location": place}
                )
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def _crash(worker: _Worker) -> pytest.TestReport:
    name, place = worker.running or ("a worker", ("a worker", None, ""))
    words = f"the process that ran this ended with code {worker.exit_code()}; tests after it were not run"
    return pytest.TestReport(name, place, {}, "failed", words, "call")


# --- in the copy -------------------------------------------------------------------------------------


def _work(session: pytest.Session, pieces: list[Piece], to_do: int, sending: Connection, number: int) -> None:
    config = session.config
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of all copies
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Sender(config, sending))
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.mktemp(f"worker-{number}", numbered=False)
    for item, following in itertools.pairwise(_items(pieces, to_do)):
        assert item is not None
        # What only the last test used ends with it; the next one's fixtures stay.
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    capture.stop_global_capturing()


def _items(pieces: list[Piece], to_do: int) -> Iterator[pytest.Item | None]:
    """Tests one after the other, and None at the end."""
    while index := os.read(to_do, _INDEX_BYTES):
        yield from pieces[int.from_bytes(index, "little")]
    yield None


class _Sender:
    """Sends what happens to the process that hands it on."""

    def __init__(self, config: pytest.Config, sending: Connection) -> None:
        self._config = config
        self._sending = sending

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._sending.send(("start", nodeid, location))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._sending.send(("finish", nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._sending.send(("report", data))

    def pytest_warning_recorded(
        self,
        warning_message: Any,
        when: Literal["config", "collect", "runtest"],
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        with suppress(Exception):  # not every warning can be pickled
            self._sending.send(("warning", warning_message, when, nodeid, location))

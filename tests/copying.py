"""Scripts in processes of their own that need not import torch first: each is a copy of one that has done so.

Each is as in a fresh interpreter: a `__main__` with its file, arguments, environment, folder and streams, and
the end of an interpreter. Only what is imported already is not: what is about that is not for copies.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import IO, Any, Final, NoReturn

ROOT: Final = Path(__file__).resolve().parents[1]
PROCESS_STARTED: Final = "tests.process"  # an audit event: Python itself raises none for a copy
_IMPORTED: Final = (
    "torch._dynamo",  # whoever makes an optimizer imports it
    "torch.distributed.run",
    "torch.utils.data",
    "tests.inspector.feeding",
    "torcheer.cli",
    "torcheer.features.extraction",
    "torcheer.inspector.child.lifetime",
    "torcheer.inspector.watch_api",
    "torcheer.run.read.saved_run",
    "torcheer.run.run",
    "torcheer.training.trainer.fit",
)
_TORCHRUN: Final = """
from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler
from torch.distributed.run import main
from tests import copying

copying.copy_this_process()
subprocess_handler.Popen = copying.popen
main()
"""
_MOST_BYTES: Final = 1 << 20  # of a request: the environment is the largest part of it


class Copy:
    """What is needed of a subprocess.Popen with pipes for text, and called as there."""

    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        has_pipes: bool = True,
    ) -> None:
        """`command`: a script, or "-c" and its code, or "-m" and a module; and arguments.

        It leads a session of its own. Without pipes it has the streams of this process.
        """
        sys.audit(PROCESS_STARTED)
        request = {"command": list(command), "cwd": str(cwd), "env": dict(os.environ if env is None else env)}
        streams = self._pipes() if has_pipes else [os.dup(number) for number in range(3)]
        news = os.pipe()
        _ask(json.dumps(request).encode(), [*streams, news[1]])
        self._news: IO[bytes] = os.fdopen(news[0], "rb")
        self.args = list(command)
        self.pid = int(self._news.readline())
        self.returncode: int | None = None

    def _pipes(self) -> list[int]:
        """The other ends."""
        stdin, out, err = os.pipe(), os.pipe(), os.pipe()
        self.stdin = os.fdopen(stdin[1], "w", encoding="utf-8")
        self.stdout = os.fdopen(out[0], encoding="utf-8")
        self.stderr = os.fdopen(err[0], encoding="utf-8")
        return [stdin[0], out[1], err[1]]

    def poll(self) -> int | None:
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _wait(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._news], [], [], seconds)[0]:
            self.returncode = int(self._news.readline())
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """It is killed where it takes too long: a script that was left behind would slow down all others."""
        try:
            return self._communicate(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _communicate(self, timeout: float | None) -> tuple[str, str]:
        end = None if timeout is None else time.monotonic() + timeout
        self.stdin.close()
        found: dict[IO[str], str] = {}
        streams = (self.stdout, self.stderr)

        def read(stream: IO[str]) -> None:
            found[stream] = "" if stream.closed else stream.read()

        threads = [threading.Thread(target=read, args=(stream,), daemon=True) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
            if thread.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        self.wait(None if end is None else max(0.0, end - time.monotonic()))
        for stream in streams:
            stream.close()
        return found[self.stdout], found[self.stderr]


def run_copy(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    copy = Copy(command, cwd=cwd, env=env)
    out, err = copy.communicate(timeout)
    return subprocess.CompletedProcess(copy.args, copy.wait(), out, err)


def torchrun(
    *arguments: str, cwd: Path, env: Mapping[str, str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """A real one, on this machine alone. Its ranks are copies as well."""
    options = ["--standalone", "--monitor-interval", "0.05", *arguments]
    return run_copy(["-c", _TORCHRUN, *options], cwd=cwd, env=env, timeout=timeout)


def popen(
    args: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: int | None = None, **_: Any
) -> Copy:
    """In place of a subprocess.Popen of a Python with one option and "-m", with all pipes or none."""
    copy = Copy(args[2:], cwd=Path.cwd(), env=env, has_pipes=stdin is not None)
    if stdin is not None:
        for name in ("stdin", "stdout", "stderr"):
            setattr(copy, name, getattr(copy, name).detach().detach())  # neither text nor a buffer
    return copy


_this: socket.socket | None = None  # asks a copy of this process


def copy_this_process() -> None:
    """What is copied from now on is this one as it is, and not another that has to import all first."""
    global _this
    _this, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        _this.close()
        main, names = _as_main(_wait_for_a_script(theirs))
        exec(main, names)
        sys.exit()
    theirs.close()


def _original() -> socket.socket:
    return _this or _new_original()


@functools.cache
def _new_original() -> socket.socket:
    """Another one that is copied, started when it is first needed, and ended with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = Popen(  # also where a test has put `popen` into its place
            [sys.executable, "-m", "tests.copying", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "7"},  # sets have another order there than here
            start_new_session=True,  # Ctrl-C is for the tests, which then end it
        )
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            ours.shutdown(socket.SHUT_RDWR)  # forks of this process may hold it as well
            process.wait()

    atexit.register(end)
    return ours


def _ask(request: bytes, descriptors: list[int]) -> None:
    try:
        socket.send_fds(_original(), [request], descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


# --- the original, and what its copies do first ------------------------------------------------------------


def _wait_for_a_script(requests: socket.socket) -> list[str]:
    """Returns in a copy, with its command. The original ends with those who ask it."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _MOST_BYTES, 4)
        if not request:
            sys.exit()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            requests.close()
            return _become(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _become(request: dict[str, Any], descriptors: list[int]) -> list[str]:
    """In a child that is waited for: whoever asked is no parent of it, and is told how it ended."""
    *streams, news = descriptors
    pid = os.fork()
    if pid != 0:
        _tell_of(pid, streams, news)
    os.close(news)
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["env"])
    if threads := request["env"].get("OMP_NUM_THREADS"):  # which is read when torch is imported
        sys.modules["torch"].set_num_threads(int(threads))
    os.chdir(request["cwd"])
    command: list[str] = request["command"]
    return command


def _tell_of(pid: int, streams: list[int], news: int) -> NoReturn:
    for descriptor in streams:
        os.close(descriptor)
    os.write(news, b"%d\n" % pid)
    os.write(news, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def _as_main(command: list[str]) -> tuple[types.CodeType, dict[str, Any]]:
    module = types.ModuleType("__main__")
    name, *arguments = command
    if name == "-c":
        source, *arguments = arguments
        folder = ""
        code = compile(source, "<string>", "exec")
    elif name == "-m":
        module.__spec__ = importlib.util.find_spec(arguments.pop(0))
        assert module.__spec__ is not None
        name = module.__file__ = str(module.__spec__.origin)
        folder = str(Path.cwd())
        code = compile(Path(name).read_bytes(), name, "exec")
    else:
        folder = str(Path(name).parent)
        module.__file__ = name
        code = compile(Path(name).read_bytes(), name, "exec")
    sys.modules["__main__"] = module
    sys.argv[:] = [name, *arguments]
    sys.path.insert(0, folder)
    return code, module.__dict__


if __name__ == "__main__":
    for imported in _IMPORTED:
        importlib.import_module(imported)
    assert threading.active_count() == 1, "a copy has no threads but its own"
    gc.freeze()
    this = sys.modules["__main__"]  # kept: the next line puts another into its place
    main, names = _as_main(_wait_for_a_script(socket.socket(fileno=int(sys.argv[1]))))
    exec(main, names)  # the last line, so that the interpreter ends as that of a script does

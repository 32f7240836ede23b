"""TorchLens in a program of its own: it replaces torch's functions and leaves them replaced.

The bench says when it runs, so that it takes its turn in the same interleaved rounds as the others. It is an
ordinary program and not a multiprocessing child, which TorchLens refuses to capture in.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import torch

from bench.measure import seconds_of
from bench.models import build, requiring_grad


class Peer:
    """The bench's end: `load` a model, then ask for `seconds` as often as wanted."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def load(self, model_name: str, grad: bool) -> None:
        self._ask({"load": model_name, "grad": grad})

    def seconds(self) -> float:
        return self._ask({"run": True})

    def _ask(self, request: dict[str, Any]) -> float:
        print(json.dumps(request), file=self._requests, flush=True)
        answer = self._answers.readline()
        if not answer:
            raise RuntimeError("the TorchLens process ended; its own message stands above.")
        return float(json.loads(answer))


@contextmanager
def torchlens_process() -> Iterator[Peer | None]:
    """None where TorchLens is not installed."""
    if version() is None:
        yield None
        return
    command = [sys.executable, "-m", "bench.peer"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Peer(process.stdin, process.stdout)  # leaving closes its input, and with it the program


def version() -> str | None:
    try:
        return importlib.metadata.version("torchlens")
    except importlib.metadata.PackageNotFoundError:
        return None


class _Loaded:
    """A model that is ready to be traced."""

    def __init__(self, model_name: str, grad: bool) -> None:
        self._model, inputs = build(model_name)
        self._inputs = requiring_grad(inputs) if grad else inputs
        self._grad = grad
        self.seconds()  # the first trace wraps torch and prepares the model
        gc.collect()
        gc.freeze()

    def seconds(self) -> float:
        with torch.set_grad_enabled(self._grad):
            return seconds_of(self._trace)

    def _trace(self) -> Any:
        import torchlens

        return torchlens.trace(self._model, self._inputs)


def _serve(requests: IO[str], answers: IO[str]) -> None:
    loaded: _Loaded | None = None
    for line in requests:
        request = json.loads(line)
        answer = 0.0
        if "load" in request:
            loaded = None
            gc.unfreeze()
            gc.collect()
            loaded = _Loaded(request["load"], request["grad"])
        elif loaded is not None:
            answer = loaded.seconds()
        print(json.dumps(answer), file=answers, flush=True)


def _main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # Whatever TorchLens prints must not get among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    _serve(sys.stdin, answers)


if __name__ == "__main__":
    _main()

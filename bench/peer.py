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
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import torch

from bench.measure import seconds_of
from bench.models import build, requiring_grad


class Program:
    """The bench's end of a program of its own, which answers each line with a line."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers

    def ask(self, request: Any) -> Any:
        print(json.dumps(request), file=self._requests, flush=True)
        answer = self._answers.readline()
        if not answer:
            raise RuntimeError("a program of the bench ended; its own message stands above.")
        return json.loads(answer)


@contextmanager
def program(module: str, *arguments: str, **environment: str) -> Iterator[Program]:
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Program(process.stdin, process.stdout)  # leaving closes its input, and with it the program


def answers_alone() -> IO[str]:
    """Standard output, for the answers; whatever else such a program prints goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    return answers


def torchlens_process() -> AbstractContextManager[Program | None]:
    """None where TorchLens is not installed."""
    return nullcontext() if version() is None else program("bench.peer")


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
    _serve(sys.stdin, answers_alone())


if __name__ == "__main__":
    _main()

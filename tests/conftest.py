"""What holds for every test: one thread, one seed, no hub."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers and timm are imported
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when NumPy is imported
os.environ["NUMBA_NUM_THREADS"] = "1"  # read when umap imports it; it sets torch's threads as well

import asyncio
import gc
import random
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import uvicorn.server
from hypothesis import HealthCheck, settings

from tests.browser.chromium import MISSING, find_chromium
from tests.many import examples
from tests.timing import Timing

# The tests run in several processes, so one thread each is the fastest; it is also the most repeatable.
torch.set_num_threads(1)

# `torch.manual_seed` notes a seed for each accelerator that is not there, with a formatted stack: under
# pytest this takes a millisecond, and most tests seed.
if not torch.accelerator.is_available():
    for module in (torch.cuda.random, torch.xpu.random, torch.mtia):
        module._lazy_call = lambda *_, **__: None  # type: ignore[attr-defined]

# Where the tests run in the background of a shell, Ctrl-C is ignored, and by all that they start as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test may fail because the machine is busy, and each run tries the same examples: what passed here passes
# elsewhere. HYPOTHESIS_PROFILE=explore looks for others.
for name, derandomize in (("steady", True), ("explore", False)):
    settings.register_profile(
        name,
        deadline=None,
        derandomize=derandomize,
        max_examples=examples(100),
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Timing())


def pytest_collection_finish() -> None:
    """What is imported stays: collections in tests need not look at it, and take a tenth of the time."""
    gc.collect()
    gc.freeze()


class _Hurried:
    """asyncio for uvicorn, which looks every tenth of a second whether it shall end, and waits one more."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Hurried()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def process_as_before() -> Iterator[None]:
    """The compiler is on or off for the whole process: who leaves it off changes what later tests see.

    A copy of a process in which torch has used several threads hangs as soon as it wants to use them.
    """
    yield
    assert torch.get_num_threads() == 1
    if "torch._dynamo" in sys.modules:
        assert sys.modules["torch._dynamo.eval_frame"]._stance.stance == "default"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A skipped test is easily overlooked: that the pages were not tried in a browser must not be."""
    if find_chromium() is None:
        terminalreporter.write_sep("=", MISSING, red=True, bold=True)

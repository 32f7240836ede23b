"""Capture AlexNet, keep features of digits, train on them, and offer a training to step; show it all.

Run it with `make demo`, or `python -m examples.demo [FOLDER] [--no-serve]`.
"""

import argparse
import csv
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

import torcheer as tl
from examples import digits, digits_features, digits_trials
from examples.alexnet import alexnet_and_image
from examples.alexnet_netview import record
from torcheer.app import view
from torcheer.training.control import Control

COLUMNS = (
    "layer_label",
    "func_applied_name",
    "containing_module_origin",
    "tensor_shape",
    "tensor_dtype",
    "tensor_fsize",
    "func_time_elapsed",
)
WELCOME = """\
All of it, live, until Ctrl-C (make demo DEMO=--no-serve leaves it out). The start page leads to the pass of
AlexNet, the digits that train now, both networks in NetView, features of all digits, and a training that you
step yourself. The tab Learn shows how gradients come about, step by step, with exercises; `torcheer learn`
opens it alone."""
LAYERS_TO_KEEP = ("features.0", "features.6", "avgpool", "classifier.6")


def write_ops(history: tl.ModelHistory, path: Path) -> None:
    """One line for each operation, in the order in which they ran."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for layer in history.layer_list:
            writer.writerow([getattr(layer, column) for column in COLUMNS])


def write_activations(history: tl.ModelHistory, folder: Path) -> None:
    for address in LAYERS_TO_KEEP:
        activation = history[address].tensor_contents
        np.save(folder / f"alexnet_{address}.npy", activation.detach().numpy())


def capture(folder: Path) -> None:
    """One pass in full detail, as text, table, arrays, picture, page and file."""
    model, x = alexnet_and_image()

    history = tl.log_forward_pass(model, x, layers_to_save="all", save_gradients=True)
    history.log_backward(history.output.logsumexp(1).sum())
    print(history)
    print()
    summary = tl.summary(model, x)
    print(summary)
    print()

    (folder / "alexnet_history.txt").write_text(f"{history}\n", encoding="utf-8")
    (folder / "alexnet_summary.txt").write_text(f"{summary}\n", encoding="utf-8")
    write_ops(history, folder / "alexnet_ops.csv")
    write_activations(history, folder)
    history.draw(vis_outpath=folder / "alexnet.svg", vis_save_only=True)
    history.to_html(folder / "alexnet.html")
    history.save(folder / "alexnet.safetensors")


def train(runs: Path) -> None:
    """A CNN on digits, with all the pages, and three more, of which one breaks."""
    digits.main(runs, num_epochs=60)
    digits_trials.main(runs, num_epochs=30)


@contextmanager
def training(runs: Path) -> Iterator[BaseProcess]:
    """Train in another process, as long as it takes or until this ends."""
    process = get_context("spawn").Process(target=train, args=[runs])
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join()


def main(folder: Path, *, serve: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    capture(folder)

    runs, features = folder / "runs", folder / "features"
    for old in (runs, features):  # of the demo before; otherwise its trainings would be resumed
        shutil.rmtree(old, ignore_errors=True)
    digits_features.main(features / "digits")
    with training(runs) as process:
        record(runs / "alexnet-network")
        if serve:
            print(WELCOME)
            sys.stdout.flush()
            view([folder], controls=[Control("examples.etra25:loop", folder=runs / "etra25")])
            return
        process.join()
        if process.exitcode != 0:
            raise SystemExit("the training failed: see above")
    print()
    print("How gradients come about, step by step: `torcheer learn`.")
    print(f"Left in {folder.resolve()}:")
    for path in sorted(folder.iterdir()):
        print(f"    {path.name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("demo-output"))
    parser.add_argument("--no-serve", action="store_true", help="end without the browser page")
    chosen = parser.parse_args()
    main(chosen.folder, serve=not chosen.no_serve)

"""Capture AlexNet and train a small CNN on digits; leave both in a folder, and show them in the browser.

Run it with `make demo`, or `python -m examples.demo [FOLDER] [--no-serve]`.
"""

import argparse
import csv
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import torcheer as tl
from examples.alexnet import alexnet_and_image
from torcheer.app.viewing import view

COLUMNS = (
    "layer_label",
    "func_applied_name",
    "containing_module_origin",
    "tensor_shape",
    "tensor_dtype",
    "tensor_fsize",
    "func_time_elapsed",
)
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


@contextmanager
def training(runs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Train in another process, as long as it takes or until this ends."""
    process = subprocess.Popen([sys.executable, "-m", "examples.digits", str(runs)])
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def main(folder: Path, *, serve: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    capture(folder)

    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)  # of the demo before; otherwise its trainings would be resumed
    with training(runs) as process:
        if serve:
            print("The pass and the trainings, live, until Ctrl-C (make demo DEMO=--no-serve leaves it out):")
            sys.stdout.flush()
            view([folder])
            return
        if process.wait() != 0:
            raise SystemExit("the training failed: see above")
    print()
    print(f"Left in {folder.resolve()}:")
    for path in sorted(folder.iterdir()):
        print(f"    {path.name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("demo-output"))
    parser.add_argument("--no-serve", action="store_true", help="end without the browser page")
    chosen = parser.parse_args()
    main(chosen.folder, serve=not chosen.no_serve)

"""Capture AlexNet, print what happened in it, and leave the results in a folder.

Run it with `make demo`, or `python -m examples.demo FOLDER`.
"""

import csv
import sys
from pathlib import Path

import numpy as np

import torcheer as tl
from examples.alexnet import alexnet_and_image

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


def main(folder: Path) -> None:
    model, x = alexnet_and_image()

    history = tl.log_forward_pass(model, x, layers_to_save="all")
    print(history)
    print()
    summary = tl.summary(model, x)
    print(summary)

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "alexnet_history.txt").write_text(f"{history}\n", encoding="utf-8")
    (folder / "alexnet_summary.txt").write_text(f"{summary}\n", encoding="utf-8")
    write_ops(history, folder / "alexnet_ops.csv")
    write_activations(history, folder)

    print()
    print(f"Left in {folder.resolve()}:")
    for path in sorted(folder.iterdir()):
        print(f"    {path.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))

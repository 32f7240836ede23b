"""The tour notebook runs from top to bottom, and shows what it says it shows."""

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent.parent / "examples"
TOUR = EXAMPLES / "tour.ipynb"


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the Python of these tests, whatever other kernels there are. An error in a cell is an error here."""
    kernel = folder / "kernels" / "tour"
    kernel.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "tour", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    # What it writes goes where the tests' other files go; one thread, as in all tests.
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # `alexnet` is the file beside the notebook: a kernel starts in the folder of its notebook.
    where = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(notebook, timeout=300, kernel_name="tour", resources=where).execute()


def outputs_of(tour: Any, code: str) -> list[Any]:
    """What the cell shows whose source has that code in it."""
    [cell] = [cell for cell in tour.cells if cell.cell_type == "code" and code in cell.source]
    return list(cell.outputs)


def text_of(tour: Any, code: str) -> str:
    outputs = outputs_of(tour, code)
    return "\n".join(one.get("text") or one.get("data", {}).get("text/plain", "") for one in outputs)


def picture_of(tour: Any, code: str) -> str:
    """The one picture that a cell shows."""
    shown = [one.data for one in outputs_of(tour, code) if "data" in one]
    [picture] = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
    return str(picture)


def page_data_of(tour: Any, code: str) -> Any:
    [shown] = [one.data["text/html"] for one in outputs_of(tour, code)]
    match = re.search(r'srcdoc="([^"]*)"', shown)
    assert match is not None
    page = html.unescape(match[1])
    return json.loads(page.partition('id="torcheer-data">')[2].partition("</script>")[0])


def test_the_notebook_is_kept_without_its_outputs() -> None:
    notebook = nbformat.read(TOUR, as_version=4)

    nbformat.validate(notebook)
    assert TOUR.stat().st_size < 20_000
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)


def test_the_tour_runs_and_every_cell_shows_what_the_text_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tour = nbformat.read(TOUR, as_version=4)

    run(tour, tmp_path, monkeypatch)

    assert "Log of AlexNet forward pass" in text_of(tour, "print(history)")
    assert text_of(tour, "history[7]") == "True"
    assert text_of(tour, "torch.equal") == "True"
    assert "conv2d_4" in text_of(tour, "history.find")
    assert "log_1" in text_of(tour, "class Broken")
    assert text_of(tour, "history.validate()").startswith("valid:")
    assert re.search(r"\d\.\d MB", text_of(tour, "to_html"))
    assert "features" in picture_of(tour, "history.draw")
    assert "tanh" in picture_of(tour, "show_model_graph")
    data = page_data_of(tour, "history.show()")
    assert data["document"]["model_name"] == "AlexNet"
    assert data["document"]["num_backward_passes"] == 1
    assert {one["kind"] for one in data["tensors"]} == {"output", "grad", "param", "param_grad"}

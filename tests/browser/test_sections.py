"""What runs hold besides scalars, in a real page: what was logged is what is seen, to the pixel."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from sklearn import metrics
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import eventually, expect_equal, expect_param, go_to, place_of, two_frames
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

STEPS = (0, 10, 20)
CLASSES = ["cat", "dog", "<b>bird</b>"]
MATRIX = np.array([[80, 38, 2], [10, 90, 0], [0, 5, 7]])
MARKDOWN = """# Head

**bold** <img src=x onerror=alert(1)> [home](http://example.org)

| a | b |
|---|---|
| 1 | 2 |
"""
HOSTILE = "<script>alert(1)</script>"

# The pixels of a canvas, as they are kept: the screen may show them larger.
_PIXELS = """(canvas) => {
  const { width, height } = canvas;
  return [width, height, [...canvas.getContext("2d").getImageData(0, 0, width, height).data]];
}"""


def picture(step: int) -> np.ndarray:
    return np.random.default_rng(step).integers(0, 256, (6, 9, 3), dtype=np.uint8)


def frames(step: int) -> np.ndarray:
    return np.random.default_rng(100 + step).integers(0, 256, (5, 3, 4, 6), dtype=np.uint8)


def judged(step: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(step)
    labels = random.integers(0, 2, 200)
    return labels, np.clip(0.5 + 0.2 * (labels - 0.5) + random.normal(0, 0.2, 200), 0, 1)


def log_all(run: Any, step: int) -> None:
    run.log_histogram(step, "layer.weight", np.random.default_rng(step).normal(0, 1 + step, 1000), bins=20)
    run.log_image(
        step, "samples", picture(step), dataformats="HWC", boxes=[[1, 1, 5, 4]], box_labels=[HOSTILE]
    )
    run.log_video(step, "roll", frames(step), frames_per_second=20)
    run.log_audio(step, "tone", np.sin(np.arange(4000) / 5).astype("f4"), sample_rate=8000)
    run.log_text(step, "notes", f"{MARKDOWN}\nat {step}")
    run.log_pr_curve(step, "cat", *judged(step), num_thresholds=101)
    run.log_confusion(step, "val/confusion", MATRIX + step, labels=CLASSES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    with tl.Run(root / "first") as run:
        for step in STEPS:
            log_all(run, step)
        run.log_text(0, HOSTILE, HOSTILE)
    return root


@pytest.fixture
def training(looked: Page, serving: Serving) -> Page:
    """The page as it is by itself: all that was chosen stands in the address."""
    go_to(looked, serving, "training")
    return looked


def figure(page: Page, name: str) -> Locator:
    found = page.get_by_role("figure", name=name, exact=True)
    found.scroll_into_view_if_needed()
    return found


def pixels(canvas: Locator) -> np.ndarray:
    width, height, data = canvas.evaluate(_PIXELS)
    return np.array(data, dtype=np.uint8).reshape(height, width, 4)[..., :3]


def wait_for_pixels(canvas: Locator, wanted: np.ndarray) -> None:
    """Until they are there; the assertion says what is there instead."""
    eventually(lambda: np.testing.assert_array_equal(pixels(canvas), wanted))


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=f"Step of {name}", exact=True)


def saved(page: Page, button: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return Path(download.value.path()).read_bytes()


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


# --- pictures ------------------------------------------------------------------------------------


def test_a_picture_has_the_pixels_that_were_logged_at_every_step(training: Page) -> None:
    canvas = figure(training, "samples").locator("canvas")
    wait_for_pixels(canvas, picture(20))

    slider(training, "samples").press("ArrowLeft")
    wait_for_pixels(canvas, picture(10))
    slider(training, "samples").press("Home")
    wait_for_pixels(canvas, picture(0))
    slider(training, "samples").press("End")
    wait_for_pixels(canvas, picture(20))


def test_a_picture_says_its_size_and_what_was_marked_in_it(training: Page) -> None:
    shown = figure(training, "samples")

    expect(shown).to_contain_text("9×6")
    expect(shown.locator("svg text")).to_have_text(HOSTILE)
    expect(shown.get_by_role("img", name=re.compile("1 box"))).to_be_visible()


def test_a_picture_can_be_made_larger_and_fitted_again(training: Page) -> None:
    shown = figure(training, "samples")
    shown.get_by_role("button", name="Zoom out of samples").click()
    shown.get_by_role("button", name="Zoom out of samples").click()
    small = place_of(shown.locator("canvas"))
    shown.get_by_role("button", name="Zoom into samples").click()
    # Whole pixels of the screen for a pixel of the picture.
    assert small.width % 9 == 0
    expect_equal(lambda: place_of(shown.locator("canvas")).width, pytest.approx(2 * small.width))

    shown.get_by_role("button", name="Fit samples").click()
    expect(shown.get_by_role("button", name="Fit samples")).to_have_attribute("aria-pressed", "true")


def test_the_step_and_the_options_survive_a_reload(training: Page) -> None:
    figure(training, "samples")
    slider(training, "samples").press("Home")
    training.get_by_role("radio", name="Smooth").click()
    expect(training).to_have_url(re.compile("at=.*pixels=smooth"))

    training.reload()

    wait_for_pixels(figure(training, "samples").locator("canvas"), picture(0))
    expect(training.get_by_role("radio", name="Smooth")).to_be_checked()


def test_a_picture_is_saved_as_it_was_logged(training: Page, folder: Path) -> None:
    wait_for_pixels(figure(training, "samples").locator("canvas"), picture(20))

    data = saved(training, "Save samples of first")

    assert data.startswith(b"\x89PNG")
    assert data == tl.open_run(folder / "first").images("samples")[-1].raw


# --- videos, sound, text ---------------------------------------------------------------------------


def test_a_video_shows_each_frame_and_plays(training: Page) -> None:
    shown = figure(training, "roll")
    canvas = shown.locator("canvas")
    wanted = frames(20).transpose(0, 2, 3, 1)
    wait_for_pixels(canvas, wanted[0])
    frame = training.get_by_role("slider", name="Frame of roll of first")
    frame.press("ArrowRight")
    frame.press("ArrowRight")
    wait_for_pixels(canvas, wanted[2])

    shown.get_by_role("button", name="Play roll of first").click()

    # Looked for in each frame of the page: it is there for a moment only.
    training.wait_for_function(
        """() => document.querySelector("canvas[aria-label$='frame 5 of 5']") !== null"""
    )
    shown.get_by_role("button", name="Pause roll of first").click()


def test_a_sound_has_its_length_plays_and_is_saved(training: Page) -> None:
    shown = figure(training, "tone")
    expect(shown).to_contain_text(
        "500 ms · 8000 Hz · 1 channel".replace(" ms", "\u202fms").replace(" Hz", "\u202fHz")
    )
    shown.get_by_role("button", name="Play tone of first").click()
    expect(shown.get_by_role("button", name="Pause tone of first")).to_be_visible()

    assert saved(training, "Save tone of first")[:4] == b"RIFF"


def test_markdown_becomes_elements_and_never_html(training: Page) -> None:
    shown = figure(training, "notes")
    expect(shown.get_by_role("heading", name="Head")).to_be_visible()
    expect(shown.locator("b").filter(has_text="bold")).to_be_visible()
    expect(shown.get_by_role("cell", name="2")).to_be_visible()
    expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    expect(shown).to_contain_text("(http://example.org)")
    expect(training.locator(".sections :is(img, a, script, iframe)")).to_have_count(0)

    training.get_by_role("radio", name="Plain").click()

    expect(shown.locator("pre")).to_contain_text("# Head")


def test_texts_can_be_listed_with_the_newest_first(training: Page) -> None:
    shown = figure(training, "notes")
    training.get_by_role("radio", name="List").click()

    expect(shown.locator("article")).to_have_count(3)
    expect(shown.locator("article").first).to_contain_text("step 20")


def test_a_name_is_text_whatever_it_says(training: Page) -> None:
    shown = figure(training, HOSTILE)
    expect(shown).to_contain_text(HOSTILE)
    training.get_by_role("radio", name="Plain").click()
    expect(shown.locator("pre")).to_have_text(HOSTILE)


# --- evaluation -------------------------------------------------------------------------------------


def test_the_figures_at_a_threshold_are_those_of_the_data(training: Page) -> None:
    figure(training, "cat, precision over recall")
    row = training.get_by_role("table", name=re.compile("^cat at threshold")).locator("tbody tr")
    labels, scores = judged(20)
    threshold = training.get_by_role("slider", name="Threshold of cat")
    for presses in range(3):
        said = scores >= 0.5 + presses / 100
        hits, wrong = int((said & (labels == 1)).sum()), int((said & (labels == 0)).sum())
        missed = int((~said & (labels == 1)).sum())
        precision, recall = hits / (hits + wrong), hits / (hits + missed)
        f1 = 2 * precision * recall / (precision + recall)
        wanted = [f"{one:.3f}" for one in (precision, recall, f1)] + [str(hits), str(wrong), str(missed)]
        expect_equal(lambda: row.locator("td").all_inner_texts()[2:8], wanted)
        threshold.press("ArrowRight")
    expect_param(training, "threshold", "0.53")


def test_the_areas_are_near_those_of_scikit_learn(training: Page) -> None:
    figure(training, "cat, precision over recall")
    row = training.get_by_role("table", name=re.compile("^cat at threshold")).locator("tbody tr")

    expect(row.locator("td").first).to_have_text(re.compile(r"^\d"))

    # A hundred thresholds against all of them.
    wanted = [metrics.average_precision_score(*judged(20)), metrics.roc_auc_score(*judged(20))]
    expect_equal(
        lambda: [float(text) for text in row.locator("td").all_inner_texts()[:2]],
        pytest.approx(wanted, abs=0.01),
    )


def test_a_curve_is_saved_with_its_counts(training: Page) -> None:
    expect(figure(training, "cat, ROC").get_by_role("img")).to_be_visible()

    rows = rows_of(saved(training, "Save cat as CSV"))

    assert len(rows) == 101
    assert [row["run"] for row in rows] == ["first"] * 101
    assert int(rows[0]["true positives"]) == int(judged(20)[0].sum())


def test_a_confusion_matrix_is_read_by_keys_and_as_a_table(training: Page) -> None:
    shown = figure(training, "val/confusion, confusion")
    drawing = shown.get_by_role("img", name=re.compile("confusion matrix of 3 classes"))
    drawing.focus()
    drawing.press("ArrowRight")
    expect(shown.get_by_role("status")).to_have_text("cat read as itself: 100")
    drawing.press("ArrowRight")
    expect(shown.get_by_role("status")).to_have_text("cat read as dog: 58")

    shown.get_by_role("button", name="Show val/confusion of first as table").click()

    expect(shown.locator("tbody td")).to_have_text([str(one) for one in (MATRIX + 20).flatten()])
    training.get_by_role("radio", name="Per cent").click()
    expect(shown.locator("tbody td").first).to_have_text(f"{100 * 100 / (100 + 58 + 22):.1f}")


# --- distributions ------------------------------------------------------------------------------------


def test_a_distribution_has_the_counts_that_were_logged(training: Page) -> None:
    expect(figure(training, "layer.weight, heat map").get_by_role("img")).to_be_visible()

    rows = rows_of(saved(training, "Save layer.weight as CSV"))

    assert sorted({int(row["step"]) for row in rows}) == list(STEPS)
    for step in STEPS:
        assert sum(float(row["count"]) for row in rows if int(row["step"]) == step) == pytest.approx(1000)


def test_pointing_at_the_map_says_step_bin_and_count(training: Page) -> None:
    shown = figure(training, "layer.weight, heat map")
    canvas = shown.locator("canvas")
    expect(shown.get_by_role("img")).to_be_visible()

    def is_read() -> None:
        place = place_of(canvas)
        training.mouse.move(place.x + 149, place.y + 100)
        training.mouse.move(place.x + 150, place.y + 100)
        two_frames(training)
        assert re.match(r"^step 10: .+ to .+ · ", shown.locator(".sec-remark").inner_text())

    eventually(is_read)
    expect(shown.locator(".sec-cursor")).to_have_count(1)
    expect(training.locator(".sec-pair .sec-cursor")).to_have_count(1)


def test_groups_close_and_stay_closed(training: Page) -> None:
    head = training.get_by_role("button", name=re.compile("^images"))
    figure(training, "samples")
    head.click()
    expect(training.get_by_role("figure", name="samples")).to_have_count(0)

    training.reload()

    expect(head).to_have_attribute("aria-expanded", "false")
    head.click()
    expect(training.get_by_role("figure", name="samples")).to_have_count(1)


# --- live, damaged, disconnected ------------------------------------------------------------------------


def test_new_records_are_shown_unless_a_step_is_held(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "live") as run, serve_runs_in_background(tmp_path, secret=SECRET) as served:
        log_all(run, 0)
        page.goto(f"{served.url}#training")
        canvas = figure(page, "samples").locator("canvas")
        wait_for_pixels(canvas, picture(0))

        log_all(run, 10)
        wait_for_pixels(canvas, picture(10))

        slider(page, "samples").press("Home")
        wait_for_pixels(canvas, picture(0))
        log_all(run, 20)
        expect(slider(page, "samples")).to_have_attribute("max", "2")
        two_frames(page)
        np.testing.assert_array_equal(pixels(canvas), picture(0))
        page.get_by_role("button", name="Follow the newest step of samples").click()
        wait_for_pixels(canvas, picture(20))


def test_a_damaged_record_explains_itself_and_the_others_live(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "first") as run:
        log_all(run, 0)
    part = next((tmp_path / "first").glob("*.sqlite"))
    of_kind = (
        "WHERE record IN "
        "(SELECT records.id FROM records JOIN names ON names.id = records.name WHERE kind = ?)"
    )
    with contextlib.closing(sqlite3.connect(part)) as file, file:
        for kind in ("image", "audio"):
            file.execute(f"UPDATE data SET bytes = zeroblob(length(bytes)) {of_kind}", (kind,))
        file.execute(f"UPDATE data SET bytes = x'00' {of_kind}", ("confusion",))
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#training")
        expect(figure(page, "samples").get_by_role("alert")).to_contain_text("no PNG")
        expect(figure(page, "tone").get_by_role("alert")).to_contain_text("no WAV")
        expect(figure(page, "val/confusion, confusion").get_by_role("alert")).to_contain_text("damaged")
        wait_for_pixels(figure(page, "roll").locator("canvas"), frames(0).transpose(0, 2, 3, 1)[0])


def test_what_was_there_stays_when_the_server_goes(page: Page, folder: Path) -> None:
    with serve_runs_in_background(folder, secret=SECRET) as served:
        page.goto(f"{served.url}#training")
        canvas = figure(page, "samples").locator("canvas")
        wait_for_pixels(canvas, picture(20))
    expect(page.get_by_role("banner")).to_contain_text(re.compile("lost|last"))
    slider(page, "samples").press("Home")
    two_frames(page)
    np.testing.assert_array_equal(pixels(canvas), picture(20))
    expect(page.get_by_role("alert")).to_have_count(0)


def test_runs_stand_side_by_side_in_their_colours(page: Page, tmp_path: Path) -> None:
    for name in ("one", "two"):
        with tl.Run(tmp_path / name) as run:
            log_all(run, 10 if name == "one" else 20)
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#training")
        shown = figure(page, "samples")
        expect(shown.locator("canvas")).to_have_count(2)
        expect_equal(
            lambda: {pixels(one).tobytes() for one in shown.locator("canvas").all()},
            {picture(10).tobytes(), picture(20).tobytes()},
        )
        colours = shown.locator(".sec-sw").evaluate_all(
            "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"
        )
        assert len(set(colours)) == 2
        slider(page, "samples").press("Home")
        expect(shown).to_contain_text("begins at step 20")
        table = page.get_by_role("table", name=re.compile("^cat at threshold"))
        expect(table.locator("tbody tr")).to_have_count(2)


def test_a_gif_of_an_event_file_plays(page: Page, tmp_path: Path) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    first, *rest = [Image.new("RGB", (8, 6), colour) for colour in colours]
    gif = io.BytesIO()
    first.save(gif, "GIF", save_all=True, append_images=rest, duration=50, loop=0)
    picture_of = summary_pb2.Summary.Image(
        height=6, width=8, colorspace=3, encoded_image_string=gif.getvalue()
    )
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="clip", image=picture_of)])
    writer = EventFileWriter(str(tmp_path))
    writer.add_event(event_pb2.Event(wall_time=1.0, step=3, summary=summary))
    writer.close()
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#training")
        shown = figure(page, "clip")
        frame = page.get_by_role("slider", name=re.compile("^Frame of clip"))
        for nth, colour in enumerate(colours):
            wait_for_pixels(shown.locator("canvas"), np.full((6, 8, 3), colour, dtype=np.uint8))
            expect(frame).to_have_value(str(nth))
            frame.press("ArrowRight")

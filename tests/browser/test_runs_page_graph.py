"""Passes that were put into a run: opened in Graph, with what an op did over the run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

import torcheer as tl
from tests.browser.pages import expect_true
from tests.browser.passes import pictures_model
from tests.browser.screen import Screen
from torcheer.app.server import Serving

STEPS = (0, 100, 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    torch.manual_seed(0)
    model = pictures_model()
    with tl.Run(folder / "first") as run:
        for step in STEPS:
            run.log_pass(step, "model", tl.log_forward_pass(model, torch.randn(1, 3, 12, 12)))
            run.log(step, {"loss": 1.0, "stem.weight_norm": float(step), "stem.weight": 2.0, "stem2": 3.0})
            run.log_tensor(step, "stem.weight", model.stem.weight)
    tl.log_forward_pass(model, torch.randn(1, 3, 12, 12)).save(folder / "alone.safetensors")
    return folder


def open_pass(page: Page, serving: Serving) -> Screen:
    page.goto(serving.url)
    page.get_by_role("region", name="Passes").get_by_role("link", name=re.compile("first · 3 passes")).click()
    screen = Screen(page)
    screen.is_ready()
    return screen


def select(screen: Screen, name: str) -> None:
    screen.item(name).click()
    expect(screen.title).to_have_text(name)


def test_the_newest_pass_opens_in_graph_and_an_op_shows_what_it_did_over_the_run(
    page: Page, serving: Serving
) -> None:
    screen = open_pass(page, serving)
    expect(page.get_by_role("banner")).to_contain_text("first, step 200")
    select(screen, "stem")
    section = screen.section("Over the run")
    expect(section).to_contain_text("Output of this op in 3 passes")
    charts = section.get_by_role("img")
    expect(
        section.get_by_role("img", name="mean, from min to max of the output, from step 0 to 200")
    ).to_be_visible()
    expect(section.get_by_role("img", name="std of the output, from step 0 to 200")).to_be_visible()
    expect_true(lambda: charts.count() >= 3)
    # So do series named after it, and others do not.
    expect(section.get_by_role("img", name="stem.weight, 3 points")).to_be_visible()
    expect(section).not_to_contain_text("stem2")
    expect(section).not_to_contain_text("loss")
    link = section.get_by_role("link", name="stem.weight")
    expect(link).to_have_count(1)
    link.click()
    expect(page).to_have_url(re.compile("#tensors\\?.*tensor=stem.weight"))


def test_a_pass_that_was_saved_alone_has_nothing_over_a_run(page: Page, serving: Serving) -> None:
    screen = open_pass(page, serving)
    page.get_by_role("button", name=re.compile("first, step 200")).click()
    passes = page.get_by_role("listbox", name="Passes")
    expect(passes.get_by_role("option")).to_have_count(4)
    passes.get_by_role("option").filter(has_text="alone").click()
    screen.is_ready()
    select(screen, "stem")
    expect(screen.section("Over the run")).to_have_count(0)


def test_what_is_selected_and_open_comes_back_on_reload_and_with_the_way_back(
    page: Page, serving: Serving
) -> None:
    screen = open_pass(page, serving)
    was_open = screen.item("blocks").get_attribute("aria-expanded")
    screen.item("blocks").locator(".chevron").click()
    is_open = "false" if was_open == "true" else "true"
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", is_open)
    select(screen, "head")
    expect(page).to_have_url(re.compile("pass=.*sel="))
    page.reload()
    screen.is_ready()
    expect(screen.title).to_have_text("head")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", is_open)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("grid", name="Runs")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("g")
    screen.is_ready()
    expect(screen.title).to_have_text("head")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", is_open)


def test_each_pass_has_an_address_and_the_way_back_leads_to_the_one_before(
    page: Page, serving: Serving
) -> None:
    screen = open_pass(page, serving)
    page.get_by_role("button", name=re.compile("first, step 200")).click()
    page.get_by_role("listbox", name="Passes").get_by_role("option", name=re.compile("step 100")).click()
    expect(page.get_by_role("banner")).to_contain_text("first, step 100")
    page.go_back()
    expect(page.get_by_role("banner")).to_contain_text("first, step 200")
    screen.is_ready()


def test_the_address_of_a_pass_that_is_gone_says_so_and_leads_on(page: Page, serving: Serving) -> None:
    page.goto(serving.url)
    expect(page.get_by_role("grid", name="Runs")).to_be_visible()
    page.goto(page.url.partition("#")[0] + "#graph?pass=gone&sel=o99999&open=s4,x")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("The pass of this address cannot be shown")
    page.get_by_role("alert").get_by_role("button").click()
    Screen(page).is_ready()

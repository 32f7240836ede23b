# Everything runs in .venv, made on first use; `make clean` takes it all away.

PYTHON  ?= python3

VENV := .venv
BIN  := $(VENV)/bin
# Always with the constraints: they keep torch at a version that all the rest was tried with. Compiled is what is
# imported, when it is: to compile all of it would take as long as to install it.
INSTALL := $(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check -c constraints.txt

# Bytecode is kept wherever this runs: the tests start some hundred processes, and each would compile all anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all coverage lint style types web web-check browser torture zoo bench gallery docs docs-outputs format clean

help:
	@echo "make demo    capture AlexNet, train on digits, offer a training to step and a lesson, all in the browser"
	@echo "             (DEMO=--no-serve ends without the browser page)"
	@echo "make test    linters, types, import contracts, the front end and the tests"
	@echo "make test-all"
	@echo "             the same with all models, long lists and more examples; some 20 minutes"
	@echo "make coverage"
	@echo "             which lines and branches the tests run; COVERAGE=all for those of test-all"
	@echo "make lint    the same without the tests"
	@echo "make format  put the code into the form that lint asks for"
	@echo "make web     build the front end into src/torcheer/app/static"
	@echo "make torture kill writers and ranks at random instants, watch a training for ten minutes, and look at"
	@echo "             what is left; read a hundred thousand damaged files, and measure what that takes"
	@echo "make zoo     capture, validate and draw every real architecture"
	@echo "make bench   measure against the bare forward pass and against others; some 20 minutes"
	@echo "make gallery draw the pictures of docs/gallery again, and photograph the pages"
	@echo "make docs    the API reference, in build/docs/"
	@echo "make docs-outputs"
	@echo "             run the code in README.md and docs/, and write what it prints below it"
	@echo "make clean   remove .venv and whatever was built"

$(VENV)/runtime.stamp: pyproject.toml constraints.txt
	@echo "Installing torcheer into $(VENV); the first time takes a minute."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) torch hatchling editables
	@$(INSTALL) --no-build-isolation -e .
	@touch $@

# torchvision comes before timm, which would otherwise ask for all that torchvision depends on.
$(VENV)/vision.stamp: $(VENV)/runtime.stamp
	@$(INSTALL) pillow
	@$(INSTALL) --no-deps torchvision
	@touch $@

$(VENV)/demo.stamp: $(VENV)/runtime.stamp
	@$(INSTALL) --no-build-isolation -e '.[demo]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/vision.stamp
	@echo "Installing the tools for development and testing."
	@$(INSTALL) --no-build-isolation -e '.[dev]'
	@touch $@

$(VENV)/bench.stamp: $(VENV)/vision.stamp
	@echo "Installing what the bench compares with."
	@$(INSTALL) --no-build-isolation -e '.[bench]'
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/python -m examples.demo $(DEMO)

lint: style types

style: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Rebuilds the front end where Node is, and fails if the committed bundle differs from it.
web-check:
	@web/check.sh

web:
	cd web && npm ci && npm run build

# A browser for the tests: Debian's chromium where this may install it, any Chrome that is there else.
browser: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.browser.chromium

# Every check, and where the time went; tests/check.py says in which order.
test: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.check

# The same with whole lists, more examples, the zoo, and the short forms of torture.
test-all: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.check --all

# Lines and branches of src that `make test` runs; COVERAGE=all for those of test-all, without torture.
coverage: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.check --coverage $(if $(COVERAGE),--$(COVERAGE))

# Writers killed at random instants: the run must open and miss no more than the last half second. Then a training
# that is watched for ten minutes while its children are killed: memory stays flat, and what is lost is counted.
# Then extractions whose ranks are killed under torchrun: in the end the features are equal to the last bit.
# Then damaged event folders, layouts, manifests and run parts: memory and time stay in proportion to their bytes.
torture: $(VENV)/dev.stamp
	$(BIN)/python -m tests.run.torture --kills 200
	$(BIN)/python -m tests.inspector.torture --seconds 600
	$(BIN)/python -m tests.features.torture --kills 50
	$(BIN)/python -m tests.run.torture_files --inputs 100000

zoo: $(VENV)/dev.stamp
	TESTS=all $(BIN)/pytest -n 3 -m '' tests/zoo

# Graphviz is what TorchLens draws with; where it cannot be installed that comparison is left out.
bench: $(VENV)/bench.stamp
	@command -v dot >/dev/null || { apt-get update -qq && apt-get install -y -qq graphviz; } >/dev/null 2>&1 || true
	$(BIN)/python -m bench.run

gallery: $(VENV)/dev.stamp
	$(BIN)/python -m examples.gallery
	$(BIN)/python -m docs.tutorial.pictures
	$(BIN)/python -m docs.rules
	$(BIN)/python -m tests.browser.gallery

docs: $(VENV)/dev.stamp
	$(BIN)/pdoc -o build/docs torcheer torcheer.errors torcheer.capture.op torcheer.capture.forward_pass \
	  torcheer.capture.aten torcheer.capture.analysis.validate torcheer.capture.backward.backward_pass \
	  torcheer.capture.analysis.edits torcheer.capture.analysis.faults torcheer.capture.analysis.stats \
	  torcheer.capture.analysis.compare torcheer.capture.fields.field torcheer.graph.structure torcheer.graph.source_places
	@echo "Open build/docs/index.html"

docs-outputs: $(VENV)/dev.stamp
	$(BIN)/python -m docs.outputs

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) web/node_modules build dist demo-output bench-output .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

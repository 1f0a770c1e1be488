# What a person runs; `make` alone lists it. Everything needed is installed on the way, into .venv/ and build/.
.DEFAULT_GOAL := help
.PHONY: help setup docs release release-files demo farm-demo test test-all fuzz mutate measure rigs test-gui check format generate package bench docs-pictures clean
SHELL = /bin/bash -euo pipefail

# Read when a recipe runs, not before: `setup` may just have made it.
NEWEST = $$(ls -d .venv/3.* | tail -n 1)/bin

help:
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 20

setup: ## make the Python environments (done by the others too)
	@tools/setup.sh

demo: setup ## solve the bundled recording into build/demo
	@$(NEWEST)/knuckle demo --out build/demo

farm-demo: setup ## solve 61 made-up takes on all cores, with a summary page in build/farm-demo/solved
	@$(NEWEST)/python tools/farm_takes.py build/farm-demo
	@$(NEWEST)/knuckle farm build/farm-demo/takes.csv --out build/farm-demo/solved || test $$? = 3 # one take is cut short on purpose

# A core has one worker already: threads of BLAS would only wait for each other.
test test-all fuzz mutate measure: export OPENBLAS_NUM_THREADS = 1
# Where Python is told to keep no byte code, each worker and each command in a test would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = -m pytest -n auto --maxprocesses 4

test: rigs ## test all features within minutes, on the newest Python found: without tests that are slow
	$(NEWEST)/python $(PYTEST) -m "not slow" $(ARGS)

# All is tried on the newest Python; on the others what is quick, but for numbers alone, and in Blender one case of each
# slower test, up to half a second, with fewer examples.
NUMBERS = $(foreach room,hand posing solvers,--ignore tests/pure/$(room))
test-all: rigs ## test everything, on Python 3.11 and 3.13 where found
	@failed=0; for env in .venv/3.*; do \
	  echo "== $$($$env/bin/python --version)"; \
	  if [ $$env/bin = $(NEWEST) ]; then $$env/bin/python $(PYTEST) $(ARGS) || failed=1; else \
	    $$env/bin/python $(PYTEST) $(ARGS) tests/blender --hypothesis-profile few -m "not further" || failed=1; \
	    $$env/bin/python $(PYTEST) $(ARGS) tests/pure $(NUMBERS) --hypothesis-profile few -m "not slow" || failed=1; \
	  fi; \
	done; exit $$failed

OF = laws
FOR = 600
fuzz: rigs ## try laws, packets, files or a scene at random, FOR seconds on each Python: make fuzz OF=files FOR=3600
	@found=0; for env in .venv/3.*; do \
	  echo "== $$($$env/bin/python --version)"; \
	  $$env/bin/python tools/fuzz_$(OF).py --seconds $(FOR) $(ARGS) || found=1; \
	done; exit $$found

mutate: setup ## break the code one operator at a time, FOR seconds, and print the breaks that no test notices (Python 3.13)
	$(NEWEST)/python tools/mutate.py --seconds $(FOR) $(ARGS)

measure: rigs ## measure how long each test takes, and write tests/durations.tsv, by which some are slow
	@rm -f build/durations.*
	$(NEWEST)/python $(PYTEST) --measure build/durations $(ARGS)
	$(NEWEST)/python tools/measure_tests.py build/durations.*.tsv

rigs: setup # the rigs that tests pose, once for each Blender; a test that finds none makes its own
	@mkdir -p build; for env in .venv/3.*; do \
	  $$env/bin/python tools/make_test_rigs.py >build/rigs.log || echo "rigs: some are missing; their tests will be skipped" >&2; \
	done

# Where nobody looks at the pictures of build/gui, two windows at once: one waits while the other works. The camera page
# is tried alone: its models do not always load beside another window.
CAMERA = tests/gui/test_camera.py
test-gui: package ## test the extension's zip in a real Blender on a virtual screen (Linux, root)
	@tools/real_blender.sh setup
	$(if $(CI),$(NEWEST)/python -m pytest tests/gui --ignore $(CAMERA) -n 2 --dist loadfile $(ARGS))
	$(NEWEST)/python -m pytest $(if $(CI),$(CAMERA),tests/gui) $(ARGS)

check: ## lint, format, types and the import border
	@tools/setup.sh check
	.venv/check/bin/ruff check .
	.venv/check/bin/ruff format --check .
	@mkdir -p build/types && ln -sfn ../.. build/types/knuckle
	git ls-files -z --cached --others --exclude-standard '*.py' ':!tools/benchmarks' | sed -z 's#^#build/types/knuckle/#' > build/types/files
	xargs -0 .venv/check/bin/mypy --python-version 3.11 < build/types/files | sed 's#^build/types/knuckle/##'

format: ## format and mend what ruff can mend
	@tools/setup.sh check
	.venv/check/bin/ruff check --fix-only --quiet .
	.venv/check/bin/ruff format .

generate: setup ## write solvers/cga/generated.py from its definitions
	$(NEWEST)/python tools/generate_cga.py

package: setup ## build and validate the extension's zip
	$(NEWEST)/python tools/package.py
	$(NEWEST)/python -m pytest tests/package $(ARGS)

bench: ## measure the solvers and the path's stations against peers, and write docs/reference/benchmarks.md
	@tools/setup.sh bench
	.venv/bench/bin/python tools/benchmarks/path.py
	.venv/bench/bin/python tools/benchmarks/standard.py
	.venv/bench/bin/python tools/benchmarks/takes.py
	.venv/bench/bin/python tools/benchmarks/skin.py
	.venv/bench/bin/python tools/benchmarks/live.py --write
	.venv/bench/bin/python tools/benchmarks/papers_cga.py
	.venv/bench/bin/python tools/benchmarks/papers_table.py
	.venv/bench/bin/python tools/benchmarks/papers_dynamical.py

docs: ## build the documentation into build/site; warnings are errors
	@tools/setup.sh docs
	.venv/docs/bin/python tools/docs.py

release: ## show what releasing VERSION would change; python tools/release.py VERSION does it
	@python3 tools/release.py $(VERSION) --dry-run

docs-pictures: setup ## render the pictures of the README and docs, those of Blender's window from the last test-gui
	$(NEWEST)/python tools/docs_pictures.py
	if [ -e build/gui/solve.json ]; then $(NEWEST)/python tools/gui_pictures.py; fi
	if [ -e build/farm-demo/solved/summary.html ]; then $(NEWEST)/python tools/farm_picture.py; fi

release-files: setup # one file of each kind, which every later version must open; by the oldest Blender
	$$(ls -d .venv/3.* | head -n 1)/bin/python tools/release_files.py

clean: ## remove what was built, and the environments
	rm -rf build .venv

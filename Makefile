# Everything runs in .venv, which the first target that needs it sets up.
#   make test ARGS="-k partial -x"     more arguments for pytest; of test-all as well
#   make study DATA=movielens FROM=ml-100k     a study of other data, in this folder or file
#   make demo PYTHON=python3.12        another Python for the set-up

PYTHON ?= python3
ARGS =
HITS = 200
DATA = study
VENV := .venv
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed
PYTEST = $(VENV)/bin/python -m pytest -n 2 --dist worksteal
DOCS_INSTALLED := $(VENV)/.docs
RELEASE_INSTALLED := $(VENV)/.release
LOWEST_INSTALLED := $(VENV)/.lowest

# Run a command in silence; print all that it said only if it fails.
or_report = report=$$($(1) 2>&1) || { printf '%s\n' "$$report" >&2; exit 1; }

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: demo test test-all nightly torchrec adapters check _types _rest soak study frozen bench validation calibrated predicted pages figures \
	notebooks docs package lowest clean help

demo: $(RUNS) ## run a shipped scenario, print its table and leave a picture in demo/
	@$(VENV)/bin/cprsim run scenarios/criteo-kaggle.toml --replications 1000 --out demo
	@echo "The picture of where the time goes: demo/breakdown.png"

test: check ## run the checks and the quick tests, in some two minutes; ARGS="..." goes to pytest
	@$(PYTEST) --quick $(ARGS)

test-all: check ## run the checks and all tests but the nightly ones
	@$(PYTEST) -m "not nightly" $(ARGS)

nightly: $(INSTALLED) ## more of the same kinds as in test-all, and long ones: up to an hour more
	@$(PYTEST) -m nightly $(ARGS) || test $$? -eq 5
	@$(PYTEST) --drawn -m "not nightly" $(ARGS) || test $$? -eq 5
	@$(VENV)/bin/python -m tools.plug_ins adapters -m nightly

torchrec: $(INSTALLED) ## install TorchRec beside .venv, as docs/plug-into-torchrec.md says, and run its tests
	@$(VENV)/bin/python -m tools.plug_ins torchrec $(ARGS)

adapters: $(INSTALLED) ## install Orbax, Transformers, Lightning, Ray beside .venv, by their page, and test the adapters
	@$(VENV)/bin/python -m tools.plug_ins adapters $(ARGS)

check: $(INSTALLED) ## check style, format, types, who imports whom, names and words
	@$(MAKE) --no-print-directory -j 2 _types _rest
	@echo "Style, format, types, imports, names and words are in order"

_types: $(INSTALLED)
	@$(call or_report,$(VENV)/bin/mypy)

_rest: $(INSTALLED)
	@$(call or_report,$(VENV)/bin/ruff check)
	@$(call or_report,$(VENV)/bin/ruff format --check)
	@$(call or_report,$(VENV)/bin/lint-imports)
	@$(call or_report,$(VENV)/bin/python -m tools.check_names)
	@$(call or_report,$(VENV)/bin/python -m tools.check_words)

soak: $(INSTALLED) ## kill and stop processes of the real trainer HITS=200 times, at random instants
	@$(VENV)/bin/python -c "from tests.trainer.soak import main; main($(HITS))"

# What lies at FROM, or else where its scenario says; of Criteo's form there is no page.
study: $(INSTALLED) ## measure what failures do to accuracy (under an hour; goes on where it was stopped)
	@$(VENV)/bin/cprsim study scenarios/train-$(DATA).toml --out study/$(DATA) \
		$(if $(FROM),--set "trainer.data.$(DATA)=$(FROM)") $(ARGS)
	@$(if $(filter criteo,$(DATA)),true,$(VENV)/bin/python -m tools.pages.accuracy $(DATA) study/$(DATA))

frozen: $(INSTALLED) ## compare both engines with what they gave before they were rebuilt
	@$(VENV)/bin/python -m tests.frozen $(ARGS)

bench: $(INSTALLED) ## measure speed, as ratios between two things timed in the same run
	@$(VENV)/bin/python -m benchmarks

validation: $(INSTALLED) ## recompute docs/validation.md, fleets that fit, the tables of docs/fleets.md
	@$(VENV)/bin/python -m tools.pages.validation
	@$(VENV)/bin/python -m tools.validation.fleet.fits
	@$(VENV)/bin/python -m tools.pages.fleets

pages: $(INSTALLED) ## refresh what README and docs show: output of commands
	@$(VENV)/bin/python -m tools.pages.outputs
	@$(VENV)/bin/python -m tools.pages.walkthroughs
	@$(VENV)/bin/python -m tools.pages.batch
	@$(VENV)/bin/python -m tools.pages.favours
	@$(VENV)/bin/python -m tools.pages.phases
	@$(VENV)/bin/python -m tools.pages.clusters

calibrated: $(INSTALLED) ## measure costs for scenarios/train-quick.toml; keep the machine quiet
	@$(VENV)/bin/python -m tools.calibrated

predicted: $(INSTALLED) ## train for real, predicted beside measured, into docs/predicted.md; keep the machine quiet
	@$(VENV)/bin/python -m tools.pages.predicted

figures: $(INSTALLED) ## draw all pictures into docs/figures/ and recompute docs/reproduction.md
	@$(VENV)/bin/python -m tools.pages.reproduction

notebooks: $(INSTALLED) ## execute notebooks/*.py and write the .ipynb beside them
	@$(VENV)/bin/python -m tools.notebooks

docs: $(INSTALLED) $(DOCS_INSTALLED) ## build the site from docs/ into build/site; warnings are errors
	@rm -rf build/site
	@$(call or_report,$(VENV)/bin/python -m sphinx -W --keep-going -b html docs build/site)
	@$(VENV)/bin/python -m tools.site.links build/site
	@echo "The site: build/site/index.html"

# Into an environment of its own, outside the repository, with all that it needs from the registry.
package: $(INSTALLED) $(RELEASE_INSTALLED) ## build wheel and sdist into dist/, check them, try the wheel
	@rm -rf dist
	@$(call or_report,$(VENV)/bin/python -m build)
	@$(call or_report,$(VENV)/bin/python -m twine check --strict dist/*)
	@$(VENV)/bin/python -m tools.tried_wheel dist/*.whl
	@ls dist

# Outside the repository as well; torch is left out.
lowest: $(INSTALLED) $(LOWEST_INSTALLED) ## try every command with the lowest versions of what it needs
	@$(VENV)/bin/python -m tools.lowest

clean: ## remove .venv, the caches, build leftovers and demo/
	@rm -rf $(VENV) demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
		.hypothesis .import_linter_cache
	@find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What cprsim itself needs, and no more: no torch, no tools for development.
# The stamp is written last: a set-up that was cut short starts again.
$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		found=$$($(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null); \
		echo "cprsim needs Python 3.11 or newer; $(PYTHON) is $${found:-missing}." \
			"Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up $(VENV) (once, up to a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -e .
	@touch $@

# The rest, for tests and checks. A fresh venv may hold a pip older than 25.1, the first to know
# --group. -qq still shows errors.
$(INSTALLED): $(RUNS)
	@echo "Adding what tests and checks need to $(VENV) (once, a minute or two)"
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check 'pip>=25.1'
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --group dev
	@touch $@

# What only these targets need.
$(DOCS_INSTALLED) $(RELEASE_INSTALLED) $(LOWEST_INSTALLED): $(VENV)/.%: $(INSTALLED)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --group $*
	@touch $@

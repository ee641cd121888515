# make demo    run a real kernel          make test   all tests (with Debian's oracles)
# make wheel   dist/eumu-*.whl
# make check   the fast loop, < 60 s      make bench  speed against rivals
# make env     the environment only       make clean  remove it and every cache
# make PYTHON=/path/to/python3.12 ... chooses the interpreter.

# Tests start eumu hundreds of times: its modules are compiled once.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check -q

# One or two tests of every room; `make test` runs everything.
FAST = tests/test_complete.py tests/layers tests/test_runs.py tests/isa/test_native_on_registry.py tests/ir/test_verify.py \
	tests/isa/test_facts.py tests/oracle/test_first_cases.py tests/verifier/test_rules.py \
	tests/text/test_unmodelled.py tests/runtime tests/zebin/test_ze_info.py tests/test_faults.py

.PHONY: demo wheel test check bench env clean
.DELETE_ON_ERROR:

demo: $(VENV)/.package
	$(BIN)/eumu demo
	$(BIN)/eumu run examples/saxpy.bin --kernel saxpy --global 1024 --local 64 \
		--arg x=arange:float32:1024 --arg y=zeros:float32:1024 --arg a=2.5

wheel:
	@.ci/python-environment "$(PYTHON)" $(VENV)
	$(PIP) wheel --no-deps -w dist .

test: said $(VENV)/.package-test $(VENV)/.debian-tools
	@.ci/newest-ocloc $(VENV)/newest-ocloc
	$(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: said
said:
	@echo "eumu: sets up $(VENV) with Intel's OpenCL runtime for CPUs (225 MB to fetch), installs" \
		"Debian packages where it may (.ci/debian-tools lists them), unpacks Debian's newest ocloc" \
		"into $(VENV) (260 MB), and runs all tests:" \
		"about 20 minutes on two cores"

check: $(VENV)/.package-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" $(FAST)

bench: $(VENV)/.package-bench
	$(BIN)/python bench/run.py --json bench/results.json --markdown bench/RESULTS.md --readme README.md

env: $(VENV)/.package-dev

$(VENV)/.created:
	@.ci/python-environment "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/.package: $(VENV)/.created pyproject.toml
	$(PIP) install -e .
	@touch $@

# PyOpenCL lets the tests ask PoCL and Intel's runtime for CPUs; where these cannot be installed the
# tests say so and go on.
$(VENV)/.package-test: $(VENV)/.package
	$(PIP) install -e '.[test]'
	@$(PIP) install -e '.[pocl]' || echo "eumu: PyOpenCL cannot be installed; no tests with PoCL"
	@$(PIP) install -e '.[bench]' || echo "eumu: Intel's OpenCL runtime for CPUs cannot be installed;" \
		"half precision and sub-groups are compared with NumPy only"
	@touch $@

$(VENV)/.package-bench: $(VENV)/.package
	@$(PIP) install -e '.[bench]' || echo "eumu: not every rival can be installed; they are skipped"
	@touch $@

$(VENV)/.package-dev: $(VENV)/.package-test
	$(PIP) install -e '.[dev]'
	@touch $@

$(VENV)/.debian-tools: $(VENV)/.created
	@.ci/debian-tools
	@touch $@

clean:
	rm -rf $(VENV) build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# make run: see it work.  make test: everything that is checked.  The rest is for developers.

PYTHON = $(shell .ci/python)
RUN_PYTHON = $(shell PACKAGES="ply jinja2 elftools" .ci/python)
PYTEST = $(PYTHON) -m pytest
# One worker per kernel line: each has its own machines.
WORKERS = -n 2 --dist loadgroup
AS_ROOT = $(shell [ "$$(id -u)" = 0 ] || echo sudo -E)

LINT_IMPORTS = from importlinter.cli import lint_imports_command as run; run()

define EXAMPLE
probe syscall.write {
  if (pid() != stp_pid()) printf("%s(%d) wrote %d bytes to fd %d\n", execname(), pid(), count, fd)
}
probe timer.s(3) { exit() }
endef
export EXAMPLE
LOAD = /bin/sh -c 'while sleep 0.2; do date; done'

.PHONY: run test setup lint features unit vm bench bytecode stapy-run clean

# Three seconds of system calls in a throw-away virtual machine.
run: setup-run
	@$(RUN_PYTHON) -m compileall -q stapy
	@echo "--- three seconds of write() in a virtual machine"
	$(AS_ROOT) $(RUN_PYTHON) -m stapy --vm -c "$(LOAD)" -e "$$EXAMPLE"
	@echo "--- to go on: $(RUN_PYTHON) -m stapy --help"

# All checks. The linters' complaints do not keep the tests from running, but count.
# A test that passes only at the second try is a mistake, in it or in stapy: the log names it.
test: setup
	@status=0; $(MAKE) --no-print-directory lint || status=1; \
	$(AS_ROOT) $(PYTEST) $(WORKERS) --durations=25 -o console_output_style=count || \
	{ echo "--- what failed, once more: each that passes now is a mistake to be found"; \
	$(AS_ROOT) $(PYTEST) -v --last-failed --last-failed-no-failures none; } || status=1; \
	exit $$status

setup:
	@.ci/setup test

.PHONY: setup-run
setup-run:
	@.ci/setup run

lint:
	@status=0; \
	echo "--- ruff"; $(PYTHON) -m ruff check . || status=1; \
	$(PYTHON) -m ruff format --check -q . || status=1; \
	echo "--- mypy"; $(PYTHON) -m mypy || status=1; \
	echo "--- lint-imports"; $(PYTHON) -c "$(LINT_IMPORTS)" || status=1; \
	echo "--- features"; $(PYTHON) -m tests.features || status=1; \
	exit $$status

# Rows of docs/features.md that name no case, or one that never mentions what they promise.
features:
	@$(PYTHON) -m tests.features

# Tests that need no kernel headers and no virtual machine.
unit:
	$(PYTEST) -q -m "not build and not vm"

# Tests in the virtual machine only.
vm:
	$(AS_ROOT) $(PYTEST) -q -m vm

# SystemTap itself beside stapy, on both lines of kernels: hours; PROGRAMS=0:100 for less.
PROGRAMS = 0:2000
oracle: setup
	@status=0; for line in 6.1 6.12; do for what in --cases "--programs $(PROGRAMS)"; do \
	$(AS_ROOT) $(PYTHON) -m tests.oracle --kernel $$line $$what || status=1; done; done; exit $$status

bench: bytecode
	$(PYTHON) -m tests.bench

# Some machines forbid Python to write its bytecode; without it every start is slower.
bytecode:
	@$(PYTHON) -m compileall -q stapy

# The consumer as one file for a machine that has nothing but Python.
stapy-run:
	@rm -rf build/stapy-run && mkdir -p build/stapy-run dist
	@cp -r stapy/run build/stapy-run/stapy_run && rm -rf build/stapy-run/stapy_run/__pycache__
	@$(PYTHON) -m zipapp build/stapy-run -m stapy_run.cli:start -p "/usr/bin/env python3" \
		-o dist/stapy-run.pyz
	@echo dist/stapy-run.pyz

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

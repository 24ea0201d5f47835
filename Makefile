# make run: see it work.  make test: everything that is checked.  make check: what changed, a minute.
# The rest is for developers.

PYTHON = $(shell .ci/python)
RUN_PYTHON = $(shell PACKAGES="ply jinja2 elftools" .ci/python)
PYTEST = $(PYTHON) -m pytest
QUICK = $(PYTEST) -q -m "not build and not vm and not slow"
# One worker per kernel line, which has its own machines, and one for what needs none
# (tests/schedule.py): guests wait for their timers, and for modules, often enough.
WORKERS = -n 3
AS_ROOT = $(shell [ "$$(id -u)" = 0 ] || echo sudo -E)

# Whoever sets this has pytest rewrite the assertions of each file anew in each worker, half of
# what it takes to collect the tests.
export PYTHONDONTWRITEBYTECODE =

LINT_IMPORTS = from importlinter.cli import lint_imports_command as run; run()

define EXAMPLE
probe syscall.write {
  if (pid() != stp_pid()) printf("%s(%d) wrote %d bytes to fd %d\n", execname(), pid(), count, fd)
}
probe timer.s(3) { exit() }
endef
export EXAMPLE
LOAD = /bin/sh -c 'while sleep 0.2; do date; done'

.PHONY: docs man run test check dev setup lint features unit vm docker-test arm64 wall oracle torture debug-kernel bench
.PHONY: bytecode stapy-run clean

# Three seconds of system calls in a throw-away virtual machine. The line that is shown is the one
# that is run, so it works when it is copied.
run: setup-run
	@$(RUN_PYTHON) -m compileall -q stapy
	@echo "--- three seconds of write() in a virtual machine"
	@command="$(strip $(AS_ROOT) $(RUN_PYTHON)) -m stapy --vm -c \"$(LOAD)\" -e '$$EXAMPLE'"; \
	printf '%s\n' "$$command"; eval "$$command"
	@echo "--- to go on: $(RUN_PYTHON) -m stapy --help"

# All checks, the linters beside the tests: these wait often enough. Complaints of either count.
# What failed runs once more, so that the log tells a test that passes only sometimes from one that
# never does. Both are mistakes, in the test or in stapy: either way the run has failed.
test: setup bytecode
	@status=0; log=$$(mktemp); \
	$(MAKE) --no-print-directory lint >$$log 2>&1 & lint=$$!; \
	$(AS_ROOT) $(PYTEST) $(WORKERS) --durations=25 -o console_output_style=count || \
	{ status=1; echo "--- what failed, once more: PASSED are those that pass only sometimes"; \
	$(AS_ROOT) $(PYTEST) -v -rpfE --last-failed --last-failed-no-failures none; \
	echo "--- make test has failed, whatever the second try says"; }; \
	wait $$lint || { status=1; echo "--- the linters complain"; }; cat $$log; rm -f $$log; exit $$status

# A minute: the linters, and beside them the quick tests of what changed since the origin's main
# branch (tests/check.py); make unit runs them all, and those that take longer.
check: setup bytecode
	@status=0; log=$$(mktemp); \
	$(MAKE) --no-print-directory lint >$$log 2>&1 & lint=$$!; \
	places=$$($(PYTHON) -m tests.check) || status=1; echo "--- tests: $${places:-all}"; \
	$(QUICK) -n 2 $$places || [ $$? = 5 ] || status=1; \
	wait $$lint || status=1; cat $$log; rm -f $$log; exit $$status

# Runs what a change concerns, whenever a file is written.
dev: setup bytecode
	@$(PYTHON) -m tests.dev

setup:
	@.ci/setup test

# The linters need Python's packages only.
.PHONY: setup-lint
setup-lint:
	@.ci/setup lint

# The pages that tapsets have are written by what runs scripts.
.PHONY: setup-pages
setup-pages:
	@.ci/setup pages

.PHONY: setup-run
setup-run:
	@.ci/setup run

lint: setup-lint
	@status=0; \
	echo "--- ruff"; $(PYTHON) -m ruff check . || status=1; \
	$(PYTHON) -m ruff format --check -q . || status=1; \
	echo "--- mypy"; $(PYTHON) -m mypy || status=1; \
	echo "--- lint-imports"; $(PYTHON) -c "$(LINT_IMPORTS)" || status=1; \
	echo "--- features"; $(PYTHON) -m tests.features || status=1; \
	echo "--- comments"; $(PYTHON) -m tests.manual || status=1; \
	exit $$status

# Rows of docs/features.md that name no case, or one that never mentions what they promise.
features: setup-lint
	@$(PYTHON) -m tests.features

# Tests that need no kernel headers and no virtual machine.
unit: setup bytecode
	$(PYTEST) -q -m "not build and not vm"

# Tests in the virtual machine only.
vm: setup bytecode
	$(AS_ROOT) $(PYTEST) -q -m vm

# Modules that containers make, for kernels of other suites, in guests; not a part of make test, for
# it fetches some 500 MB the first time (.ci/docker).
docker-test: setup bytecode
	@.ci/docker

# Modules for arm64 in an emulated guest of it; not a part of make test, for it fetches some 150 MB the
# first time (.ci/arm64).
arm64: setup bytecode
	@.ci/arm64

# Every probe family on every kernel line that can be had; writes docs/wall.md. Hours on a busy machine.
# KERNELS="RELEASE …" tries those only. Other suites' compilers: in a container, if a daemon answers.
wall: setup bytecode
	$(AS_ROOT) $(PYTHON) -m tests.wall $(KERNELS)

# SystemTap itself beside stapy, on both lines of kernels: hours; PROGRAMS=0:100 for less.
PROGRAMS = 0:2000
oracle: setup
	@status=0; for line in 6.1 6.12; do for what in --cases "--programs $(PROGRAMS)"; do \
	$(AS_ROOT) $(PYTHON) -m tests.oracle --kernel $$line $$what || status=1; done; done; exit $$status

# How reliable it is, at full length, into docs/safety.md: hours. FIGURES="flood limits" for some of it.
torture: setup bytecode
	$(AS_ROOT) $(PYTHON) -m tests.torture $(FIGURES)

# A kernel that watches what modules do to it, for torture and the tests of safety; prints its release.
# KIND=kcsan: one that tells of data races, instead of wrong memory. KIND=clang: one of clang's.
debug-kernel:
	@.ci/debug-kernel $(KIND)

bench: bytecode
	$(PYTHON) -m tests.bench

# docs/tapsets/ and docs/probes.md, from the comments in tapsets/ and stapy/manual/pages/.
docs: setup-pages
	@$(RUN_PYTHON) -m stapy.manual.markdown

# The site of the documentation, of all pages of this repository, in build/site; warnings are errors.
# It needs no server: open build/site/index.html. `python -m tests.site` shows it to a browser.
.PHONY: site
site: setup-site
	@$(PYTHON) docs/site/build.py

.PHONY: setup-site
setup-site:
	@.ci/setup site

# A man page for each function and each tapset, and stapyprobes: 600 files, made again by whoever
# wants them (debian/rules does), not kept here beside the same text in docs/tapsets/.
man: setup-pages
	@echo "--- writing the man pages: some seconds"
	@$(RUN_PYTHON) -m stapy.manual.roff build/man/man3

# Made once, not by several starts at the same time; without it every start is slower.
bytecode:
	@$(PYTHON) -m compileall -q stapy

# The consumer as one file for a machine that has nothing but Python.
stapy-run:
	@mkdir -p dist
	@$(PYTHON) -m stapy pack dist/stapy-run.pyz

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# sis: build, test, look. CMake does the work; this file only knows the order of things.
#
#   make           the program and the libraries: build/sis, build/libsis.a, build/libsis.so
#   make test      everything that can be checked: ctest's summary, then the slowest tests
#   make coverage  which lines of src/ the unit tests reach, by folder and file
#   make demo      a decision explained end to end
#   make bench     ratios measured side by side on this machine
#   make install   program, libraries, headers, pkg-config file, manual pages (PREFIX=, DESTDIR=)
#   make mpi       the program for many machines: build/sis-mpi (needs MPI, Debian: libopenmpi-dev)
#   make python    the Python package, in a virtual environment: build/env/bin/python
#   make python-test  its tests
#   make deps      install what is missing (Debian packages)

PREFIX ?= /usr/local
BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
MAKEFLAGS += --no-print-directory

all: deps
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DSIS_TESTS=OFF $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory

deps:
	@tools/install-deps.sh

mpi:
	@tools/install-deps.sh mpi
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target sis_mpi sis_program -- --no-print-directory

tests:
	@tools/install-deps.sh test
	@tools/install-ort.sh $(BUILD) || true
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DSIS_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory

# One test more than there are cores: some of them wait (for time-outs, servers, a browser).
test: tests
	@cd $(BUILD) && $(CURDIR)/tools/in-memory.sh ctest -j $$(($(JOBS) + 1)) --output-on-failure; status=$$?; \
	    $(CURDIR)/tools/slowest.sh .; exit $$status

# The unit tests once more, compiled to count lines.
coverage:
	@tools/install-deps.sh test
	@cmake -S . -B $(BUILD)/coverage -DCMAKE_BUILD_TYPE=Coverage -DSIS_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD)/coverage -j $(JOBS) --target unit_tests -- --no-print-directory
	@find $(BUILD)/coverage -name '*.gcda' -delete
	@cd $(BUILD)/coverage && $(CURDIR)/tools/in-memory.sh ctest -j $(JOBS) --output-on-failure -R '^unit\.' -E '_asan$$'
	@tools/coverage.sh $(BUILD)/coverage

demo: all
	@$(BUILD)/sis demo

bench: tests
	@for b in $(BUILD)/bench/bench_*; do echo "== $${b##*/}"; \
	    NODE_PATH=$(CURDIR)/$(BUILD)/ort/node_modules $$b || exit 1; done
	@echo "== bench_python"; if [ -d $(BUILD)/python/sis ] && /usr/bin/python3 -c "import numpy" 2>/dev/null; then \
	    PYTHONPATH=$(BUILD)/python OMP_NUM_THREADS=1 /usr/bin/python3 bench/bench_python.py || exit 1; \
	    else echo "left out: it needs python3-dev and python3-numpy"; fi
	@echo "== bench_xgboost"; if /usr/bin/python3 -c "import xgboost, numpy" 2>/dev/null; then \
	    /usr/bin/python3 bench/bench_xgboost.py $(BUILD)/sis || exit 1; \
	    else echo "left out: it needs python3-xgboost"; fi
	@echo "== growth"; if /usr/bin/python3 -c "import torch" 2>/dev/null; then \
	    /usr/bin/python3 -W ignore bench/growth.py $(BUILD) || exit 1; \
	    else echo "left out: it needs python3-torch"; fi
	@echo "== bench_scale"; if [ -x $(BUILD)/sis-mpi ] && command -v mpirun >/dev/null; then \
	    /usr/bin/python3 bench/bench_scale.py $(BUILD) || exit 1; \
	    else echo "left out: it needs MPI (make mpi)"; fi
	@echo "== bench_serve"; bench/bench_serve.sh $(BUILD)/sis $(CURDIR)

python:
	@tools/install-deps.sh python
	@[ -x $(BUILD)/env/bin/python ] || /usr/bin/python3 -m venv --system-site-packages $(BUILD)/env
	@$(BUILD)/env/bin/python -m pip install -q --no-deps --no-index --force-reinstall ./python
	@echo "import sis with $(BUILD)/env/bin/python"

python-test: tests
	@cd $(BUILD) && ctest --output-on-failure -R '^python\.'

install: all
	@cmake --install $(BUILD)
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $$(git ls-files "*.c" "*.h")

.PHONY: all deps mpi tests test coverage demo bench python python-test install clean format

# sis: build, test, look. CMake does the work; this file only knows the order of things.
#
#   make            the program and the libraries: build/sis, build/libsis.a, build/libsis.so; installs nothing
#   make demo       decisions explained end to end
#   make test       the fast tests: a few minutes
#   make test-deep  sanitizers, fuzzers, browsers and other programs (LABEL=asan: one group; see tests/deep/deep.cmake)
#   make bench      ratios measured side by side on this machine
#   make coverage   which lines of src/ the unit tests reach, by folder and file
#   make install    program, libraries, headers, pkg-config file, manual pages (PREFIX=, DESTDIR=)
#   make mpi        the program for many machines: build/sis-mpi (needs MPI, Debian: libopenmpi-dev)
#   make dist       the source archive and SHA256SUMS: build/dist (needs a git checkout)
#   make deb        Debian packages: build/dist too (docs/releasing.md)
#   make site       the documentation as a site with search: build/site (needs mkdocs; says so if it is missing)
#   make python     the Python package: a wheel in build/dist, installed in a virtual environment, build/env/bin/python
#
# demo, test, test-deep, bench, coverage, mpi, deb and python install the Debian packages that are missing if they may (as
# root, or by sudo without a password). NO_INSTALL=1 forbids it: then they only name what is missing.

PREFIX ?= /usr/local
BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
LABEL ?= asan tsan clang fuzz browser mpi ort python image kills arm64 llm
MAKEFLAGS += --no-print-directory
CONFIGURE = cmake -S . -B "$(BUILD)" "-DCMAKE_INSTALL_PREFIX=$(PREFIX)" $(CMAKE_FLAGS)
COMPILE = cmake --build "$(BUILD)" -j $(JOBS)
DEPS = tools/install-deps.sh $(if $(NO_INSTALL),--check)
# One test more than there are cores: some of them wait (for time-outs, servers, a browser).
CTEST = cd "$(BUILD)" && "$(CURDIR)/tools/in-memory.sh" ctest -j $$(($(JOBS) + 1)) --output-on-failure

all:
	@log=$$(mktemp) && { $(CONFIGURE) -DSIS_TESTS=OFF >"$$log" 2>&1 || { tools/install-deps.sh --check && cat "$$log"; \
	    rm -f "$$log"; exit 1; }; rm -f "$$log"; }
	@$(COMPILE)

mpi:
	@$(DEPS) mpi
	@$(CONFIGURE) >/dev/null
	@$(COMPILE) --target sis_mpi sis_program

tests:
	@$(DEPS) test
	@$(CONFIGURE) -DSIS_TESTS=ON -DSIS_DEEP=OFF >/dev/null
	@$(COMPILE)

test: tests
	@$(CTEST); status=$$?; "$(CURDIR)/tools/slowest.sh" .; exit $$status

empty :=
space := $(empty) $(empty)
test-deep:
	@$(DEPS) deep
	@[ -n "$(NO_INSTALL)" ] || tools/install-ort.sh "$(BUILD)" || true
	@[ -n "$(NO_INSTALL)" ] || [ -z "$(filter llm,$(LABEL))" ] || tools/install-llama.sh "$(BUILD)" || true
	@$(CONFIGURE) -DSIS_TESTS=ON -DSIS_DEEP=ON >/dev/null
	@$(COMPILE) --target $(addprefix deep_,$(LABEL))
	@$(CTEST) -L '^($(subst $(space),|,$(strip $(LABEL))))$$'; status=$$?; \
	    "$(CURDIR)/tools/slowest.sh" .; exit $$status

# The unit tests once more, compiled to count lines.
coverage:
	@$(DEPS) test
	@cmake -S . -B "$(BUILD)/coverage" -DCMAKE_BUILD_TYPE=Coverage -DSIS_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build "$(BUILD)/coverage" -j $(JOBS) --target unit_tests
	@find "$(BUILD)/coverage" -name '*.gcda' -delete
	@cd "$(BUILD)/coverage" && "$(CURDIR)/tools/in-memory.sh" ctest -j $(JOBS) --output-on-failure -R '^unit\.'
	@tools/coverage.sh "$(BUILD)/coverage"

demo:
	@$(DEPS)
	@$(MAKE) all
	@"$(BUILD)/sis" demo --force

bench: tests
	@[ -n "$(NO_INSTALL)" ] || tools/install-ort.sh "$(BUILD)" || true
	@$(COMPILE) --target benches
	@for b in "$(BUILD)"/bench/bench_*; do echo "== $${b##*/}"; \
	    NODE_PATH="$(CURDIR)/$(BUILD)/ort/node_modules" "$$b" || exit 1; done
	@echo "== bench_python"; if [ -d "$(BUILD)/python/sis" ] && /usr/bin/python3 -c "import numpy" 2>/dev/null; then \
	    PYTHONPATH="$(BUILD)/python" OMP_NUM_THREADS=1 /usr/bin/python3 bench/bench_python.py || exit 1; \
	    else echo "left out: it needs python3-dev and python3-numpy"; fi
	@echo "== bench_xgboost"; if /usr/bin/python3 -c "import xgboost, numpy" 2>/dev/null; then \
	    /usr/bin/python3 bench/bench_xgboost.py "$(BUILD)/sis" || exit 1; \
	    else echo "left out: it needs python3-xgboost"; fi
	@echo "== growth"; if /usr/bin/python3 -c "import torch" 2>/dev/null; then \
	    /usr/bin/python3 -W ignore bench/growth.py "$(BUILD)" || exit 1; \
	    else echo "left out: it needs python3-torch"; fi
	@echo "== bench_scale"; if [ -x "$(BUILD)/sis-mpi" ] && command -v mpirun >/dev/null; then \
	    /usr/bin/python3 bench/bench_scale.py "$(BUILD)" || exit 1; \
	    else echo "left out: it needs MPI (make mpi)"; fi
	@echo "== bench_serve"; bench/bench_serve.sh "$(BUILD)/sis" "$(CURDIR)"

python:
	@$(DEPS) python
	@[ -x "$(BUILD)/env/bin/python" ] || /usr/bin/python3 -m venv --system-site-packages "$(BUILD)/env"
	@rm -rf "$(BUILD)/dist"
	@SIS_BUILD="$(BUILD)/wheel" CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) "$(BUILD)/env/bin/python" python/backend.py "$(BUILD)/dist"
	@"$(BUILD)/env/bin/python" -m pip uninstall -q -y sis 2>/dev/null # an earlier name of the distribution
	@"$(BUILD)/env/bin/python" -m pip install -q --no-deps --no-index --force-reinstall "$(BUILD)"/dist/*.whl
	@echo "import sis with $(BUILD)/env/bin/python"

install: all
	@cmake --install "$(BUILD)"
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

# The archive holds what is committed. Packages are built from it.
VERSION = $(shell sed -n 's/^\#define SIS_VERSION "\(.*\)"/\1/p' include/sis/sis.h)
SUMS = cd "$(BUILD)/dist" && rm -f SHA256SUMS && sha256sum * >../SHA256SUMS && mv ../SHA256SUMS .
dist:
	@git rev-parse HEAD >/dev/null
	@rm -rf "$(BUILD)/dist" && mkdir -p "$(BUILD)/dist"
	@git archive --format=tar --prefix=sis-$(VERSION)/ HEAD | gzip -9n >"$(BUILD)/dist/sis-$(VERSION).tar.gz"
	@$(SUMS)
	@echo "$(BUILD)/dist/sis-$(VERSION).tar.gz"

deb:
	@$(DEPS) deb
	@$(MAKE) dist
	@rm -rf "$(BUILD)/deb" && mkdir -p "$(BUILD)/deb"
	@tar -C "$(BUILD)/deb" -xf "$(BUILD)/dist/sis-$(VERSION).tar.gz"
	@cd "$(BUILD)/deb/sis-$(VERSION)" && DEB_BUILD_OPTIONS="noautodbgsym parallel=$(JOBS)" dpkg-buildpackage -b -us -uc >../log 2>&1 || \
	    { tail -n 20 ../log; exit 1; }
	@mv "$(BUILD)"/deb/*_$(VERSION)_*.deb "$(BUILD)/dist"
	@$(SUMS)
	@ls "$(BUILD)"/dist/*.deb

site:
	@tools/site.sh "$(BUILD)"

clean:
	rm -rf "$(BUILD)"

format:
	find bench cli examples include mpi python src tests -name '*.[ch]' -exec clang-format -i {} +

.PHONY: all mpi tests test test-deep coverage demo bench dist deb python site install clean format

# sis: build, test, look. CMake does the work; this file only knows the order of things.
#
#   make          the program and the libraries: build/sis, build/libsis.a, build/libsis.so
#   make test     everything that can be checked, ends with ctest's summary
#   make demo     a decision explained end to end
#   make bench    ratios measured side by side on this machine
#   make install  program, libraries, headers, pkg-config file, manual pages (PREFIX=/usr/local, DESTDIR=)
#   make deps     install what is missing (Debian packages)

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

tests:
	@tools/install-deps.sh test
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DSIS_TESTS=ON $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory

test: tests
	@cd $(BUILD) && ctest -j $(JOBS) --output-on-failure

demo: all
	@$(BUILD)/sis demo

bench: tests
	@tools/install-ort.sh $(BUILD) || true
	@for b in $(BUILD)/bench/bench_*; do echo "== $${b##*/}"; \
	    NODE_PATH=$(CURDIR)/$(BUILD)/ort/node_modules $$b || exit 1; done

install: all
	@cmake --install $(BUILD)
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $$(git ls-files "*.c" "*.h")

.PHONY: all deps tests test demo bench install clean format

# Thin: each target is the tools' own commands. `make help` lists them.

CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help test setup lint doc check bench bench-check c python install

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

test: setup lint doc check bench-check c python ## everything that must hold before a change goes in

setup: ## installs what is missing of apt-packages.txt and of the Rust tools
	@scripts/setup

lint: ## format and lints, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## builds the documentation, warnings are errors
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --no-deps --workspace

check: ## tests and documentation examples; those of the C library run under `make c`
	$(CARGO) test --workspace --exclude pointsman-capi

bench: ## measures; takes minutes
	$(CARGO) bench --workspace

bench-check: ## runs each bench once, as a test
	$(CARGO) bench --workspace -- --test

c: ## the C and C++ library: builds, installs and tests it
	$(MAKE) -C ffi-c test

python: ## the Python package: builds, checks and tests it
	$(MAKE) -C ffi-python test

install: ## installs the C and C++ library; PREFIX=/usr/local unless given
	$(MAKE) -C ffi-c install

# Thin: each target is the tools' own commands. `make help` lists them.

CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help test setup lint doc check bench bench-check gate report report-check record record-table c python install

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

test: setup lint doc check bench-check gate c python ## everything that must hold before a change goes in

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
	$(CARGO) bench -p pointsman-bench

bench-check: ## runs each bench once, as a test
	$(CARGO) bench -p pointsman-bench -- --test

gate: ## compares the instructions of a pick with benches/baseline.json
	$(CARGO) bench -p pointsman-bench --bench instructions -- --gate

report: ## measures, and writes report.html; takes minutes
	$(CARGO) run --release -p pointsman-bench -- report -o report.html

report-check: ## opens a short report in Chromium and checks its charts; `make check` does it too
	$(CARGO) test -p pointsman-bench --test report

record: ## measures, keeps the results in benches/record and puts them into the README; takes minutes
	$(CARGO) run --release -p pointsman-bench --features pingora -- record

record-table: ## puts the newest record into the README
	$(CARGO) run -p pointsman-bench -- record --table

c: ## the C and C++ library: builds, installs and tests it
	$(MAKE) -C ffi-c test

python: ## the Python package: builds, checks and tests it
	$(MAKE) -C ffi-python test

install: ## installs the C and C++ library; PREFIX=/usr/local unless given
	$(MAKE) -C ffi-c install

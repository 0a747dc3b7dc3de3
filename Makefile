# Thin: each target is the tools' own commands. `make help` lists them.

CARGO ?= cargo
MINUTES ?= 5

# Cargo takes it for an offer of job slots, which make keeps from recipes that do not begin with its own name.
unexport MAKEFLAGS

.DEFAULT_GOAL := help
.PHONY: help test setup lint doc check vectors fuzz fuzz-check soak bench bench-check gate report report-check record record-table c python install \
	no-panic panics hack msrv deny coverage coverage-note mutants latency loom asan tsan sanitize-all miri bench-proxy release-check bench-python

help: ## lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

# One build from nothing to its end: what would speed up the next one costs time and disk.
test: export CARGO_INCREMENTAL = 0
test: setup lint doc hack msrv check ## everything that must hold before a change goes in
	$(MAKE) -j2 --output-sync=target c fuzz-check miri loom tsan asan bench-check gate no-panic panics
	$(MAKE) python

setup: ## installs what is missing of apt-packages.txt and of the Rust tools
	@scripts/setup

lint: ## format and lints, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) fmt --check --manifest-path fuzz/Cargo.toml
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## builds the documentation, warnings are errors
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --no-deps --workspace

check: ## tests and documentation examples; those of the C library run under `make c`
	$(CARGO) test --workspace --exclude pointsman-capi
	core/tests/vectors/independent.py

vectors: ## writes what core/tests/vectors marks with "?", and nothing else
	core/tests/vectors/independent.py --write
	POINTSMAN_VECTORS=write $(CARGO) test -p pointsman --test vectors only_what_is_marked

loom: ## model checks publishing, leases, routes and reclamation, and shows by mutants what the models catch
	RUSTFLAGS="$(RUSTFLAGS) --cfg loom" $(CARGO) test -p pointsman --test models --target-dir target/loom

asan: ## the engine's tests under AddressSanitizer, those that say something of memory
	scripts/sanitize address

tsan: ## the engine's tests under ThreadSanitizer, those that use threads
	scripts/sanitize thread

sanitize-all: ## all of the engine's tests under both sanitizers; takes many minutes
	scripts/sanitize address all
	scripts/sanitize thread all

miri: ## the engine's tests under Miri: undefined behaviour, and weak memory with many schedules
	scripts/miri
soak: ## fresh seeds, load and faults for SOAK_SECONDS=60; SOAK_SEED= repeats a run
	SOAK_SECONDS=$${SOAK_SECONDS:-60} $(CARGO) test --release -p pointsman --test soak

bench: ## measures; takes minutes
	$(CARGO) bench -p pointsman-bench

bench-check: ## runs each bench once, as a test
	$(CARGO) bench -p pointsman-bench -- --test

gate: ## compares the instructions of a pick with benches/baseline.json
	$(CARGO) bench -p pointsman-bench --bench instructions -- --gate

no-panic: ## links the table look-ups only if none can panic, and sees that one that can does not link
	scripts/no-panic

panics: ## compares what the emitted code of a pick can reach with core/tests/panics.txt
	scripts/panics

latency: ## measures single picks beside 1,000 updates a second
	$(CARGO) bench -p pointsman-bench --bench latency

hack: ## checks every combination of features of every crate
	PATH="$$(scripts/tool cargo-hack):$$PATH" && $(CARGO) hack check --workspace --feature-powerset --exclude-features pingora

msrv: ## checks with the oldest supported Rust
	scripts/msrv

deny: ## licences, duplicates, sources and, where the database is reachable, advisories
	scripts/deny

coverage: ## lines of core/ that tests run; fails below 95 %
	scripts/coverage

mutants: ## changes the code in many small ways, each of which a test must notice; takes hours
	scripts/mutants

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

bench-proxy: ## measures the C proxy of the examples beside HAProxy; needs haproxy and wrk
	$(MAKE) -C ffi-c bench-proxy

release-check: ## builds and installs the C library with cargo-c too; builds cargo-c first, which takes a quarter of an hour
	$(MAKE) -C ffi-c release-check

python: ## the Python package: builds, checks and tests it
	$(MAKE) -C ffi-python test

bench-python: ## measures the Python package beside what Python offers, ratios in one run
	$(MAKE) -C ffi-python bench

install: ## installs the C and C++ library; PREFIX=/usr/local unless given
	$(MAKE) -C ffi-c install

fuzz: ## runs each fuzz target for MINUTES minutes (5 unless given), two at a time
	fuzz/run $$(($(MINUTES) * 60))

fuzz-check: ## runs each fuzz target for thirty seconds from its corpus
	fuzz/run 30

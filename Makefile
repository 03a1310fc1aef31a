# Needed: Go, make, and a C compiler for the race detector.

BUF := go run github.com/bufbuild/buf/cmd/buf@v1.73.0
LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Nothing that is built has paths of the machine in it. Tests that install this module as users do
# then find their dependencies compiled.
export GOFLAGS ?= -trimpath

# As in releases: cgo gives nothing here, and a loader at each start. The race detector needs it. The linter has what
# packages export compiled: without cgo it shares that with the tests.
export CGO_ENABLED ?= $(if $(filter -race,$(GOFLAGS)),1,0)

# Binaries without symbols.
BUILD := go build -ldflags '-s -w'
PLUGINS := $(notdir $(patsubst %/main.go,%,$(wildcard plugins/*/main.go)))

# The packages whose own goroutines are the point: their tests look for races. Those of others do, too,
# with `.ci/long`, which also runs what -short leaves out.
RACED := ./host ./internal/pluginrun ./host/internal/roster ./host/internal/chain ./host/fleet ./host/fleet/internal/link \
	./internal/durable ./host/mcpserver ./host/mcpclient ./host/task ./host/audit ./internal/wire ./cmd/toolhost/internal/control \
	./cmd/toolhost/internal/approval ./internal/egress

# Their tests whose subject is another process, or the system: the race detector would see little, and take minutes.
OUTSIDE := Hostile|Stress|OnCarriers|Shortage|DescriptorsInFlight|NamespacesUsedUp|FailingStep|FewDescriptors
ATTACKED := ./host ./internal/pluginrun

# The packages of stages. Sandboxes are tested where what makes them has changed; the others have tests for each
# day, too, which nothing runs if the stage is one of STAGES, which .ci/test sets.
CONFINEMENT := ./internal/test/escape ./internal/test/worktest
EXECUTION := ./plugins/execution
STAGED := $(CONFINEMENT) $(if $(filter execution,$(STAGES)),$(EXECUTION))

# A test that fails runs once more, alone (RERUNS=0: it does not). What then passes is named at the end: it is a defect, too. Those that a
# subtest is in are counted with it.
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg --hide-summary skipped \
	--rerun-fails=$(or $(RERUNS),1) --rerun-fails-max-failures=4
# What the tests of races build without the detector is what the other tests build.
TEST := $(if $(filter Linux,$(shell uname)),-exec "env CGO_ENABLED=0 $(CURDIR)/bin/leftovers") -vet=off -short -count=1 -timeout 22m

.PHONY: help build run quick test lint leftovers race attacks unraced all confinement console pictures execution snippets vulnerabilities generate contract conformance clients languages soak soak-fleet fuzz gopls bench bench-fleet simulate-fleet microbench release record clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the host into bin/, the plugins into bin/plugins/
	$(BUILD) -o bin/toolhost ./cmd/toolhost
	$(BUILD) -o bin/plugins/ $(addprefix ./plugins/,$(PLUGINS))

run: build ## show the main job: toolhost demo
	bin/toolhost demo

quick: ## what concerns the change: it builds, and its packages' fast tests pass
	.ci/quick

test: ## everything that has to hold
	.ci/test

lint: ## golangci-lint, configured in .golangci.yml, vet in it, and the words of the project
	$(LINT) run
	go test -count=1 ./internal/test/words
	cd internal/test/others && $(LINT) run -c ../../../.golangci.yml ./...
	cd bench && $(LINT) run -c ../.golangci.yml ./...
	cd examples/agent && $(LINT) run -c ../../.golangci.yml ./...

leftovers:
	go build -o bin/ ./internal/test/leftovers

race: leftovers ## the tests of goroutines, with the race detector
	CGO_ENABLED=1 $(GOTESTSUM) --rerun-fails-report=bin/flaky-race --packages "$(filter-out $(ATTACKED),$(RACED))" -- $(TEST) -race
	CGO_ENABLED=1 $(GOTESTSUM) --rerun-fails-report=bin/flaky-host --packages "$(ATTACKED)" -- $(TEST) -race -skip '$(OUTSIDE)'

attacks: leftovers ## the tests of hosts whose plugins mean harm, or whose system has nothing left
	$(GOTESTSUM) --rerun-fails-report=bin/flaky-attacks --packages "$(ATTACKED)" -- $(TEST) -run '$(OUTSIDE)'

# Most of these tests wait for processes that they started.
unraced: leftovers ## all other tests
	$(GOTESTSUM) --rerun-fails-report=bin/flaky-unraced --packages "$$(go list ./... | grep -vxF "$$(go list $(RACED) $(STAGED); go list ./internal/test/words)")" -- $(TEST) -parallel 4
	cd examples/agent && go test -vet=off -short -count=1 ./...
	cd bench && go test -vet=off -short -count=1 ./...

all: ## all tests, also those that -short leaves out, ROUNDS (1) times
	go test -vet=off -count=$(or $(ROUNDS),1) -timeout 6h ./...

confinement: leftovers ## the tests of sandboxes, as another user too
	TOOLHOST_TEST_OTHER_USER=1 $(GOTESTSUM) --rerun-fails-report=bin/flaky-confinement --packages '$(CONFINEMENT)' -- $(TEST)

execution: leftovers ## all programs that the tests of the plugin execution link
	$(GOTESTSUM) --rerun-fails-report=bin/flaky-execution --packages '$(EXECUTION)' -- -vet=off -count=1 -timeout 20m

snippets: ## the blocks of all documents
	$(GOTESTSUM) --rerun-fails-report=bin/flaky-snippets --packages ./cmd/toolhost -- -vet=off -count=1 -timeout 20m -run TestSnippets

vulnerabilities: ## what is known of what the programs call
	.ci/vulnerabilities

contract: ## that buf finds what would break plugins of earlier releases
	TOOLHOST_BUF='$(BUF)' go test -count=1 ./internal/generate

conformance: ## MCP's conformance suite, and others' servers and clients; needs npm
	modules=$$(.ci/npm) && TOOLHOST_NODE_MODULES=$$modules $(GOTESTSUM) --rerun-fails-report=bin/flaky-conformance --packages ./internal/test/conformance -- -count=1 -vet=off -timeout 10m

clients: ## clients of npm with a model on loopback, without a network: they call, and have their files back
	modules=$$(.ci/npm internal/test/conformance/clients) && TOOLHOST_CLIENTS=$$modules unshare --net \
		sh -c 'ip link set lo up && go test -count=1 -vet=off -timeout 10m -run TestAgents ./internal/test/conformance'

console: ## the daemon's page in a headless Chromium; needs npm and Debian's chromium
	modules=$$(.ci/npm internal/test/console/npm) && TOOLHOST_NODE_MODULES=$$modules go test -count=1 -vet=off -timeout 5m ./internal/test/console

pictures: ## docs/pictures, of the page and of top while agents call; needs what console needs
	modules=$$(.ci/npm internal/test/console/npm) && TOOLHOST_NODE_MODULES=$$modules TOOLHOST_PICTURES=$(CURDIR)/docs/pictures \
		go test -count=1 -vet=off -timeout 5m -run Pictures ./internal/test/console

languages: ## what dev new writes in Go, Python and Node; needs npm, protoc and Debian's python3-grpcio
	modules=$$(.ci/npm examples/plugins/node) && typescript=$$(.ci/npm internal/test/languages/npm) && \
	TOOLHOST_NODE_MODULES=$$modules TOOLHOST_TYPESCRIPT=$$typescript \
		$(GOTESTSUM) --rerun-fails-report=bin/flaky-languages --packages ./internal/test/languages -- -count=1 -vet=off -timeout 10m

soak: ## 64 callers while plugins are killed 1,000 times; DURATION=1m for as long as that
	go run ./internal/test/soak $(if $(DURATION),-duration $(DURATION))

soak-fleet: ## 32 callers while hosts of a fleet are killed, stopped and drained, and its server restarts; DURATION=1m
	go run ./internal/test/soak -fleet -callers 32 $(if $(DURATION),-duration $(DURATION))

fuzz: ## each fuzz target for FUZZTIME (30s)
	.ci/fuzz $(FUZZTIME)

gopls: ## introspection's answers for SYMBOLS (400) drawn symbols against gopls' own
	TOOLHOST_GOPLS_SYMBOLS=$(or $(SYMBOLS),400) go test -count=1 -v -timeout 60m -run TestAnswersAsGopls ./plugins/introspection/internal/tools

generate: ## the Go code of proto/, the schema of toolhost.yaml, docs/reference, docs/sandbox.md, and what is in examples/plugins
	$(BUF) lint
	for release in internal/generate/testdata/*.json; do $(BUF) breaking --against $$release || exit 1; done
	$(BUF) generate --path proto/toolhost/plugin
	$(BUF) generate --path proto/toolhost/daemon --template buf.gen.daemon.yaml
	go test ./internal/generate -update
	go run ./internal/test/escape/document
	go test ./internal/sandbox -run TestCallsPage -update
	for written in defaults "what has them"; do go test ./cmd/toolhost/internal/config -run TestGenerated -update || exit 1; done
	go run ./cmd/toolhost/internal/reference
	cp proto/toolhost/plugin/v1/plugin.proto cmd/toolhost/internal/scaffold/templates/
	go test ./internal/test/languages -run TestExamplesAreFresh -update

bench: ## what a call costs, next to other ways to make it; writes docs/bench
	cd bench && go run .

bench-fleet: ## what a call of another host's tool costs, next to a bare NATS request
	go test -run '^$$' -bench '^BenchmarkFleet$$' -benchtime 3x ./host/fleet

simulate-fleet: ## one host in a simulated fleet: HOSTS (1000) with TOOLS (100) each, DURATION (10s) of each step; FLAGS: -sim.…
	go test -count=1 -v -timeout 30m -run TestSimulatedFleet ./host/fleet -sim.hosts=$(or $(HOSTS),1000) -sim.tools=$(or $(TOOLS),100) \
		-sim.duration=$(or $(DURATION),10s) -sim.down=5s -sim.patience=5m $(FLAGS)

microbench: ## what the parts cost
	go test -run '^$$' -bench . -benchmem ./host ./host/audit ./internal/schema ./internal/wire

release: ## archives of command and plugins for each platform, and their checksums, into dist/
	go run ./internal/release

record: build ## docs/demo.cast and docs/demo.svg, of the demo as it runs here
	go run ./internal/record docs/demo bin/toolhost demo

clean: ## remove what build and release make
	rm -rf bin dist

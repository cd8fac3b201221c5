# microbatch: `make help` lists what can be done.
TAGS      := duckdb_arrow
TEST_TAGS := failpoints,$(TAGS)
GOTEST    := go test -tags $(TEST_TAGS)
SEEDS     ?= 2000
FUZZTIME  ?= 30s

.DEFAULT_GOAL := help
.PHONY: help build demo test test-services race check docs bench bench-peers crash sim model museum proof fuzz supply-chain clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/microbatch
	go build -trimpath -tags $(TAGS) -o bin/microbatch ./cmd/microbatch

demo: build ## orders into a table, with a kill -9 in the middle, checked by DuckDB
	./bin/microbatch demo

test: ## all tests that need no JVM and no root (a MinIO and a versitygw are built once, outside the tree)
	@go test ./internal/services -run TestS3Servers -timeout 60m # builds them, once: minutes that no package's time limit should count
	$(GOTEST) ./...

test-services: ## tests on a real Kafka broker, PostgreSQL, PySpark, deltalake, strace and full disks (needs root, Java, Maven, Python)
	./internal/services/install.sh
	$(GOTEST),services -timeout 60m -p 1 ./internal/e2e/... ./sources/kafka/... ./sinks/foreachbatch/... ./sinks/postgres/... ./sinks/kafka/... ./internal/sim/kafkamodel/... ./examples/... ./objstore/localfs/... ./query/... ./internal/services/...

race: ## tests under the race detector
	$(GOTEST) -race ./...

check: ## formatting, vet, builds without tags and without cgo
	@test -z "$$(gofmt -l .)" || { gofmt -l . ; echo "run gofmt -w on these files"; exit 1; }
	go vet -tags $(TEST_TAGS),services,bugs ./...
	go build ./...
	CGO_ENABLED=0 go build ./...

docs: ## write docs/errors.md, the pipeline reference and its JSON schema from the code
	go generate -tags $(TAGS) ./...

bench: build ## measure against DuckDB and a real Kafka broker; writes bench/results.json and docs/benchmarks.md
	go run -tags $(TAGS) ./internal/bench

bench-peers: build ## measure against Spark; an interrupted run goes on where it was (needs what make test-services needs)
	go run -tags $(TAGS) ./internal/bench --peers

crash: ## the crash matrix: every operation of a batch, every loss of power, deaths during recovery
	$(GOTEST) -count=1 -timeout 60m ./internal/sim/crashtest -args -full

sim: ## SEEDS=2000 runs of whole systems, each with faults of its own
	$(GOTEST) -count=1 -timeout 60m ./internal/sim -run '^TestSeeds$$' -v -args -seeds=$(SEEDS)

model: ## every order of the operations of two drivers
	$(GOTEST) -count=1 -timeout 60m ./internal/sim/explore -v -args -full

museum: ## bugs that are put in on purpose, one after the other: each must make tests fail
	go run ./internal/museum

proof: ## all of crash, sim, model, museum and fuzz, and the figures in docs/exactly-once.md
	go run ./internal/proof -seeds $(SEEDS) -fuzztime $(FUZZTIME)

fuzz: ## every fuzz target for FUZZTIME=30s
	./scripts/fuzz.sh $(FUZZTIME)

supply-chain: ## known vulnerabilities and licences of what is linked in (needs vuln.go.dev)
	./scripts/supply-chain.sh

clean: ## remove what was built
	rm -rf bin bench/data

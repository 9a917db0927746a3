# The same commands here and in CI. `make` alone lists them.

# Every module of go.work but tools/, which has no tests.
MODULES  = $(filter-out %/tools,$(shell go list -m -f '{{.Dir}}'))
PACKAGES = $(addsuffix /...,$(MODULES))

# What is generated and committed: sqlc's Go, the packages of specs, and the
# schema by which editors check a spec.
SQLC   = schema/sqlc.yaml examples/orders/sqlc.yaml
SPECS  = examples/orders/events bench/events
SCHEMA = examples/orders/events/events.schema.json

TIMEOUT = 15m

.DEFAULT_GOAL = help
.PHONY: help demo breaker-demo test race soak mutants lint fmt generate verify fuzz bench

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## run the orders example: four cycles, each checked
	cd examples/orders && go run . demo

breaker-demo: ## run the circuit breaker's five phases
	cd examples/orders && go run . breaker-demo

test: ## run every test of every module
	go test -timeout $(TIMEOUT) $(PACKAGES)

race: ## run every test under the race detector (needs a C compiler)
	go test -race -timeout $(TIMEOUT) $(PACKAGES)

lint: ## gofmt, vet and staticcheck
	@unformatted=$$(gofmt -l .); \
	  if [ -n "$$unformatted" ]; then echo "not gofmt-clean (make fmt):"; echo "$$unformatted"; exit 1; fi
	go vet $(PACKAGES) ./tools/...
	go tool staticcheck $(PACKAGES) ./tools/...
	cd bench && go vet ./...

fmt: ## format the Go code
	gofmt -w .

generate: ## write every generated file anew
	@set -e; for f in $(SQLC); do echo "sqlc generate -f $$f"; go tool sqlc generate -f $$f; done
	@set -e; for d in $(SPECS); do echo "outboxgen generate -C $$d"; go run ./cmd/outboxgen generate -C $$d; done
	go run ./cmd/outboxgen schema --for-spec > $(SCHEMA)

verify: ## fail when a generated file is not what generate would write
	@set -e; for f in $(SQLC); do echo "sqlc diff -f $$f"; go tool sqlc diff -f $$f; done
	@set -e; for d in $(SPECS); do echo "outboxgen generate --check -C $$d"; go run ./cmd/outboxgen generate --check -C $$d; done
	go run ./cmd/outboxgen schema --for-spec | diff -q - $(SCHEMA)

soak: ## run the tests with their long settings (an hour or more)
	OUTBOXGEN_SOAK=1 go test -timeout 3h $(PACKAGES)

mutants: ## break each promise by a patch: its test must turn red
	go run ./tools/mutants

FUZZTIME = 5s
fuzz: ## run each fuzz target for FUZZTIME (5s)
	@set -e; git grep -l '^func Fuzz' -- '*_test.go' | xargs -r -n1 dirname | sort -u | while read -r dir; do \
	  for target in $$(cd $$dir && go test -list '^Fuzz' . | grep '^Fuzz'); do \
	    echo "$$dir $$target"; (cd $$dir && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .); \
	  done; done

bench: ## measure beside the floor and three peers (under ten minutes)
	cd bench && go run .

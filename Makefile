# Variform's build. It needs Go, Git and make; everything else is built from
# modules that go.sum pins. `make help` lists the targets.

GO      ?= go
MODULE  := github.com/variform/variform
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
REVISION := $(shell git rev-parse -q --verify HEAD 2>/dev/null)
CREATED  := $(shell git log -1 --format=%ct 2>/dev/null)
TAGS    ?= $(VERSION)
LDFLAGS := -s -w -X $(MODULE)/internal/version.Version=$(VERSION)
BUILD   := $(GO) build -ldflags '$(LDFLAGS)'

# Static binaries, and one build cache for binaries, tests and vet.
export CGO_ENABLED := 0

# One binary and one image per folder of functions/ that has a main.go.
FUNCTIONS := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
ARCHES    := amd64 arm64

# Packages that start goroutines: the only ones that the race detector repeats.
RACE_PACKAGES := $(patsubst %,./%/...,$(wildcard \
	internal/depend internal/fnmain internal/gitrepo internal/krm internal/observe internal/ocirepo internal/publish internal/reconcile internal/render internal/source \
	test/fleet test/oci variantgen))

# What the solver is measured against: a module of its own, so that the product
# does not depend on it.
PEERS := resolver/internal/peers

# The controller and Kubernetes' libraries: a module of its own, so that the command
# does not depend on them.
CONTROLLER := cmd/variform-controller

# A worker's bound on memory leaves no room for the race detector's own.
RACE_SKIP := '^(TestScriptMessageRoundTrips|TestStringsRoundTrip|TestStarlark|TestScriptIsCancelled|TestWorkerIsUsedAgain|TestWorkersShareAPool)$$|^TestScripts$$/^render$$'

# The end-to-end tests that do much at once: all of them are the same engine, and take
# three times as long under the race detector.
RACE_E2E := 'TestScripts|TestPushOverHTTP|TestLostRace|TestApproveLosesRace|TestServerDies|TestHangingRepository|TestUnreachableRepository|TestMaxRefs|TestReal|TestSelection|TestPullRequests|TestReviewRequests|TestRecordRequests|TestOneInput|TestTenBrokenTargets|TestRingDelaysNobody|TestPromptEnds|TestSettledCost|TestPage|TestBlameFleet|TestExitCodes|TestDrop'

FUZZTIME  ?= 30s
FUZZ      ?= .
BENCH     ?= .
BENCHTIME ?= 1s
FLEETS    ?=
# The benchmarks' repositories are in memory where the system has a folder for that: what a
# disk takes for a new file depends on what was deleted there before.
BENCH_TMPDIR ?= $(or $(wildcard /dev/shm),$(TMPDIR),/tmp)
TABLE_PAGE ?= $(if $(FLEETS),,$(CURDIR)/docs/performance.md)

empty :=
space := $(empty) $(empty)

.DEFAULT_GOAL := help
.PHONY: help build test test-long test-all nightly peers race check fmt vet lint layers tidy generated dead demo demo-large e2e forge controller conformance kube-schemas bench bench-table fuzz mutants histories histories-mutants images push release site vet-platforms clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

build: ## bin/variform and bin/functions/<name>, static and stripped
	@mkdir -p bin/functions
	$(BUILD) -o bin/variform ./cmd/variform
	$(if $(FUNCTIONS),$(BUILD) -o bin/functions/ $(FUNCTIONS:%=./functions/%))

# Suites that make test leaves out: they take minutes, or need what not each machine has.
SUITES := bench browser ci conformance docs extend fault fleet hostile images install oci porch
# Packages with more to do than -short lets them.
LONG = $(sort $(patsubst %,./%,$(dir $(shell git grep -l --untracked 'testing\.Short()' -- '*_test.go' ':!$(CONTROLLER)'))) $(SUITES:%=./test/%/))

# The tests that run programs as processes take those that make built.
test test-long: export VARIFORM_BIN = $(CURDIR)/bin

test: build ## in minutes: unit tests, an end-to-end test of each verb, 40 histories
	$(GO) test -short -timeout 20m $$($(GO) list ./... | grep -vE '/test/($(subst $(space),|,$(SUITES)))$$')

test-long: build peers ## what make test leaves out
	$(GO) test -timeout 45m $(LONG)

test-all: test test-long ## every test that needs no forge and no API server

peers: ## the solver beside those that it is measured against
	$(GO) vet -C $(PEERS) .
	$(GO) test -C $(PEERS) .

race: ## the concurrent packages under the race detector
ifneq ($(RACE_PACKAGES),)
	@if command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
		echo "$(GO) test -race -short -timeout 30m $(RACE_PACKAGES) ./test/e2e"; \
		CGO_ENABLED=1 $(GO) test -race -short -timeout 30m -skip $(RACE_SKIP) $(RACE_PACKAGES) && \
		CGO_ENABLED=1 $(GO) test -race -timeout 30m -skip $(RACE_SKIP) -run $(RACE_E2E) ./test/e2e; \
	else \
		echo "NOTICE: race tests skipped: the race detector needs a C compiler (install gcc)"; \
	fi
endif

check: fmt vet layers tidy generated dead lint ## formatting, vet, layers, go.mod, generated files, unreachable code, linters

kube-schemas: ## the schemas of Kubernetes' own kinds, from the source of its releases
	$(GO) run ./tools/kubeschemas/mkkubeschemas

vet:
	$(GO) vet ./...
	$(GO) vet -C $(CONTROLLER) ./...

# What a release has for others' machines compiles there, tests too.
vet-platforms: ## go vet as for macOS and Windows
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./...

layers:
	$(GO) test -count=1 ./test/depcheck/
	@$(GO) run ./test/depcheck/mkpicture -root . -sizes

tidy:
	$(GO) mod tidy -diff
	cd $(PEERS) && $(GO) mod tidy -diff
	cd $(CONTROLLER) && $(GO) mod tidy -diff
	cd test/importers && $(GO) mod tidy -diff
	cd tools/site && $(GO) mod tidy -diff

# Generated files are made again in a copy of the tree and compared.
generated:
	@if ! git grep -qI --untracked '^//go:generate' -- '*.go'; then echo "no generated files"; exit 0; fi; \
	tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && mkdir "$$tmp/old" && \
	git ls-files -co --exclude-standard | while read -r f; do test -e "$$f" && echo "$$f"; done | \
		tar -cf - -T - | tar -xf - -C "$$tmp/old" && cp -R "$$tmp/old" "$$tmp/new" && \
	(cd "$$tmp/new" && $(GO) generate ./...) && \
	if diff -r "$$tmp/old" "$$tmp/new"; then echo "generated files are fresh"; \
	else echo "generated files are stale: run 'go generate ./...' and commit the result" >&2; exit 1; fi

# What no binary reaches is listed with a reason, and the list only shrinks.
dead: bin/tools/deadcode
	@bin/tools/deadcode -f '{{range .Funcs}}{{$$.Path}}.{{.Name}}{{"\n"}}{{end}}' ./... | sed 's#^$(MODULE)/##' | grep -vE '^(test|tools)/' | grep . | \
	awk 'NR == FNR { if (!/^#/ && NF) listed[$$1] = 0; next } \
		{ for (l in listed) if (l ~ /\.$$/ ? index($$0, l) == 1 : $$0 == l) { listed[l]++; next } print "no binary reaches " $$0; bad = 1 } \
		END { for (l in listed) if (!listed[l]) { print "listed, but reached or gone: " l; bad = 1 }; exit bad }' tools/deadcode.txt -

lint: bin/tools/golangci-lint
	bin/tools/golangci-lint run
	cd $(CONTROLLER) && $(CURDIR)/bin/tools/golangci-lint run

# gofmt answers at once; gofumpt comes with the linters.
fmt: bin/tools/golangci-lint
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard -- '*.go' | while read -r f; do test -e "$$f" && echo "$$f"; done)); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:" >&2; echo "$$bad" >&2; exit 1; fi
	bin/tools/golangci-lint fmt --diff

# The linters are a module of their own, so that their dependencies are not ours.
bin/tools/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@echo "building golangci-lint (some minutes, once)"
	@mkdir -p $(@D)
	cd tools/lint && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/tools/deadcode: tools/lint/go.mod tools/lint/go.sum
	@mkdir -p $(@D)
	cd tools/lint && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o ../../$@ golang.org/x/tools/cmd/deadcode
	@touch $@

demo: build ## two small fleets, planned, applied, reviewed and updated (DEMO_DIR keeps their files)
	bin/variform demo

demo-large: build ## one update of 300 clusters that people fixed, set back, emptied and held
	bin/variform demo --large

e2e: build ## the command and the functions from outside, against real parts where they are installed
	$(GO) test -count=1 $$($(GO) list ./test/... | grep -vE '/test/(conformance|bench)')

forge: bin/tools/gitea ## a fleet on a real forge, Gitea (it is built once, which takes minutes and gcc)
	GITEA=$(CURDIR)/bin/tools/gitea GITEA_ROOT=$$(cd tools/gitea && $(GO) list -m -f '{{.Dir}}' code.gitea.io/gitea) $(GO) test -count=1 -timeout 20m ./test/forge

bin/tools/gitea: tools/gitea/go.mod tools/gitea/go.sum
	@echo "building Gitea (some minutes, once)"
	@mkdir -p $(@D)
	cd tools/gitea && CGO_ENABLED=1 $(GO) build -tags 'sqlite sqlite_unlock_notify' -ldflags '-s -w -X main.Version=1.26.2' -o ../../$@ code.gitea.io/gitea
	@touch $@

controller: bin/tools/kube-apiserver bin/tools/kubectl ## bin/variform-controller, and its tests on a real API server (built once, which takes minutes) and etcd (Debian's etcd-server)
	cd $(CONTROLLER) && $(BUILD) -o $(CURDIR)/bin/variform-controller .
	cd $(CONTROLLER) && KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m TEST_ASSET_KUBE_APISERVER=$(CURDIR)/bin/tools/kube-apiserver TEST_ASSET_ETCD=$$(command -v etcd) PATH=$(CURDIR)/bin/tools:$$PATH $(GO) test -count=1 -timeout 20m ./...

bin/tools/kube-apiserver bin/tools/kubectl: tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum
	@echo "building Kubernetes' $(@F) (some minutes, once)"
	@mkdir -p $(@D)
	cd tools/kube-apiserver && $(GO) build -trimpath -ldflags '-s -w' -o ../../$@ k8s.io/kubernetes/cmd/$(@F)
	@touch $@

conformance: ## other systems' test tables as data (CONFORMANCE_DIR names them)
	$(GO) test -count=1 -v ./test/conformance/...

bench: ## benchmarks of every package (BENCH=regexp BENCHTIME=1s)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...
	$(GO) test -C $(PEERS) -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem .

bench-table: ## the tables of docs/performance.md, on an idle machine in half an hour (FLEETS=regexp: some lines, printed)
	GOTMPDIR= TMPDIR=$(BENCH_TMPDIR) $(GO) test -count=1 -timeout 3h -v -run 'TestTable$$' ./test/bench -table -table.fleets '$(FLEETS)' -table.page '$(TABLE_PAGE)'

fuzz: ## every fuzz target for FUZZTIME each (FUZZ=regexp of folders)
	@git grep -hoIE --untracked --full-name '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null || { echo "no fuzz targets"; exit 0; }; \
	git grep -oIE --untracked '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | grep -E '^($(FUZZ))' | sed 's/:func / /' | while read -r file target; do \
		echo "== $$target ($$(dirname $$file)) for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 3s "./$$(dirname $$file)" </dev/null || exit 1; \
	done

mutants: ## how many of N random faults in PKG=./internal/merge its own tests find (SEED=1 FILES=regexp)
	$(GO) run ./test/mutants -n $(or $(N),40) -seed $(or $(SEED),1) -files '$(FILES)' $(or $(PKG),./internal/merge)

HISTORIES ?= 1000
STEPS     ?= 30
SEED      ?= 1

histories: ## random histories against the model, without and with requests on a forge (HISTORIES=, STEPS=, SEED=); a thousand or more also check the list of known violations
	$(GO) test -count=1 -timeout 2h -v -run 'TestHistories(OfRequests)?$$' ./test/histories -histories $(HISTORIES) -steps $(STEPS) -seed $(SEED)

histories-mutants: ## each fault of test/histories/testdata/mutants.yaml, put into a copy of the code, is found
	$(GO) test -count=1 -timeout 2h -v -run 'TestMutants$$' ./test/histories -mutants

# What takes hours: a release is made from a commit that it passed.
nightly: ## a thousand histories, a hundred points at which a run is killed, every fuzz target, the tables of docs/performance.md
	$(MAKE) histories HISTORIES=1000 STEPS=30
	FAULT_POINTS=100 FAULT_ROUNDS=20 $(GO) test -count=1 -timeout 3h ./test/fault
	$(MAKE) fuzz histories-mutants
	$(MAKE) bench-table

images: ## OCI images of the functions, the command and the controller in dist/images, the same digests everywhere
	@rm -rf dist/images dist/bin && mkdir -p dist/bin
	$(foreach arch,$(ARCHES),GOOS=linux GOARCH=$(arch) $(BUILD) -trimpath -buildvcs=false -o dist/bin/$(arch)/ $(FUNCTIONS:%=./functions/%) ./cmd/variform-functions $(if $(CONTROLLER),./cmd/variform) &&) true
	$(if $(CONTROLLER),cd $(CONTROLLER) && $(foreach arch,$(ARCHES),GOOS=linux GOARCH=$(arch) $(BUILD) -trimpath -buildvcs=false -o ../../dist/bin/$(arch)/ . &&) true)
	$(GO) run ./tools/images/mkimages -bin dist/bin -out dist/images -version '$(VERSION)' -revision '$(REVISION)' -created '$(or $(CREATED),0)'

push: ## the images, with what refers to them, to REGISTRY=registry.example.com/path (TAGS=a,b)
	@test -n '$(REGISTRY)' || { echo "give the registry: make push REGISTRY=registry.example.com/path" >&2; exit 2; }
	@$(MAKE) --no-print-directory images
	$(GO) run ./tools/images/pushimages -images dist/images -registry '$(REGISTRY)' -tags '$(TAGS)'

# Equal commits give equal files; CREATED comes from SOURCE_DATE_EPOCH where that is set.
release: images ## the files of a release in dist/release: archives, checksums, lists of contents, formula, krew manifest
	@rm -rf dist/release
	$(GO) run ./tools/release/mkrelease -out dist/release -version '$(VERSION)' -commit '$(REVISION)' -created '$(or $(SOURCE_DATE_EPOCH),$(CREATED),0)' -images dist/images

site: ## a static site of docs/ in dist/site, its links followed
	@rm -rf dist/site
	$(GO) test -C tools/site .
	cd tools/site && $(GO) run . -from ../.. -out ../../dist/site

clean:
	rm -rf bin dist

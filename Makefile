# The commands of this project; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test check interleavings mutations demo eval contract clients faults bench bench-micro bench-stages bench-growth bench-search bench-profile package clean hooks notice release

JAR := gateway-api/target/sluice-app.jar
URL ?= http://127.0.0.1:8080
JAVA_OPTS ?= -Xms512m -Xmx2g -XX:+UseParallelGC
export JAVA_OPTS
MAVEN := JAVA_HOME="$$(bin/jdk25)" mvn
BENCH = $(MAVEN) -q -pl gateway-bench -am package -DskipTests && \
  "$$(bin/jdk25)/bin/java" --enable-native-access=ALL-UNNAMED -cp gateway-bench/target/benchmarks.jar

help: ## list the commands
	@grep -Eh '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: package ## start the gateway, with a Redis and a ClickHouse of its own unless SLUICE_REDIS_URL and SLUICE_CLICKHOUSE_URL are set
	@jdk="$$(bin/jdk25)" && exec "$$jdk/bin/java" $(JAVA_OPTS) --enable-native-access=ALL-UNNAMED \
	  --sun-misc-unsafe-memory-access=allow -jar $(JAR) \
	  --logging.file.name=$${LOGGING_FILE_NAME:-data/gateway.log}

test: ## build and run all tests on real engines
	@bin/requirements test
	@$(MAVEN) verify && bin/skipped

check: ## run the unit tests, without engines, in under two minutes
	@$(MAVEN) -q -T 2 -DskipITs -pl '!gateway-bench' verify

interleavings: ## run concurrency tests in many thread schedules; ARGS='-pl gateway-wal'
	@bin/requirements
	@bin/interleavings $(ARGS)

mutations: ## change the code in small ways and list the changes that no unit test notices; MODULE=gateway-core CLASSES='dev.sluice.core.ingest.*'
	@$(MAVEN) -pl $(or $(MODULE),gateway-core) -am test-compile org.pitest:pitest-maven:mutationCoverage \
	  -DtargetClasses='$(or $(CLASSES),dev.sluice.core.*)' -DtargetTests='$(or $(CLASSES),dev.sluice.core.*)' -DfailWhenNoMutations=false

demo: ## send log lines to a running gateway and read them back; LOGS=files
	@bin/sluice demo $(or $(LOGS),$(wildcard data/gateway.log gateway-*/target/*-reports/*.txt gateway-*/target/maven-status/*/*/*/*.lst))

eval: ## evaluate templates (LOGS=dir/*.ndjson) and search (QUERIES=file) of a gateway, results in OUT=dir; URL=http://127.0.0.1:8080
	@[ -n "$(LOGS)" ] && [ -n "$(OUT)" ] || { echo "LOGS and OUT are needed: make eval LOGS=dir OUT=dir QUERIES=file" >&2; exit 2; }
	@curl -s -o /dev/null --noproxy '*' --max-time 10 "$(URL)" || $(MAKE) -s package # a running gateway may hold the jar open
	@bin/sluice eval --url "$(URL)" $(if $(QUERIES),--queries "$(QUERIES)") "$(LOGS)" "$(OUT)" \
	  -- "$$(bin/jdk25)/bin/java" $(JAVA_OPTS) --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -jar $(JAR)

contract: ## test a running gateway against its OpenAPI document; SECONDS_LONG=120
	@bin/contract

clients: ## run every example of docs/clients.md, including Python and Go
	@bin/requirements
	@bin/clients

faults: ## inject faults under load and count the logs; ARGS='redis-kill poison' ROUNDS=2 SEED=1
	@bin/requirements
	@ROUNDS="$(ROUNDS)" SEED="$(SEED)" bin/faults $(ARGS)

bench: package ## measure throughput and CPU per log from request to row, by protocol; CASES='otlp open' SECONDS_EACH=60 OUT=docs/benchmarks
	@generators="$$(bin/generators)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.EndToEndReport

bench-stages: package ## compare pipeline designs, from one insert per request to the gateway; STAGES='1 7' PER_REQUEST='1 100' SECONDS_EACH=30
	@generators="$$(bin/generators wrk)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.StagesReport

bench-micro: ## run JMH benchmarks with allocation figures; ARGS='OtlpWalker -f 1'
	@bin/requirements
	@$(MAVEN) -q -pl gateway-bench -am package -DskipTests
	@jdk="$$(bin/jdk25)" && exec "$$jdk/bin/java" -jar gateway-bench/target/benchmarks.jar -prof gc $(ARGS)

bench-profile: package ## profile the gateway's CPU as flame graphs; BEFORE=earlier.jar BEFORE_COMMIT=b02fd97 OUT=docs/benchmarks
	@bin/generators wrk > /dev/null
	@export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.ProfileReport

bench-growth: package ## measure how the CPU of a log grows with one variable; AXES='connections request templates repeats' POINTS='1 64'
	@bin/generators wrk > /dev/null
	@$(BENCH) dev.sluice.bench.GrowthReport

bench-search: package ## measure search latency over many logs and templates; LOGS=10000000 TEMPLATES=5000 OUT=docs/benchmarks
	@generators="$$(bin/generators wrk vegeta)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.SearchReport

package:
	@bin/requirements
	@$(MAVEN) -q -pl gateway-api -am package -DskipTests

clean: ## delete build output; data and caches stay
	@$(MAVEN) -q clean

hooks: ## install the git hook that checks commit subjects
	@git config core.hooksPath .githooks

notice: ## write NOTICE, the licences of all libraries in the jar
	@$(MAVEN) -q -pl gateway-api -am process-classes && cp gateway-api/target/NOTICE NOTICE

release: ## build the release artefacts twice and compare their hashes; docs/contributing/release.md has the steps
	@bin/requirements
	@bin/release

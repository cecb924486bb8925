# The verbs of this project; `make help` tells them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test demo eval contract clients faults bench bench-micro bench-stages bench-growth bench-search bench-profile bench-spool bench-logging bench-mining package clean

JAR := gateway-api/target/sluice-app.jar
JAVA_OPTS ?= -Xms512m -Xmx2g -XX:+UseParallelGC
export JAVA_OPTS
MAVEN := JAVA_HOME="$$(bin/jdk25)" mvn
BENCH = $(MAVEN) -q -pl gateway-bench -am package -DskipTests && \
  "$$(bin/jdk25)/bin/java" --enable-native-access=ALL-UNNAMED -cp gateway-bench/target/benchmarks.jar

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: package ## start the gateway, with a Redis and a ClickHouse of its own unless told of yours
	@jdk="$$(bin/jdk25)" && exec "$$jdk/bin/java" $(JAVA_OPTS) --enable-native-access=ALL-UNNAMED \
	  --sun-misc-unsafe-memory-access=allow -jar $(JAR) \
	  --logging.file.name=$${LOGGING_FILE_NAME:-data/gateway.log}

test: ## everything that must hold, on real engines
	@bin/requirements test
	@$(MAVEN) verify && bin/skipped

demo: ## send real lines to a running gateway and read them back; LOGS=file for lines of yours
	@bin/demo

eval: ## what templates a gateway finds in LOGS=dir/*.ndjson, and by QUERIES=file, written to OUT=dir for scoring; URL=http://127.0.0.1:8080
	@bin/eval

contract: ## try a running gateway against its own OpenAPI document; SECONDS_LONG=120
	@bin/contract

clients: ## every example of docs/clients.md, Python and Go too
	@bin/requirements
	@bin/clients

faults: ## kill, halt, fill and cut everything under load, count the logs; ARGS='redis-kill poison' ROUNDS=2 SEED=1
	@bin/requirements
	@ROUNDS="$(ROUNDS)" SEED="$(SEED)" bin/faults $(ARGS)

bench: package ## what a log costs from request to row, by each way in; CASES='otlp open' SECONDS_EACH=60 OUT=docs/benchmarks
	@generators="$$(bin/generators)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.EndToEndReport

bench-stages: package ## what each idea brought, from a plain insert to the gateway; STAGES='1 7' PER_REQUEST='1 100' SECONDS_EACH=30
	@generators="$$(bin/generators wrk)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.StagesReport

bench-micro: ## JMH benchmarks, with what they allocate; ARGS='OtlpWalker -f 1' for some of them
	@bin/requirements
	@$(MAVEN) -q -pl gateway-bench -am package -DskipTests
	@jdk="$$(bin/jdk25)" && exec "$$jdk/bin/java" -jar gateway-bench/target/benchmarks.jar -prof gc $(ARGS)

bench-profile: package ## on what the gateway spends its CPU, as flame graphs; BEFORE=earlier.jar BEFORE_COMMIT=b02fd97 OUT=docs/benchmarks
	@bin/generators wrk > /dev/null
	@export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.ProfileReport

bench-spool: package ## what a gateway takes in with Redis, and once Redis is gone for good; SECONDS_EACH=20
	@$(BENCH) dev.sluice.bench.SpoolReport

bench-logging: package ## what events cost in the write-ahead log, against plain logging; EVENTS=20000 SECONDS_EACH=30
	@$(BENCH) dev.sluice.bench.LoggingReport

bench-mining: package ## what a log costs with templates, against without; SECONDS_EACH=10 ROUNDS=5
	@$(BENCH) dev.sluice.bench.MiningReport

bench-growth: package ## how the cost of a log grows, and whether anything grows in minutes; AXES='connections table endurance' OUT=docs/benchmarks
	@generators="$$(bin/generators)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.GrowthReport

bench-search: package ## how long a search takes among many logs and templates; LOGS=10000000 TEMPLATES=5000 OUT=docs/benchmarks
	@generators="$$(bin/generators wrk vegeta)" && export GENERATORS="$$generators" && \
	  export COMMIT="$$(git describe --always --dirty 2>/dev/null)" && $(BENCH) dev.sluice.bench.SearchReport

package:
	@bin/requirements
	@$(MAVEN) -q -pl gateway-api -am package -DskipTests

clean: ## forget what was built; data and cache stay
	@$(MAVEN) -q clean

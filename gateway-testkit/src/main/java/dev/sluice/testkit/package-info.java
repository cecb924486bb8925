/**
 * The test kit: contracts of the ports such as {@link SpoolContract}, sample logs, and {@link
 * SharedEngines} with a real Redis and ClickHouse. It depends on the fixtures of the core, the
 * templates and the queries, such as {@link InMemorySpool}, which are in the same package and in
 * the test-jars of these modules. Only tests use it; it depends on no adapter.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;

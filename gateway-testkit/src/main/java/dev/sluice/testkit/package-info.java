/**
 * The test kit: contracts of the ports such as {@link SpoolContract}, in-memory twins such as
 * {@link InMemorySpool}, sample logs, and {@link SharedEngines} with a real Redis and ClickHouse.
 * Only tests use it; it depends on the core and the engines, on no adapter.
 */
@NullMarked
package dev.sluice.testkit;

import org.jspecify.annotations.NullMarked;

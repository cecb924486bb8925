/**
 * The ClickHouse adapter: it stores logs, reads them back and migrates the schema. {@link
 * ClickHouseDatabase} has the client and the schema, which the other public types share. Only
 * {@code dev.sluice.api.config} uses this package; only {@link ClickHouseClient} uses the client
 * library.
 */
@NullMarked
package dev.sluice.clickhouse;

import org.jspecify.annotations.NullMarked;

/**
 * The ClickHouse adapter: it stores logs, reads them back and migrates the schema. {@link
 * ClickHouseLogStore} is the entry type; {@link ClickHouseDictionary}, {@link
 * ClickHouseTemplateStats} and {@link ClickHouseTemplateVectorStore} share its client. Only {@code
 * dev.sluice.api.config} uses this package; only {@link ClickHouseClient} uses the client library.
 */
@NullMarked
package dev.sluice.clickhouse;

import org.jspecify.annotations.NullMarked;

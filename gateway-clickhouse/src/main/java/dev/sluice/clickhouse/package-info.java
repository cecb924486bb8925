/** Stores logs in ClickHouse and reads them back. */
@NullMarked
package dev.sluice.clickhouse;

import org.jspecify.annotations.NullMarked;

/**
 * The query model of stored logs, independent of protocol and database. {@link LogFilter} is the
 * entry type; {@link TextQuery} is its full-text part. The query API builds it, and {@link
 * dev.sluice.query.port.LogReader} implementations evaluate it.
 */
@NullMarked
package dev.sluice.query.filter;

import org.jspecify.annotations.NullMarked;

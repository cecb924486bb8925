/** HTTP in and out: native logs, OTLP, queries, the API's own description. */
@NullMarked
package dev.sluice.api.http;

import org.jspecify.annotations.NullMarked;

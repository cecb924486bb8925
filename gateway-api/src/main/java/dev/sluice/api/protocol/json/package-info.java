/** Native logs as JSON and NDJSON. Its registration is {@link JsonProtocol}. */
@NullMarked
package dev.sluice.api.protocol.json;

import org.jspecify.annotations.NullMarked;

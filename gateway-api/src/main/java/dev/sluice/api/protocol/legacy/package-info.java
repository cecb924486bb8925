/**
 * The predecessor's API, over HTTP and gRPC. Its registration is {@link LegacyProtocol}. The
 * package can be deleted as a whole, with its line of wiring.
 */
@NullMarked
package dev.sluice.api.protocol.legacy;

import org.jspecify.annotations.NullMarked;

/**
 * Frames of a write-ahead log that a log shipper sends. Its registration is {@link FramesProtocol}.
 */
@NullMarked
package dev.sluice.api.protocol.frames;

import org.jspecify.annotations.NullMarked;

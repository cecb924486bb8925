/**
 * Decompression formats that HTTP and gRPC share: {@link Zstd}, {@link SnappyFrames}, {@link
 * SnappyBlock} and {@link StrictInflaterInputStream}. The packages {@code http}, {@code grpc} and
 * {@code decode} use it; it depends on none of them.
 */
@NullMarked
package dev.sluice.api.compression;

import org.jspecify.annotations.NullMarked;

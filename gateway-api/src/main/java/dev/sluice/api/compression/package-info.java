/** Formats that HTTP and gRPC both unpack, where neither may know the other. */
@NullMarked
package dev.sluice.api.compression;

import org.jspecify.annotations.NullMarked;

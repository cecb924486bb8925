/**
 * The native protobuf contract {@code sluice.v1}, over HTTP and gRPC. Its registration is {@link
 * ProtobufProtocol}.
 */
@NullMarked
package dev.sluice.api.protocol.protobuf;

import org.jspecify.annotations.NullMarked;

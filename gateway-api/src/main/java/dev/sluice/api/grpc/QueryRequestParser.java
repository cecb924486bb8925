package dev.sluice.api.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.grpc.Status;
import io.grpc.StatusException;

/**
 * Parses query requests with their generated classes. The parsed objects can take fifty times the
 * memory of the message, outside the memory budget, so the message size is limited.
 */
public final class QueryRequestParser {
  /** Enough for every valid filter, whose texts have at most 32 Ki characters together. */
  private static final int MAX_BYTES = 256 * 1024;

  private QueryRequestParser() {}

  /**
   * Parses a request.
   *
   * @throws StatusException when the message is malformed or too large; it is the response
   */
  public static <T extends Message> T parse(RawMessage message, Parser<T> parser, String type)
      throws StatusException {
    var failure = message.failure();
    if (failure != null) {
      throw GrpcStatuses.of(failure);
    }
    int size = message.bytes().length;
    if (size > MAX_BYTES) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("query has " + size + " bytes, must have at most " + MAX_BYTES)
          .asException();
    }
    try {
      return parser.parseFrom(message.bytes());
    } catch (InvalidProtocolBufferException _) {
      throw InvalidArgument.malformed("malformed protobuf: not a " + type);
    }
  }
}

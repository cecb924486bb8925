package dev.sluice.api.grpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.grpc.Status;
import io.grpc.StatusException;

/**
 * A request that is parsed by its generated class. What comes of that may be fifty times as large
 * as the message and is in no budget, so that only small ones are.
 */
final class QueryRequestParser {
  /** Ample: all texts of a filter together may have 32 Ki characters. */
  private static final int MAX_BYTES = 256 * 1024;

  private QueryRequestParser() {}

  /**
   * @throws StatusException what to answer when it cannot be parsed
   */
  static <T extends Message> T parse(RawMessage message, Parser<T> parser, String type)
      throws StatusException {
    var failure = message.failure();
    if (failure != null) {
      throw NativeLogsService.toStatusException(failure);
    }
    int size = message.bytes().length;
    if (size > MAX_BYTES) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("a question of " + size + " bytes, at most " + MAX_BYTES)
          .asException();
    }
    try {
      return parser.parseFrom(message.bytes());
    } catch (InvalidProtocolBufferException _) {
      throw InvalidArgument.malformed("malformed protobuf: no " + type + " can be read");
    }
  }
}

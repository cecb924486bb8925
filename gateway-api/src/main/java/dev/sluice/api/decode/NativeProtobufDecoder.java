package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.otlp.ProtobufInput;

/**
 * Turns the flat logs of {@code sluice.v1} into OTLP on the wire level: no message, no text.
 *
 * <p>A {@code sluice.v1.LogRecord} has the fields of OTLP's by number and type, and an entry of its
 * maps is a {@code KeyValue} byte for byte. So those are copied as they are, and only where a log
 * comes from is taken out of it, into resource and scope.
 *
 * <p>What is protobuf but breaks a limit is left for the walker to judge, as everywhere. What is no
 * protobuf, down to where the walker looks, fails the request here, where the position still means
 * something to the client. For one request.
 */
public final class NativeProtobufDecoder {
  private static final byte[] SERVICE_NAME = "service.name".getBytes(UTF_8);
  private static final byte[] HOST_NAME = "host.name".getBytes(UTF_8);
  private static final int SEQUENCE = 1 << 3 | ProtobufInput.VARINT;

  private final ProtobufInput in = new ProtobufInput();
  private final Limits limits;
  private final OtlpRequestBuilder builder;

  private NativeProtobufDecoder(byte[] message, Limits limits) {
    this.in.bytes = message;
    this.limits = limits;
    this.builder = new OtlpRequestBuilder(limits, message.length + message.length / 8);
  }

  /**
   * The logs of an {@code IngestRequest}.
   *
   * @throws DecodeException when it is none
   */
  public static OtlpPayload ofRequest(byte[] message, Limits limits) {
    return new NativeProtobufDecoder(message, limits).read(1);
  }

  /**
   * The logs of an {@code IngestStreamRequest}.
   *
   * @throws DecodeException when it is none
   */
  public static OtlpPayload ofStreamRequest(byte[] message, Limits limits) {
    return new NativeProtobufDecoder(message, limits).read(2);
  }

  /** The sequence of an {@code IngestStreamRequest}, as far as it can be read; else 0. */
  public static long sequence(byte[] message) {
    var in = new ProtobufInput();
    in.bytes = message;
    long sequence = 0;
    try {
      while (in.position < message.length) {
        int tag = in.readTag(message.length);
        if (tag == SEQUENCE) {
          sequence = in.readVarint(message.length);
        } else {
          in.skip(tag, message.length);
        }
      }
    } catch (MalformedOtlpException _) {
      // the request is refused with what was read before
    }
    return sequence;
  }

  private OtlpPayload read(int recordsField) {
    int end = in.bytes.length;
    try {
      while (in.position < end) {
        int tag = in.readTag(end);
        if (tag == (recordsField << 3 | ProtobufInput.BYTES)) {
          readRecord(in.readContentEnd(end));
          continue;
        }
        if (recordsField == 1 || tag != SEQUENCE) {
          builder.unknownFields++;
        }
        in.skip(tag, end);
      }
    } catch (MalformedOtlpException e) {
      throw DecodeException.malformed("malformed protobuf: " + e.getMessage());
    }
    return builder.payload();
  }

  private void readRecord(int end) throws MalformedOtlpException {
    builder.begin();
    boolean content = false;
    int service = 0;
    int serviceEnd = 0;
    int host = 0;
    int hostEnd = 0;
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.FIXED64,
            2 << 3 | ProtobufInput.VARINT,
            3 << 3 | ProtobufInput.BYTES,
            7 << 3 | ProtobufInput.VARINT,
            8 << 3 | ProtobufInput.FIXED32,
            9 << 3 | ProtobufInput.BYTES,
            10 << 3 | ProtobufInput.BYTES,
            11 << 3 | ProtobufInput.FIXED64 -> {
          in.skip(tag, end);
          copy(start, builder.record);
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          content |= close > in.position; // an empty value is null
          checkValue(close, 0);
          copy(start, builder.record);
        }
        case 6 << 3 | ProtobufInput.BYTES -> {
          content = true;
          checkEntry(in.readContentEnd(end), 0);
          copy(start, builder.record);
        }
        case 12 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          content |= close > in.position;
          in.position = close;
          copy(start, builder.record);
        }
        case 16 << 3 | ProtobufInput.BYTES -> {
          serviceEnd = in.readContentEnd(end);
          service = in.position;
          in.position = serviceEnd;
        }
        case 17 << 3 | ProtobufInput.BYTES -> {
          hostEnd = in.readContentEnd(end);
          host = in.position;
          in.position = hostEnd;
        }
        case 18 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          int entry = in.position;
          checkEntry(close, 0);
          builder.resource.writeBytes(1, in.bytes, entry, close - entry);
        }
        case 19 << 3 | ProtobufInput.BYTES -> readScope(in.readContentEnd(end));
        default -> {
          builder.unknownFields++;
          in.skip(tag, end);
        }
      }
    }
    // after the entries of the map, whatever their order on the wire: the last of equal keys counts
    writeResourceAttribute(SERVICE_NAME, service, serviceEnd);
    writeResourceAttribute(HOST_NAME, host, hostEnd);
    if (!content) {
      builder.rejectRecord("body", "is missing, and so are attributes and event_name");
    }
    builder.end();
  }

  private void copy(int from, OtlpWriter into) {
    into.output().write(in.bytes, from, in.position - from);
  }

  private void writeResourceAttribute(byte[] key, int from, int to) {
    if (from == to) {
      return; // not sent, or sent as its default, which is the same
    }
    int pair = builder.resource.beginMessage(1);
    builder.resource.writeBytes(1, key, 0, key.length);
    int value = builder.resource.beginMessage(2);
    builder.resource.writeBytes(1, in.bytes, from, to - from);
    builder.resource.endMessage(value);
    builder.resource.endMessage(pair);
  }

  /** {@code Scope} has the fields of OTLP's {@code InstrumentationScope} but one. */
  private void readScope(int end) throws MalformedOtlpException {
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES, 2 << 3 | ProtobufInput.BYTES -> {
          in.skip(tag, end);
          copy(start, builder.scope);
        }
        case 3 << 3 | ProtobufInput.BYTES -> {
          checkEntry(in.readContentEnd(end), 0);
          copy(start, builder.scope);
        }
        default -> {
          builder.unknownFields++;
          in.skip(tag, end);
        }
      }
    }
  }

  /** Goes through an entry of a map, only to see that it is protobuf. */
  private void checkEntry(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (2 << 3 | ProtobufInput.BYTES)) {
        checkValue(in.readContentEnd(end), depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** The same for a value. The walker looks no deeper than lists and maps may be nested. */
  private void checkValue(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 5 << 3 | ProtobufInput.BYTES ->
            checkElements(in.readContentEnd(end), depth + 1, false);
        case 6 << 3 | ProtobufInput.BYTES -> checkElements(in.readContentEnd(end), depth + 1, true);
        default -> in.skip(tag, end);
      }
    }
  }

  private void checkElements(int end, int depth, boolean entries) throws MalformedOtlpException {
    if (depth > limits.maxNesting()) {
      in.position = end;
      return;
    }
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != (1 << 3 | ProtobufInput.BYTES)) {
        in.skip(tag, end);
      } else if (entries) {
        checkEntry(in.readContentEnd(end), depth);
      } else {
        checkValue(in.readContentEnd(end), depth);
      }
    }
  }
}

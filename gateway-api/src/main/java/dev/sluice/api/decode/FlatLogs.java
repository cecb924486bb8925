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
public final class FlatLogs {
  private static final byte[] SERVICE_NAME = "service.name".getBytes(UTF_8);
  private static final byte[] HOST_NAME = "host.name".getBytes(UTF_8);
  private static final int SEQUENCE = 1 << 3 | ProtobufInput.VARINT;

  private final ProtobufInput in = new ProtobufInput();
  private final Limits limits;
  private final OtlpRows rows;

  private FlatLogs(byte[] message, Limits limits) {
    this.in.bytes = message;
    this.limits = limits;
    this.rows = new OtlpRows(limits, message.length + message.length / 8);
  }

  /**
   * The logs of an {@code IngestRequest}.
   *
   * @throws Undecodable when it is none
   */
  public static OtlpPayload ofRequest(byte[] message, Limits limits) {
    return new FlatLogs(message, limits).read(1);
  }

  /**
   * The logs of an {@code IngestStreamRequest}.
   *
   * @throws Undecodable when it is none
   */
  public static OtlpPayload ofStreamRequest(byte[] message, Limits limits) {
    return new FlatLogs(message, limits).read(2);
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

  private OtlpPayload read(int logs) {
    int end = in.bytes.length;
    try {
      while (in.position < end) {
        int tag = in.readTag(end);
        if (tag == (logs << 3 | ProtobufInput.BYTES)) {
          row(in.readContentEnd(end));
          continue;
        }
        if (logs == 1 || tag != SEQUENCE) {
          rows.unknownFields++;
        }
        in.skip(tag, end);
      }
    } catch (MalformedOtlpException e) {
      throw Undecodable.malformed("malformed protobuf: " + e.getMessage());
    }
    return rows.payload();
  }

  private void row(int end) throws MalformedOtlpException {
    rows.begin();
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
          copy(start, rows.record);
        }
        case 5 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          content |= close > in.position; // an empty value is null
          value(close, 0);
          copy(start, rows.record);
        }
        case 6 << 3 | ProtobufInput.BYTES -> {
          content = true;
          entry(in.readContentEnd(end), 0);
          copy(start, rows.record);
        }
        case 12 << 3 | ProtobufInput.BYTES -> {
          int close = in.readContentEnd(end);
          content |= close > in.position;
          in.position = close;
          copy(start, rows.record);
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
          entry(close, 0);
          rows.resource.writeBytes(1, in.bytes, entry, close - entry);
        }
        case 19 << 3 | ProtobufInput.BYTES -> scope(in.readContentEnd(end));
        default -> {
          rows.unknownFields++;
          in.skip(tag, end);
        }
      }
    }
    // after the entries of the map, whatever their order on the wire: the last of equal keys counts
    resourceText(SERVICE_NAME, service, serviceEnd);
    resourceText(HOST_NAME, host, hostEnd);
    if (!content) {
      rows.fault("body", "is missing, and so are attributes and event_name");
    }
    rows.end();
  }

  private void copy(int from, OtlpWriter into) {
    into.output().write(in.bytes, from, in.position - from);
  }

  private void resourceText(byte[] key, int from, int to) {
    if (from == to) {
      return; // not sent, or sent as its default, which is the same
    }
    int pair = rows.resource.beginMessage(1);
    rows.resource.writeBytes(1, key, 0, key.length);
    int value = rows.resource.beginMessage(2);
    rows.resource.writeBytes(1, in.bytes, from, to - from);
    rows.resource.endMessage(value);
    rows.resource.endMessage(pair);
  }

  /** {@code Scope} has the fields of OTLP's {@code InstrumentationScope} but one. */
  private void scope(int end) throws MalformedOtlpException {
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case 1 << 3 | ProtobufInput.BYTES, 2 << 3 | ProtobufInput.BYTES -> {
          in.skip(tag, end);
          copy(start, rows.scope);
        }
        case 3 << 3 | ProtobufInput.BYTES -> {
          entry(in.readContentEnd(end), 0);
          copy(start, rows.scope);
        }
        default -> {
          rows.unknownFields++;
          in.skip(tag, end);
        }
      }
    }
  }

  /** Goes through an entry of a map, only to see that it is protobuf. */
  private void entry(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == (2 << 3 | ProtobufInput.BYTES)) {
        value(in.readContentEnd(end), depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** The same for a value. The walker looks no deeper than lists and maps may be nested. */
  private void value(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case 5 << 3 | ProtobufInput.BYTES -> elements(in.readContentEnd(end), depth + 1, false);
        case 6 << 3 | ProtobufInput.BYTES -> elements(in.readContentEnd(end), depth + 1, true);
        default -> in.skip(tag, end);
      }
    }
  }

  private void elements(int end, int depth, boolean entries) throws MalformedOtlpException {
    if (depth > limits.maxNesting()) {
      in.position = end;
      return;
    }
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != (1 << 3 | ProtobufInput.BYTES)) {
        in.skip(tag, end);
      } else if (entries) {
        entry(in.readContentEnd(end), depth);
      } else {
        value(in.readContentEnd(end), depth);
      }
    }
  }
}

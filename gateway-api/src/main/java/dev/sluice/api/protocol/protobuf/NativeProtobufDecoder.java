package dev.sluice.api.protocol.protobuf;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.api.decode.OtlpRequestBuilder;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.otlp.ProtobufInput;

/**
 * Decodes the flat logs of {@code sluice.v1} into OTLP at the wire level, without message objects
 * and strings.
 *
 * <p>The fields of a {@code sluice.v1.LogRecord} have the numbers and types of OTLP's {@code
 * LogRecord}, and an entry of its maps has the encoding of a {@code KeyValue}. Those fields are
 * copied unchanged; only service, host, resource and scope are moved to OTLP's resource and scope.
 *
 * <p>A field that exceeds a limit is copied, and {@link dev.sluice.core.otlp.OtlpWalker} rejects
 * the record. Bytes that are not protobuf, down to the depth that the walker parses, fail the
 * request in this class, where the byte position still refers to the client's message. For one
 * request.
 */
final class NativeProtobufDecoder {
  private static final byte[] SERVICE_NAME = "service.name".getBytes(UTF_8);
  private static final byte[] HOST_NAME = "host.name".getBytes(UTF_8);

  private final ProtobufInput in = new ProtobufInput();
  private final Limits limits;
  private final OtlpRequestBuilder builder;

  private NativeProtobufDecoder(byte[] message, Limits limits) {
    this.in.bytes = message;
    this.limits = limits;
    this.builder = new OtlpRequestBuilder(limits, message.length + message.length / 8);
  }

  /**
   * Decodes the logs of an {@code IngestRequest}.
   *
   * @throws DecodeException if the message is malformed or has too many records
   */
  public static OtlpPayload ofRequest(byte[] message, Limits limits) {
    return new NativeProtobufDecoder(message, limits).read(NativeFields.INGEST_REQUEST_LOGS_TAG);
  }

  /**
   * Decodes the logs of an {@code IngestStreamRequest}.
   *
   * @throws DecodeException if the message is malformed or has too many records
   */
  public static OtlpPayload ofStreamRequest(byte[] message, Limits limits) {
    return new NativeProtobufDecoder(message, limits)
        .read(NativeFields.INGEST_STREAM_REQUEST_LOGS_TAG);
  }

  /**
   * Returns the sequence of an {@code IngestStreamRequest}; 0 if the message is malformed before
   * its sequence.
   */
  public static long sequence(byte[] message) {
    var in = new ProtobufInput();
    in.bytes = message;
    long sequence = 0;
    try {
      while (in.position < message.length) {
        int tag = in.readTag(message.length);
        if (tag == NativeFields.INGEST_STREAM_REQUEST_SEQUENCE_TAG) {
          sequence = in.readVarint(message.length);
        } else {
          in.skip(tag, message.length);
        }
      }
    } catch (MalformedOtlpException _) {
      // the caller rejects the request under the sequence read so far
    }
    return sequence;
  }

  private OtlpPayload read(int recordsTag) {
    int end = in.bytes.length;
    try {
      while (in.position < end) {
        int tag = in.readTag(end);
        if (tag == recordsTag) {
          readRecord(in.readContentEnd(end));
          continue;
        }
        if (recordsTag == NativeFields.INGEST_REQUEST_LOGS_TAG
            || tag != NativeFields.INGEST_STREAM_REQUEST_SEQUENCE_TAG) {
          builder.countUnknownField();
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
        case NativeFields.LOG_RECORD_TIME_UNIX_NANO_TAG,
            NativeFields.LOG_RECORD_SEVERITY_NUMBER_TAG,
            NativeFields.LOG_RECORD_SEVERITY_TEXT_TAG,
            NativeFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT_TAG,
            NativeFields.LOG_RECORD_FLAGS_TAG,
            NativeFields.LOG_RECORD_TRACE_ID_TAG,
            NativeFields.LOG_RECORD_SPAN_ID_TAG,
            NativeFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG -> {
          in.skip(tag, end);
          copy(start, builder.record);
        }
        case NativeFields.LOG_RECORD_BODY_TAG -> {
          int close = in.readContentEnd(end);
          content |= close > in.position; // an empty value stands for null
          checkValue(close, 0);
          copy(start, builder.record);
        }
        case NativeFields.LOG_RECORD_ATTRIBUTES_TAG -> {
          content = true;
          checkEntry(in.readContentEnd(end), 0);
          copy(start, builder.record);
        }
        case NativeFields.LOG_RECORD_EVENT_NAME_TAG -> {
          int close = in.readContentEnd(end);
          content |= close > in.position;
          in.position = close;
          copy(start, builder.record);
        }
        case NativeFields.LOG_RECORD_SERVICE_TAG -> {
          serviceEnd = in.readContentEnd(end);
          service = in.position;
          in.position = serviceEnd;
        }
        case NativeFields.LOG_RECORD_HOST_TAG -> {
          hostEnd = in.readContentEnd(end);
          host = in.position;
          in.position = hostEnd;
        }
        case NativeFields.LOG_RECORD_RESOURCE_TAG -> {
          int close = in.readContentEnd(end);
          int entry = in.position;
          checkEntry(close, 0);
          builder.resource.writeBytes(
              OtlpFields.RESOURCE_ATTRIBUTES, in.bytes, entry, close - entry);
        }
        case NativeFields.LOG_RECORD_SCOPE_TAG -> readScope(in.readContentEnd(end));
        default -> {
          builder.countUnknownField();
          in.skip(tag, end);
        }
      }
    }
    // after the map entries, whatever the order on the wire, because the last of equal keys wins
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
      return; // not sent, or sent as the empty default, which is equivalent
    }
    int pair = builder.resource.beginMessage(OtlpFields.RESOURCE_ATTRIBUTES);
    builder.resource.writeBytes(OtlpFields.KEY_VALUE_KEY, key, 0, key.length);
    int value = builder.resource.beginMessage(OtlpFields.KEY_VALUE_VALUE);
    builder.resource.writeBytes(OtlpFields.ANY_VALUE_STRING_VALUE, in.bytes, from, to - from);
    builder.resource.endMessage(value);
    builder.resource.endMessage(pair);
  }

  /**
   * Copies a {@code Scope}, whose fields have the numbers and types of OTLP's {@code
   * InstrumentationScope}.
   */
  private void readScope(int end) throws MalformedOtlpException {
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      switch (tag) {
        case NativeFields.SCOPE_NAME_TAG, NativeFields.SCOPE_VERSION_TAG -> {
          in.skip(tag, end);
          copy(start, builder.scope);
        }
        case NativeFields.SCOPE_ATTRIBUTES_TAG -> {
          checkEntry(in.readContentEnd(end), 0);
          copy(start, builder.scope);
        }
        default -> {
          builder.countUnknownField();
          in.skip(tag, end);
        }
      }
    }
  }

  /** Validates that a map entry is protobuf. */
  private void checkEntry(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag == NativeFields.MAP_ENTRY_VALUE_TAG) {
        checkValue(in.readContentEnd(end), depth);
      } else {
        in.skip(tag, end);
      }
    }
  }

  /** Validates that a value is protobuf, down to the nesting limit, where the walker stops too. */
  private void checkValue(int end, int depth) throws MalformedOtlpException {
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case NativeFields.VALUE_LIST_VALUE_TAG ->
            checkElements(in.readContentEnd(end), depth + 1, false);
        case NativeFields.VALUE_MAP_VALUE_TAG ->
            checkElements(in.readContentEnd(end), depth + 1, true);
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
      if (tag != NativeFields.LIST_VALUE_VALUES_TAG) { // MAP_VALUE_VALUES_TAG is equal
        in.skip(tag, end);
      } else if (entries) {
        checkEntry(in.readContentEnd(end), depth);
      } else {
        checkValue(in.readContentEnd(end), depth);
      }
    }
  }
}

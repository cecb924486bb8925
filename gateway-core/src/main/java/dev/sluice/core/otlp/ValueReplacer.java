package dev.sluice.core.otlp;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Replaces parts of the texts in OTLP bytes: of log bodies, and of the attribute values of records,
 * scopes and resources, at any depth. All other bytes are copied as they were sent; only the
 * lengths of the enclosing messages are encoded anew. An instance serves one request on one thread.
 */
public final class ValueReplacer {

  /** Finds the parts of one text to replace. */
  @FunctionalInterface
  public interface Finder {
    /**
     * Finds the parts, in ascending order and without overlaps.
     *
     * @param bytes the text in UTF-8, from {@code from} to {@code to}; not to be changed
     * @return the parts with positions in {@code bytes}; empty when there is none
     */
    List<Replacement> find(byte[] bytes, int from, int to);
  }

  /**
   * A part to replace.
   *
   * @param from the position of its first byte
   * @param to the position after its last byte
   * @param text the bytes in its place, in UTF-8
   */
  public record Replacement(int from, int to, byte[] text) {}

  /** The messages whose fields lead to a text. */
  private enum Message {
    REQUEST,
    RESOURCE_LOGS,
    RESOURCE,
    SCOPE_LOGS,
    SCOPE,
    RECORD,
    KEY_VALUE,
    VALUE,
    ARRAY,
    KEY_VALUES,
    TEXT
  }

  private final ProtobufInput in = new ProtobufInput();
  private final Finder finder;
  private final List<Replacement> replacements = new ArrayList<>();

  /** The next replacement to write. */
  private int next;

  private ValueReplacer(byte[] otlp, Finder finder) {
    this.in.bytes = otlp;
    this.finder = finder;
  }

  /**
   * Returns a copy with all replacements; null when the finder finds nothing.
   *
   * @param otlp an {@code ExportLogsServiceRequest} that {@link OtlpWalker} accepts, in the first
   *     {@code length} bytes
   * @throws IllegalArgumentException if the bytes are not OTLP
   */
  public static byte @Nullable [] replace(byte[] otlp, int length, Finder finder) {
    Objects.checkFromIndexSize(0, length, otlp.length);
    var replacer = new ValueReplacer(otlp, finder);
    try {
      replacer.find(Message.REQUEST, length);
      return replacer.replacements.isEmpty() ? null : replacer.copy(length);
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("invalid OTLP: " + e.getMessage(), e);
    }
  }

  private void find(Message message, int end) throws MalformedOtlpException {
    if (message == Message.TEXT) {
      replacements.addAll(finder.find(in.bytes, in.position, end));
      in.position = end;
      return;
    }
    while (in.position < end) {
      int tag = in.readTag(end);
      var child = child(message, tag);
      if (child == null) {
        in.skip(tag, end);
      } else {
        find(child, in.readContentEnd(end));
      }
    }
  }

  private byte[] copy(int length) throws MalformedOtlpException {
    var out = new OtlpWriter(new ByteOutput(length));
    in.position = 0;
    copy(Message.REQUEST, length, out);
    return out.output().toByteArray();
  }

  /** Copies the rest of a message up to {@code end} with its replacements. */
  private void copy(Message message, int end, OtlpWriter out) throws MalformedOtlpException {
    if (message == Message.TEXT) {
      for (; hasReplacementBefore(end); next++) {
        var replacement = replacements.get(next);
        write(in.position, replacement.from(), out);
        out.output().write(replacement.text());
        in.position = replacement.to();
      }
      write(in.position, end, out);
      in.position = end;
      return;
    }
    while (in.position < end) {
      int start = in.position;
      int tag = in.readTag(end);
      var child = child(message, tag);
      if (child == null) {
        in.skip(tag, end);
        write(start, in.position, out);
        continue;
      }
      int close = in.readContentEnd(end);
      if (hasReplacementBefore(close)) {
        int mark = out.beginMessage(tag >>> 3);
        copy(child, close, out);
        out.endMessage(mark);
      } else {
        in.position = close;
        write(start, close, out);
      }
    }
  }

  private boolean hasReplacementBefore(int end) {
    return next < replacements.size() && replacements.get(next).from() < end;
  }

  private void write(int from, int to, OtlpWriter out) {
    out.output().write(in.bytes, from, to - from);
  }

  /** Returns the message in the field with this tag; null when the field leads to no text. */
  private static @Nullable Message child(Message message, int tag) {
    return switch (message) {
      case REQUEST ->
          tag == OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG
              ? Message.RESOURCE_LOGS
              : null;
      case RESOURCE_LOGS ->
          switch (tag) {
            case OtlpFields.RESOURCE_LOGS_RESOURCE_TAG -> Message.RESOURCE;
            case OtlpFields.RESOURCE_LOGS_SCOPE_LOGS_TAG -> Message.SCOPE_LOGS;
            default -> null;
          };
      case RESOURCE -> tag == OtlpFields.RESOURCE_ATTRIBUTES_TAG ? Message.KEY_VALUE : null;
      case SCOPE_LOGS ->
          switch (tag) {
            case OtlpFields.SCOPE_LOGS_SCOPE_TAG -> Message.SCOPE;
            case OtlpFields.SCOPE_LOGS_LOG_RECORDS_TAG -> Message.RECORD;
            default -> null;
          };
      case SCOPE ->
          tag == OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES_TAG ? Message.KEY_VALUE : null;
      case RECORD ->
          switch (tag) {
            case OtlpFields.LOG_RECORD_BODY_TAG -> Message.VALUE;
            case OtlpFields.LOG_RECORD_ATTRIBUTES_TAG -> Message.KEY_VALUE;
            default -> null;
          };
      case KEY_VALUE -> tag == OtlpFields.KEY_VALUE_VALUE_TAG ? Message.VALUE : null;
      case VALUE ->
          switch (tag) {
            case OtlpFields.ANY_VALUE_STRING_VALUE_TAG, OtlpFields.ANY_VALUE_BYTES_VALUE_TAG ->
                Message.TEXT;
            case OtlpFields.ANY_VALUE_ARRAY_VALUE_TAG -> Message.ARRAY;
            case OtlpFields.ANY_VALUE_KVLIST_VALUE_TAG -> Message.KEY_VALUES;
            default -> null;
          };
      case ARRAY -> tag == OtlpFields.ARRAY_VALUE_VALUES_TAG ? Message.VALUE : null;
      case KEY_VALUES -> tag == OtlpFields.KEY_VALUE_LIST_VALUES_TAG ? Message.KEY_VALUE : null;
      case TEXT -> null;
    };
  }
}

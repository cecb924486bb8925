package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The JSON tokens of a line, shared by {@link OtlpJsonLineWriter} and {@link OtlpJsonLineReader}:
 * the member names with their quotes and colon, for a list of messages also with the brackets that
 * open it; and the search for the next character to escape in a string.
 */
final class JsonTokens {
  /** Version of the lines. Lines that an earlier release cannot parse need a new version. */
  static final int VERSION = 1;

  /** Maximum nesting depth of arrays and maps; the limits on requests allow no more. */
  static final int MAX_DEPTH = 64;

  static final byte[] VERSION_PREFIX = utf8("{\"v\":");
  static final byte[] APPEND = name("append");
  static final byte[] TENANT = name("tenant");
  static final byte[] RECEIVED = name("received");
  static final byte[] FIRST = name("first");
  static final byte[] RECORDS = name("records");
  static final byte[] BYTES = name("bytes");
  static final byte[] POSSIBLE_DUPLICATE = name("again");
  static final byte[] KEY = name("key");
  static final byte[] REQUEST = name("request");
  static final byte[] ID = name("id");

  static final byte[] RESOURCE_LOGS = utf8("\"resourceLogs\":[{");
  static final byte[] RESOURCE = name("resource");
  static final byte[] SCHEMA_URL = name("schemaUrl");
  static final byte[] SCOPE_LOGS = utf8("\"scopeLogs\":[{");
  static final byte[] SCOPE = name("scope");
  static final byte[] NAME = name("name");
  static final byte[] SCOPE_VERSION = name("version");
  static final byte[] LOG_RECORDS = utf8("\"logRecords\":[");
  static final byte[] LINE_END = utf8("]}]}]}\n");

  static final byte[] TIME = name("timeUnixNano");
  static final byte[] OBSERVED_TIME = name("observedTimeUnixNano");
  static final byte[] SEVERITY_NUMBER = name("severityNumber");
  static final byte[] SEVERITY_TEXT = name("severityText");
  static final byte[] BODY = name("body");
  static final byte[] ATTRIBUTES = utf8("\"attributes\":[");
  static final byte[] DROPPED_ATTRIBUTES = name("droppedAttributesCount");
  static final byte[] FLAGS = name("flags");
  static final byte[] TRACE_ID = name("traceId");
  static final byte[] SPAN_ID = name("spanId");
  static final byte[] EVENT_NAME = name("eventName");

  static final byte[] VALUE = name("value");
  static final byte[] VALUES = utf8("\"values\":[");
  static final byte[] STRING_VALUE = name("stringValue");
  static final byte[] BOOL_VALUE = name("boolValue");
  static final byte[] INT_VALUE = name("intValue");
  static final byte[] DOUBLE_VALUE = name("doubleValue");
  static final byte[] ARRAY_VALUE = name("arrayValue");
  static final byte[] MAP_VALUE = name("kvlistValue");
  static final byte[] BYTES_VALUE = name("bytesValue");

  static final byte[] TRUE = utf8("true");
  static final byte[] FALSE = utf8("false");

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long EVERY_BYTE = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;

  private JsonTokens() {}

  private static byte[] name(String name) {
    return utf8('"' + name + "\":");
  }

  static byte[] utf8(String text) {
    return text.getBytes(UTF_8);
  }

  /**
   * Returns the index of the first byte in {@code bytes[from, to)} that a JSON string must escape
   * (a quotation mark, a backslash or a control character); {@code to} when there is none.
   */
  static int indexOfEscape(byte[] bytes, int from, int to) {
    int p = from;
    while (p <= to - 8) {
      long next = (long) LONG.get(bytes, p);
      // SWAR test: the high bit of a byte below 0x20, or equal to a searched character, becomes 1;
      // carries can set high bits above the first match, so only the lowest one is used
      long quotes = next ^ EVERY_BYTE * '"';
      long backslashes = next ^ EVERY_BYTE * '\\';
      long matches =
          ((next - EVERY_BYTE * 0x20) & ~next
                  | (quotes - EVERY_BYTE) & ~quotes
                  | (backslashes - EVERY_BYTE) & ~backslashes)
              & HIGH_BITS;
      if (matches != 0) {
        return p + (Long.numberOfTrailingZeros(matches) >>> 3);
      }
      p += 8;
    }
    while (p < to && !needsEscape(bytes[p])) {
      p++;
    }
    return p;
  }

  private static boolean needsEscape(byte b) {
    return b == '"' || b == '\\' || b >= 0 && b < 0x20;
  }
}

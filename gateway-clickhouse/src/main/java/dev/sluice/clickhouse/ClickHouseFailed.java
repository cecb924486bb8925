package dev.sluice.clickhouse;

import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** ClickHouse, or the way to it, did not do what it was asked. */
final class ClickHouseFailed extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What follows from a failure. */
  enum Kind {
    /** It is busy, away, or nobody knows what became of the request. */
    LATER,
    /** Its tables are not as they should be: nothing is wrong with the records. */
    SCHEMA,
    /** It cannot take these values. */
    DATA
  }

  private static final int SHOWN = 300;

  /** Names of the codes, as ClickHouse appends them to its messages. */
  private static final Pattern NAME = Pattern.compile("\\(([A-Z][A-Z0-9_]{3,})\\)");

  // 10 NOT_FOUND_COLUMN_IN_BLOCK, 16 NO_SUCH_COLUMN_IN_TABLE, 47 UNKNOWN_IDENTIFIER,
  // 60 UNKNOWN_TABLE, 81 UNKNOWN_DATABASE
  private static final Set<Integer> SCHEMA = Set.of(10, 16, 47, 60, 81);

  // 6 CANNOT_PARSE_TEXT, 27 CANNOT_PARSE_INPUT_ASSERTION_FAILED, 38 CANNOT_PARSE_DATE,
  // 41 CANNOT_PARSE_DATETIME, 53 TYPE_MISMATCH, 72 CANNOT_PARSE_NUMBER, 117 INCORRECT_DATA
  private static final Set<Integer> DATA = Set.of(6, 27, 38, 41, 53, 72, 117);

  private final String reason;
  private final int code;
  private final Kind kind;

  private ClickHouseFailed(int code, Kind kind, String message, @Nullable Throwable cause) {
    this(code, kind, message, message, cause);
  }

  private ClickHouseFailed(
      int code, Kind kind, String reason, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
    this.code = code;
    this.kind = kind;
  }

  /** ClickHouse answered with an error. */
  static ClickHouseFailed answered(int code, String message, Throwable cause) {
    var kind = SCHEMA.contains(code) ? Kind.SCHEMA : DATA.contains(code) ? Kind.DATA : Kind.LATER;
    var name = NAME.matcher(message);
    String last = "";
    while (name.find()) {
      last = " " + name.group(1);
    }
    var reason = "ClickHouse error " + code + last;
    // the text of a parse error quotes what could not be parsed: not for logs
    return new ClickHouseFailed(
        code, kind, reason, kind == Kind.DATA ? reason : reason + ": " + shortened(message), cause);
  }

  /** Nothing is known about what it did. */
  static ClickHouseFailed unreachable(String reason, Throwable cause) {
    return new ClickHouseFailed(0, Kind.LATER, shortened(reason), cause);
  }

  /** It answered with something else than was asked for. */
  static ClickHouseFailed inDoubt(String reason) {
    return new ClickHouseFailed(0, Kind.LATER, reason, null);
  }

  private static String shortened(String text) {
    var line = text.replaceAll("\\s+", " ").strip();
    return line.length() <= SHOWN ? line : line.substring(0, SHOWN) + "...";
  }

  /** The same without ClickHouse's own words, which may quote what was asked. */
  ClickHouseFailed withoutDetail() {
    return new ClickHouseFailed(code, kind, reason, getCause());
  }

  /** Whether it was not for this query alone that memory was short. */
  boolean memoryOfAll() {
    var message = getMessage();
    return message != null && (message.contains("(total)") || message.contains("(for user)"));
  }

  int code() {
    return code;
  }

  Kind kind() {
    return kind;
  }
}

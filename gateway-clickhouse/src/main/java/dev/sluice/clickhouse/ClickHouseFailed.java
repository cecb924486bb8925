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

  // of the table or of a view: 7 INCORRECT_NUMBER_OF_COLUMNS, 8 THERE_IS_NO_COLUMN,
  // 9 SIZES_OF_COLUMNS_DOESNT_MATCH, 10 NOT_FOUND_COLUMN_IN_BLOCK, 16 NO_SUCH_COLUMN_IN_TABLE,
  // 20 NUMBER_OF_COLUMNS_DOESNT_MATCH, 44 ILLEGAL_COLUMN, 46 UNKNOWN_FUNCTION,
  // 47 UNKNOWN_IDENTIFIER, 50 UNKNOWN_TYPE, 60 UNKNOWN_TABLE, 63 UNKNOWN_AGGREGATE_FUNCTION,
  // 81 UNKNOWN_DATABASE, 122 INCOMPATIBLE_COLUMNS, 218 TABLE_IS_DROPPED, 352 AMBIGUOUS_COLUMN_NAME
  private static final Set<Integer> SCHEMA =
      Set.of(7, 8, 9, 10, 16, 20, 44, 46, 47, 50, 60, 63, 81, 122, 218, 352);

  // 6 CANNOT_PARSE_TEXT, 25 CANNOT_PARSE_ESCAPE_SEQUENCE, 26 CANNOT_PARSE_QUOTED_STRING,
  // 27 CANNOT_PARSE_INPUT_ASSERTION_FAILED, 38 CANNOT_PARSE_DATE, 41 CANNOT_PARSE_DATETIME,
  // 53 TYPE_MISMATCH, 69 ARGUMENT_OUT_OF_BOUND, 70 CANNOT_CONVERT_TYPE, 72 CANNOT_PARSE_NUMBER,
  // 117 INCORRECT_DATA, 128 TOO_LARGE_ARRAY_SIZE, 130 CANNOT_READ_ARRAY_FROM_TEXT,
  // 131 TOO_LARGE_STRING_SIZE, 153 ILLEGAL_DIVISION, 190 SIZES_OF_ARRAYS_DONT_MATCH,
  // 321 VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, 349 CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
  // 376 CANNOT_PARSE_UUID, 395 FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, 407 DECIMAL_OVERFLOW,
  // 441 CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING, 467 CANNOT_PARSE_BOOL, 469 VIOLATED_CONSTRAINT,
  // 675 CANNOT_PARSE_IPV4, 676 CANNOT_PARSE_IPV6
  private static final Set<Integer> DATA =
      Set.of(
          6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 128, 130, 131, 153, 190, 321, 349, 376, 395,
          407, 441, 467, 469, 675, 676);

  // What nobody has listed is tried again later as well. Only of these is it known that their text
  // speaks of ClickHouse and not of what was to be stored: 3 UNEXPECTED_END_OF_FILE,
  // 107 FILE_DOESNT_EXIST, 159 TIMEOUT_EXCEEDED, 164 READONLY, 202 TOO_MANY_SIMULTANEOUS_QUERIES,
  // 203 NO_FREE_CONNECTION, 209 SOCKET_TIMEOUT, 210 NETWORK_ERROR, 241 MEMORY_LIMIT_EXCEEDED,
  // 242 TABLE_IS_READ_ONLY, 243 NOT_ENOUGH_SPACE, 252 TOO_MANY_PARTS, 285 TOO_FEW_LIVE_REPLICAS,
  // 319 UNKNOWN_STATUS_OF_INSERT, 394 QUERY_WAS_CANCELLED, 425 SYSTEM_ERROR, 497 ACCESS_DENIED,
  // 516 AUTHENTICATION_FAILED, 999 KEEPER_EXCEPTION
  private static final Set<Integer> BUSY =
      Set.of(
          3, 107, 159, 164, 202, 203, 209, 210, 241, 242, 243, 252, 285, 319, 394, 425, 497, 516,
          999);

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
    boolean harmless = kind == Kind.SCHEMA || BUSY.contains(code);
    return new ClickHouseFailed(
        code, kind, reason, harmless ? reason + ": " + shortened(message) : reason, cause);
  }

  /** Nothing is known about what it did. */
  static ClickHouseFailed unreachable(String reason, Throwable cause) {
    return new ClickHouseFailed(0, Kind.LATER, shortened(reason), cause);
  }

  /** It answered with something else than was asked for. */
  static ClickHouseFailed inDoubt(String reason) {
    return new ClickHouseFailed(0, Kind.LATER, reason, null);
  }

  /** What it was to be asked for has not the tables it needs. */
  static ClickHouseFailed misshapen(String reason) {
    return new ClickHouseFailed(0, Kind.SCHEMA, reason, null);
  }

  private static String shortened(String text) {
    var line = text.replaceAll("\\s+", " ").strip();
    return line.length() <= SHOWN ? line : line.substring(0, SHOWN) + "...";
  }

  /** The same without ClickHouse's own words, which may quote what was asked. */
  ClickHouseFailed withoutDetail() {
    return new ClickHouseFailed(code, kind, reason, getCause());
  }

  /** The same as of a request that brought no records, and so says nothing against any. */
  ClickHouseFailed withoutRecords() {
    return kind == Kind.DATA ? new ClickHouseFailed(code, Kind.LATER, reason, getCause()) : this;
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

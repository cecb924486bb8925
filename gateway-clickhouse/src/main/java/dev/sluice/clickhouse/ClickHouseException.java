package dev.sluice.clickhouse;

import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A failed ClickHouse request. */
final class ClickHouseException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The consequence of a failure. */
  enum FailureKind {
    /** ClickHouse is busy or unavailable, or the outcome of the request is unknown. */
    RETRYABLE,
    /** The tables do not have the expected schema; the records are valid. */
    SCHEMA_MISMATCH,
    /** ClickHouse rejects these values. */
    REJECTED
  }

  private static final int MAX_MESSAGE_CHARS = 300;

  /** Matches the name of an error code, which ClickHouse appends to its messages. */
  private static final Pattern CODE_NAME = Pattern.compile("\\(([A-Z][A-Z0-9_]{3,})\\)");

  // Schema errors of a table or a view: 7 INCORRECT_NUMBER_OF_COLUMNS, 8 THERE_IS_NO_COLUMN, 9
  // SIZES_OF_COLUMNS_DOESNT_MATCH, 10 NOT_FOUND_COLUMN_IN_BLOCK, 16 NO_SUCH_COLUMN_IN_TABLE, 20
  // NUMBER_OF_COLUMNS_DOESNT_MATCH, 44 ILLEGAL_COLUMN, 46 UNKNOWN_FUNCTION, 47 UNKNOWN_IDENTIFIER,
  // 50 UNKNOWN_TYPE, 60 UNKNOWN_TABLE, 63 UNKNOWN_AGGREGATE_FUNCTION, 81 UNKNOWN_DATABASE, 122
  // INCOMPATIBLE_COLUMNS, 218 TABLE_IS_DROPPED, 352 AMBIGUOUS_COLUMN_NAME
  private static final Set<Integer> SCHEMA_CODES =
      Set.of(7, 8, 9, 10, 16, 20, 44, 46, 47, 50, 60, 63, 81, 122, 218, 352);

  // Errors of the values: 6 CANNOT_PARSE_TEXT, 25 CANNOT_PARSE_ESCAPE_SEQUENCE, 26
  // CANNOT_PARSE_QUOTED_STRING, 27 CANNOT_PARSE_INPUT_ASSERTION_FAILED, 38 CANNOT_PARSE_DATE, 41
  // CANNOT_PARSE_DATETIME, 53 TYPE_MISMATCH, 69 ARGUMENT_OUT_OF_BOUND, 70 CANNOT_CONVERT_TYPE, 72
  // CANNOT_PARSE_NUMBER, 117 INCORRECT_DATA, 128 TOO_LARGE_ARRAY_SIZE, 130
  // CANNOT_READ_ARRAY_FROM_TEXT, 131 TOO_LARGE_STRING_SIZE, 153 ILLEGAL_DIVISION, 190
  // SIZES_OF_ARRAYS_DONT_MATCH, 321 VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, 349
  // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, 376 CANNOT_PARSE_UUID, 395
  // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO, 407 DECIMAL_OVERFLOW, 441
  // CANNOT_PARSE_DOMAIN_VALUE_FROM_STRING, 467 CANNOT_PARSE_BOOL, 469 VIOLATED_CONSTRAINT, 675
  // CANNOT_PARSE_IPV4, 676 CANNOT_PARSE_IPV6
  private static final Set<Integer> REJECTED_CODES =
      Set.of(
          6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 128, 130, 131, 153, 190, 321, 349, 376, 395,
          407, 441, 467, 469, 675, 676);

  // Errors of the server. A code in none of the three sets is retried as well, but only the
  // messages of these codes are known to describe the server and not the values: 3
  // UNEXPECTED_END_OF_FILE, 107 FILE_DOESNT_EXIST, 159 TIMEOUT_EXCEEDED, 164 READONLY, 202
  // TOO_MANY_SIMULTANEOUS_QUERIES, 203 NO_FREE_CONNECTION, 209 SOCKET_TIMEOUT, 210 NETWORK_ERROR,
  // 241 MEMORY_LIMIT_EXCEEDED, 242 TABLE_IS_READ_ONLY, 243 NOT_ENOUGH_SPACE, 252 TOO_MANY_PARTS,
  // 285 TOO_FEW_LIVE_REPLICAS, 319 UNKNOWN_STATUS_OF_INSERT, 394 QUERY_WAS_CANCELLED, 425
  // SYSTEM_ERROR, 497 ACCESS_DENIED, 516 AUTHENTICATION_FAILED, 999 KEEPER_EXCEPTION
  private static final Set<Integer> TRANSIENT_CODES =
      Set.of(
          3, 107, 159, 164, 202, 203, 209, 210, 241, 242, 243, 252, 285, 319, 394, 425, 497, 516,
          999);

  private final String reason;
  private final int code;
  private final FailureKind kind;

  private ClickHouseException(
      int code, FailureKind kind, String message, @Nullable Throwable cause) {
    this(code, kind, message, message, cause);
  }

  private ClickHouseException(
      int code, FailureKind kind, String reason, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.reason = reason;
    this.code = code;
    this.kind = kind;
  }

  /** Returns the exception for an error response of ClickHouse. */
  static ClickHouseException ofServerError(int code, String message, Throwable cause) {
    var kind =
        SCHEMA_CODES.contains(code)
            ? FailureKind.SCHEMA_MISMATCH
            : REJECTED_CODES.contains(code) ? FailureKind.REJECTED : FailureKind.RETRYABLE;
    var name = CODE_NAME.matcher(message);
    String last = "";
    while (name.find()) {
      last = " " + name.group(1);
    }
    var reason = "ClickHouse error " + code + last;
    // The message of a parse error quotes the invalid value, which must not appear in logs.
    boolean harmless = kind == FailureKind.SCHEMA_MISMATCH || TRANSIENT_CODES.contains(code);
    return new ClickHouseException(
        code, kind, reason, harmless ? reason + ": " + truncate(message) : reason, cause);
  }

  /** Returns the exception for a request with an unknown outcome. */
  static ClickHouseException unreachable(String reason, Throwable cause) {
    return new ClickHouseException(0, FailureKind.RETRYABLE, truncate(reason), cause);
  }

  /** Returns the exception for an unexpected response. */
  static ClickHouseException retryable(String reason) {
    return new ClickHouseException(0, FailureKind.RETRYABLE, reason, null);
  }

  /** Returns the exception for tables that do not have the expected schema. */
  static ClickHouseException schemaMismatch(String reason) {
    return new ClickHouseException(0, FailureKind.SCHEMA_MISMATCH, reason, null);
  }

  private static String truncate(String text) {
    var line = text.replaceAll("\\s+", " ").strip();
    return line.length() <= MAX_MESSAGE_CHARS ? line : line.substring(0, MAX_MESSAGE_CHARS) + "...";
  }

  /** Returns a copy without the message of ClickHouse, which may quote values of the query. */
  ClickHouseException withoutDetail() {
    return new ClickHouseException(code, kind, reason, getCause());
  }

  /**
   * Returns a copy for a request that sent no records: a rejection of such a request becomes
   * retryable, since it does not concern records.
   */
  ClickHouseException asReadFailure() {
    return kind == FailureKind.REJECTED
        ? new ClickHouseException(code, FailureKind.RETRYABLE, reason, getCause())
        : this;
  }

  /**
   * Whether the memory limit of the server or the user was exceeded, and not that of this query.
   */
  boolean isServerMemoryLimit() {
    var message = getMessage();
    return message != null && (message.contains("(total)") || message.contains("(for user)"));
  }

  /** Returns the message for the operator, without values of the records. */
  String text() {
    return String.valueOf(getMessage());
  }

  int code() {
    return code;
  }

  FailureKind kind() {
    return kind;
  }
}

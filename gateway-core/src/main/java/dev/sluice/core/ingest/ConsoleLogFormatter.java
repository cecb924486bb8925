package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Severity;
import dev.sluice.core.otlp.AnyValue;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A formatter that prints a log as one human-readable line: time, severity, service, body.
 *
 * <p>The content of a log is untrusted and must not control the terminal. So control characters,
 * line separators and characters that change the direction of text are escaped as in JSON.
 */
final class ConsoleLogFormatter {
  private static final int MAX_CHARACTERS = 1_000;

  /** The number of UTF-8 bytes to decode, which is more than the shown characters can have. */
  private static final int MAX_BYTES = 4 * (MAX_CHARACTERS + 1);

  private static final byte[] SERVICE = "service.name".getBytes(UTF_8);
  private static final HexFormat HEX = HexFormat.of();

  private ConsoleLogFormatter() {}

  /**
   * Whether the log has severity INFO or above, by its severity number or else by its severity
   * text. A log without severity counts as INFO.
   */
  static boolean isShown(OtlpRecord log) {
    int number = log.severityNumber();
    if (number == 0) {
      number = Severity.numberOf(severityText(log)).orElse(Severity.INFO.lowest());
    }
    return number >= Severity.INFO.lowest();
  }

  /** Appends the line of the log, including the line feed. */
  static void append(OtlpRecord log, long receivedNanos, ByteOutput out) {
    var line = new StringBuilder(200);
    line.append(time(log, receivedNanos)).append(' ');
    appendEscaped(severity(log), line);
    line.append(' ');
    appendEscaped(service(log), line);
    line.append(' ');
    appendEscaped(text(log.body(), log.bytes()), line);
    if (line.length() > MAX_CHARACTERS) {
      int end = MAX_CHARACTERS - 1;
      line.setLength(Character.isHighSurrogate(line.charAt(end - 1)) ? end - 1 : end);
      line.append('…');
    }
    out.writeUtf8(line.append('\n'));
  }

  private static Instant time(OtlpRecord log, long receivedNanos) {
    long nanos = log.timeNanos() != 0 ? log.timeNanos() : log.observedNanos();
    if (nanos == 0) {
      nanos = receivedNanos;
    }
    return Instant.ofEpochSecond(
        Long.divideUnsigned(nanos, 1_000_000_000L), Long.remainderUnsigned(nanos, 1_000_000_000L));
  }

  private static String severity(OtlpRecord log) {
    var text = log.severityNumber() > 0 ? Severity.textOf(log.severityNumber()) : severityText(log);
    return text.isEmpty() ? "-" : text;
  }

  private static String severityText(OtlpRecord log) {
    return string(log.bytes(), log.severityTextOffset(), log.severityTextLength());
  }

  private static String service(OtlpRecord log) {
    var attributes = log.resource().attributes();
    var bytes = log.bytes();
    for (int i = 0; i < attributes.size(); i++) {
      int from = attributes.keyOffset(i);
      int to = from + attributes.keyLength(i);
      if (Arrays.equals(bytes, from, to, SERVICE, 0, SERVICE.length)) {
        var name = text(attributes.value(i), bytes);
        return name.isEmpty() ? "-" : name;
      }
    }
    return "-";
  }

  private static String text(AnyValue value, byte[] bytes) {
    if (value.kind() == AnyValue.Kind.STRING) {
      return string(bytes, value.offset(), value.length());
    }
    var text = new ByteOutput(64);
    AnyValueFormatter.append(value, bytes, text);
    return string(text.array(), 0, text.size());
  }

  private static String string(byte[] bytes, int offset, int length) {
    return new String(bytes, offset, Math.min(length, MAX_BYTES), UTF_8);
  }

  private static void appendEscaped(String text, StringBuilder line) {
    for (int i = 0; i < text.length() && line.length() <= MAX_CHARACTERS; i++) {
      char c = text.charAt(i);
      if (isDangerous(c)) {
        line.append("\\u").append(HEX.toHexDigits(c));
      } else {
        line.append(c);
      }
    }
  }

  private static boolean isDangerous(char c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          true;
      default -> false;
    };
  }
}

package dev.sluice.bench;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;

/**
 * The events of {@link LoggingReport}: eight fields and some 240 bytes as a line, nine of ten at
 * level debug.
 */
final class Events {
  static final String FORMAT =
      "{} height={} round={} step={} peer={} block_hash={} voting_power={} latency_us={} module={}";

  /** The message of the events at level info; the other events are at level debug. */
  static final String INFO_MESSAGE = "finalizing commit of block";

  private static final String DEBUG_MESSAGE = "received vote from a peer and added it to the set";
  private static final String[] NAMES = {
    "height", "round", "step", "peer", "block_hash", "voting_power", "latency_us", "module"
  };

  private Events() {}

  static boolean isDebug(long n) {
    return n % 10 != 0;
  }

  /** Returns the message and the values of the eight fields of an event. */
  static Object[] fields(long n) {
    return new Object[] {
      isDebug(n) ? DEBUG_MESSAGE : INFO_MESSAGE,
      1_000_000 + n / 1000,
      n % 3,
      n % 2 == 0 ? "RoundStepPrevote" : "RoundStepPrecommit",
      "node-" + n % 97 + ".validators.example",
      Long.toHexString(n * 0x9E3779B97F4A7C15L) + Long.toHexString(~n * 0xC2B2AE3D27D4EB4FL),
      n * 31 % 1_000_000,
      n * 17 % 50_000,
      "consensus"
    };
  }

  /** Returns the same events as an OTLP request. */
  static byte[] body(long first, int count) {
    var out = new ByteOutput(count * 400);
    var writer = new OtlpWriter(out);
    int resourceLogs = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
    int resource = writer.beginMessage(OtlpFields.RESOURCE_LOGS_RESOURCE);
    writer.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "service.name", "node");
    writer.endMessage(resource);
    int scopeLogs = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
    for (long n = first; n < first + count; n++) {
      var fields = fields(n);
      int log = writer.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
      writer.writeFixed64(
          OtlpFields.LOG_RECORD_TIME_UNIX_NANO, 1_756_000_000_000_000_000L + n * 50_000);
      writer.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, isDebug(n) ? 5 : 9);
      writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, isDebug(n) ? "DEBUG" : "INFO");
      int body = writer.beginMessage(OtlpFields.LOG_RECORD_BODY);
      writer.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, String.valueOf(fields[0]));
      writer.endMessage(body);
      for (int i = 0; i < NAMES.length; i++) {
        writer.writeAttribute(
            OtlpFields.LOG_RECORD_ATTRIBUTES, NAMES[i], String.valueOf(fields[i + 1]));
      }
      writer.endMessage(log);
    }
    writer.endMessage(scopeLogs);
    writer.endMessage(resourceLogs);
    return out.toByteArray();
  }
}

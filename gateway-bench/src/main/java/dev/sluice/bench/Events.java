package dev.sluice.bench;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;

/**
 * The events of the table: eight fields and some 240 bytes as a line, nine of ten at level debug.
 */
final class Events {
  static final String FORMAT =
      "{} height={} round={} step={} peer={} block_hash={} voting_power={} latency_us={} module={}";

  /** Of messages at level info; the others are what nobody wants but when it is too late. */
  static final String INFO_MESSAGE = "finalizing commit of block";

  private static final String DEBUG_MESSAGE = "received vote from a peer and added it to the set";
  private static final String[] NAMES = {
    "height", "round", "step", "peer", "block_hash", "voting_power", "latency_us", "module"
  };

  private Events() {}

  static boolean isDebug(long n) {
    return n % 10 != 0;
  }

  /** The message and the values of its eight fields. */
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

  /** The same events as OTLP. */
  static byte[] body(long first, int count) {
    var out = new ByteOutput(count * 400);
    var writer = new OtlpWriter(out);
    int resourceLogs = writer.beginMessage(1);
    int resource = writer.beginMessage(1);
    writer.writeAttribute(1, "service.name", "node");
    writer.endMessage(resource);
    int scopeLogs = writer.beginMessage(2);
    for (long n = first; n < first + count; n++) {
      var fields = fields(n);
      int log = writer.beginMessage(2);
      writer.writeFixed64(1, 1_756_000_000_000_000_000L + n * 50_000);
      writer.writeVarint(2, isDebug(n) ? 5 : 9);
      writer.writeString(3, isDebug(n) ? "DEBUG" : "INFO");
      int body = writer.beginMessage(5);
      writer.writeString(1, String.valueOf(fields[0]));
      writer.endMessage(body);
      for (int i = 0; i < NAMES.length; i++) {
        writer.writeAttribute(6, NAMES[i], String.valueOf(fields[i + 1]));
      }
      writer.endMessage(log);
    }
    writer.endMessage(scopeLogs);
    writer.endMessage(resourceLogs);
    return out.toByteArray();
  }
}

package dev.sluice.wal;

import com.google.protobuf.TextFormat;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;

/** Parses requests in the text format of protobuf. */
final class OtlpTextFormat {
  private OtlpTextFormat() {}

  static byte[] of(String text) {
    try {
      return TextFormat.parse(text, ExportLogsServiceRequest.class).toByteArray();
    } catch (TextFormat.ParseException e) {
      throw new AssertionError(e);
    }
  }
}

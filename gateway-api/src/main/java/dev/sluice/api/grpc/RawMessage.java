package dev.sluice.api.grpc;

import dev.sluice.core.ingest.IngestResult;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A message as it was on the wire, or what to answer because it could not be read. Generated
 * classes would build a tree of every log only for it to be walked once and thrown away.
 */
record RawMessage(byte[] bytes, @Nullable IngestResult failure) {
  private static final byte[] EMPTY = {};

  /** When to come again is known to whoever answers. */
  private static final IngestResult OVER_BUDGET = new IngestResult.Unavailable(Duration.ZERO);

  static final MethodDescriptor.Marshaller<RawMessage> MARSHALLER = new MessageMarshaller();
  static final MethodDescriptor.Marshaller<byte[]> BYTES = new BytesMarshaller();

  /**
   * Never throws: what a marshaller throws reaches the client as UNKNOWN, whoever's fault it was.
   */
  private static final class MessageMarshaller implements MethodDescriptor.Marshaller<RawMessage> {
    @Override
    public InputStream stream(RawMessage value) {
      return new ByteArrayInputStream(value.bytes());
    }

    @Override
    public RawMessage parse(InputStream stream) {
      try {
        var bytes = stream.readAllBytes();
        return InboundMemoryTracer.reserveDecompressed(bytes.length)
            ? new RawMessage(bytes, null)
            : new RawMessage(EMPTY, OVER_BUDGET);
      } catch (StatusRuntimeException e) { // larger than allowed once it is decompressed
        return new RawMessage(EMPTY, new IngestResult.TooLarge(description(e.getStatus())));
      } catch (IOException _) {
        return new RawMessage(EMPTY, new IngestResult.Malformed("message cannot be decompressed"));
      }
    }

    private static String description(Status status) {
      var description = status.getDescription();
      return description == null ? "message is too large" : description;
    }
  }

  /** Bytes that are a message already. */
  private static final class BytesMarshaller implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}

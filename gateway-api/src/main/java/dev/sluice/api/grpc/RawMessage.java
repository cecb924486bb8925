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
 * The bytes of a message, or the result of a message that cannot be read. Generated classes would
 * build a tree of objects for every log, which is walked only once.
 *
 * @param bytes the decompressed message; empty after a failure
 * @param failure the result of a message that cannot be read; null without a failure
 */
public record RawMessage(byte[] bytes, @Nullable IngestResult failure) {
  private static final byte[] EMPTY = {};

  /** The result above the memory budget; the caller sets the retry delay. */
  private static final IngestResult OVER_BUDGET = new IngestResult.Unavailable(Duration.ZERO);

  public static final MethodDescriptor.Marshaller<RawMessage> MARSHALLER = new MessageMarshaller();
  public static final MethodDescriptor.Marshaller<byte[]> BYTES = new BytesMarshaller();

  /** A marshaller that never throws: gRPC would send the status UNKNOWN for every exception. */
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
      } catch (StatusRuntimeException e) { // above the limit after decompression
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

  /** A marshaller of encoded messages. */
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

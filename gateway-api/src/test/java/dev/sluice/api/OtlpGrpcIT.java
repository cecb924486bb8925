package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.CallOptions;
import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.CompressorRegistry;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc.LogsServiceBlockingStub;
import java.io.OutputStream;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests OTLP over gRPC with the stubs from the OTLP protocol definition. */
class OtlpGrpcIT {
  private static final int LIMIT = 64 << 20;

  private final Gateway gateway = Gateway.shared();
  private final CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort())
          .usePlaintext()
          .compressorRegistry(compressors)
          .build();
  private final LogsServiceBlockingStub logs = LogsServiceGrpc.newBlockingStub(channel);

  @AfterEach
  void close() {
    channel.shutdownNow();
  }

  @Test
  void export_everyField_isStored() {
    var service = Gateway.service("grpc");

    var response = logs.export(Otlp.everything(service));

    assertThat(response.hasPartialSuccess()).isFalse();
    Otlp.assertEverything(gateway.awaitStored(service, 1).getFirst());
  }

  @Test
  void export_gzip_isStored() {
    var service = Gateway.service("grpc-gzip");
    compressors.register(new Codec.Gzip());

    var _ = logs.withCompression("gzip").export(Otlp.request(service, "packed"));

    gateway.awaitStored(service, 1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zstd", "snappy"})
  void export_asTheCollectorCompresses_isStored(String encoding) {
    var service = Gateway.service("grpc-" + encoding);
    compressors.register(new PassThroughCompressor(encoding));
    var request = Otlp.request(service, "packed".repeat(20_000)).toByteArray();

    var _ =
        ClientCalls.blockingUnaryCall(
            channel,
            method(LogsServiceGrpc.getExportMethod().getFullMethodName()),
            CallOptions.DEFAULT.withCompression(encoding),
            compressed(encoding, request));

    gateway.awaitStored(service, 1);
  }

  /** gRPC uses only the framing format of snappy. */
  private static byte[] compressed(String encoding, byte[] bytes) {
    return encoding.equals("zstd")
        ? CompressedBodies.zstd(bytes)
        : CompressedBodies.snappyFramed(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"zstd", "snappy"})
  void export_decompressionBomb_isResourceExhaustedWithoutRetryInfo(String encoding) {
    compressors.register(new PassThroughCompressor(encoding));

    var failure =
        failure(
            compressed(encoding, new byte[LIMIT + 1]),
            CallOptions.DEFAULT.withCompression(encoding));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
    assertStillServing();
  }

  @ParameterizedTest
  @ValueSource(strings = {"zstd", "snappy"})
  void export_truncated_isInvalidArgument(String encoding) {
    compressors.register(new PassThroughCompressor(encoding));
    var whole = compressed(encoding, Otlp.request("torn", "x".repeat(100)).toByteArray());

    var torn = Arrays.copyOf(whole, whole.length - 1);
    var status = refused(torn, CallOptions.DEFAULT.withCompression(encoding));

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains("decompress");
    assertStillServing();
  }

  @Test
  void export_oneOfTwoRecordsInvalid_isPartialSuccess() {
    var service = Gateway.service("grpc-partial");
    var bad = Otlp.log("b").toBuilder().setSeverityNumberValue(25).build();

    var response = logs.export(Otlp.request(service, bad, Otlp.log("good")));

    assertThat(response.getPartialSuccess().getRejectedLogRecords()).isEqualTo(1);
    assertThat(response.getPartialSuccess().getErrorMessage()).contains("[0] severity_number");
    gateway.awaitStored(service, 1);
  }

  @Test
  void export_empty_isOk() {
    var response = logs.export(ExportLogsServiceRequest.getDefaultInstance());

    assertThat(response.hasPartialSuccess()).isFalse();
  }

  @Test
  void export_moreThanFourMegabytes_isAccepted() {
    var service = Gateway.service("grpc-large");
    var body = "x".repeat(1 << 20);

    var _ = logs.export(Otlp.request(service, body, body, body, body, body, body));

    gateway.awaitStored(service, 6);
  }

  @Test
  void export_notProtobuf_isInvalidArgument() {
    var status = refused(new byte[] {10, 127, 1}, CallOptions.DEFAULT);

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).startsWith("malformed OTLP");
    assertStillServing();
  }

  @Test
  void export_overTheLimit_isResourceExhaustedWithoutRetryInfo() {
    var failure = failure(new byte[LIMIT + 1], CallOptions.DEFAULT);

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
    assertStillServing();
  }

  @Test
  void export_overTheLimitOnceDecompressed_isResourceExhaustedWithoutRetryInfo() {
    compressors.register(new Codec.Gzip());

    var failure = failure(new byte[LIMIT + 1], CallOptions.DEFAULT.withCompression("gzip"));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.RESOURCE_EXHAUSTED);
    assertThat(StatusProto.fromThrowable(failure).getDetailsList()).isEmpty();
    assertStillServing();
  }

  @Test
  void export_brokenGzip_isInvalidArgument() {
    compressors.register(new PassThroughCompressor("gzip"));
    var packed = CompressedBodies.gzip(Otlp.request("broken", "x".repeat(100)).toByteArray());
    packed[packed.length - 8] ^= 1; // the checksum

    var status = refused(packed, CallOptions.DEFAULT.withCompression("gzip"));

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains("decompress");
    assertStillServing();
  }

  @ParameterizedTest
  @ValueSource(strings = {"gzip", "zstd", "snappy"})
  void export_wrongEncoding_isInvalidArgument(String encoding) {
    compressors.register(new PassThroughCompressor(encoding));

    var status = refused("neither".getBytes(UTF_8), CallOptions.DEFAULT.withCompression(encoding));

    assertThat(status.getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT);
    assertThat(status.getDescription()).contains("decompress");
    assertStillServing();
  }

  @Test
  void export_unknownCompression_isUnimplemented() {
    compressors.register(new PassThroughCompressor("lz77"));

    var status = refused(new byte[100], CallOptions.DEFAULT.withCompression("lz77"));

    assertThat(status.getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
    assertStillServing();
  }

  @Test
  void export_tracesInstead_isUnimplemented() {
    var method = method("opentelemetry.proto.collector.trace.v1.TraceService/Export");

    var failure =
        catchThrowableOfType(
            StatusRuntimeException.class,
            () -> ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT, new byte[0]));

    assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNIMPLEMENTED);
  }

  private void assertStillServing() {
    var service = Gateway.service("grpc-next");
    var _ = logs.export(Otlp.request(service, "next"));
    gateway.awaitStored(service, 1);
    assertThat(gateway.inFlight()).isZero();
  }

  private Status refused(byte[] request, CallOptions options) {
    return failure(request, options).getStatus();
  }

  private StatusRuntimeException failure(byte[] request, CallOptions options) {
    return catchThrowableOfType(
        StatusRuntimeException.class,
        () ->
            ClientCalls.blockingUnaryCall(
                channel,
                method(LogsServiceGrpc.getExportMethod().getFullMethodName()),
                options,
                request));
  }

  private static MethodDescriptor<byte[], byte[]> method(String name) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(name)
        .setRequestMarshaller(new RawBytesMarshaller())
        .setResponseMarshaller(new RawBytesMarshaller())
        .build();
  }

  /** A compressor that declares an encoding but does not compress. */
  private record PassThroughCompressor(String name) implements Compressor {
    @Override
    public String getMessageEncoding() {
      return name;
    }

    @Override
    public OutputStream compress(OutputStream out) {
      return out;
    }
  }
}

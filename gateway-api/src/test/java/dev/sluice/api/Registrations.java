package dev.sluice.api;

import dev.sluice.api.http.ApiRoutes.QueryDependencies;
import dev.sluice.api.http.IngestRoute;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.api.protocol.ProtocolRegistration.ProtocolPort;
import dev.sluice.api.protocol.frames.FramesProtocol;
import dev.sluice.api.protocol.json.JsonProtocol;
import dev.sluice.api.protocol.legacy.LegacyProtocol;
import dev.sluice.api.protocol.otlp.OtlpProtocol;
import dev.sluice.api.protocol.protobuf.ProtobufProtocol;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.MemoryReservation;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.testkit.InMemoryLogStore;
import dev.sluice.testkit.InMemorySpool;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;

/** All protocols without Spring, in the order of the gateway. */
public final class Registrations {
  private Registrations() {}

  public static List<ProtocolRegistration> all(QueryDependencies queries, MemoryBudget budget) {
    return List.of(
        new OtlpProtocol(new ProtocolPort("test", -1)),
        new JsonProtocol(),
        new ProtobufProtocol(queries.reader(), queries.search(), budget),
        new FramesProtocol(),
        new LegacyProtocol(
            queries, budget, new InMemorySpool(), Optional::empty, "test", InstantSource.system()));
  }

  private static List<ProtocolRegistration> all() {
    return all(
        IngestFixture.queryDependencies(new InMemoryLogStore()), new MemoryBudget(Long.MAX_VALUE));
  }

  /** Returns the values of the metric tag {@code protocol}. */
  public static List<String> names() {
    return all().stream().flatMap(registration -> registration.names().stream()).toList();
  }

  /** Returns the HTTP routes that receive logs. */
  public static List<IngestRoute> ingestRoutes() {
    return all().stream().flatMap(registration -> registration.ingestRoutes().stream()).toList();
  }

  /** Returns the decoder of an HTTP route whose decoder does not depend on headers. */
  public static BiFunction<byte[], Limits, OtlpPayload> decoder(String path, String mediaType) {
    var budget = new MemoryBudget(Long.MAX_VALUE);
    var route =
        ingestRoutes().stream()
            .filter(each -> each.path().equals(path) && each.mediaTypes().contains(mediaType))
            .findFirst()
            .orElseThrow();
    var decoder = route.decoderFactory().apply(null);
    return (body, limits) -> decoder.decode(body, limits, new MemoryReservation(budget, 0));
  }
}

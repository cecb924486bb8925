package dev.sluice.core.ingest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RequestContextTest {
  private static RequestContext context(@Nullable String ack, @Nullable String key) {
    return RequestContext.of("acme", "ann", "otlp", ack, key);
  }

  @Test
  void of_keysAndLevels_areParsedOrThrow() {
    assertThat(context(null, null)).isEqualTo(RequestContext.of("acme", "ann", "otlp"));
    assertThat(context("accepted", null).ackLevel()).isEqualTo(AckLevel.ACCEPTED);
    assertThat(context("accepted", "k").ackLevel()).isEqualTo(AckLevel.DURABLE);
    assertThat(context("stored", "!~" + "x".repeat(253)).idempotencyKey()).hasSize(255);
    for (var key : List.of("", "x".repeat(256), "a b", "ä", "tab\t", "\u007f")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> context(null, key))
          .withMessage("idempotency-key is not 1 to 255 visible ASCII characters");
    }
    for (var level : List.of("", "Durable", "never")) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> context(level, null))
          .withMessage("sluice-ack is not one of accepted, durable, stored");
    }
  }

  @Test
  void toIdempotencyKey_anotherTenantOrProtocol_isAnotherKey() {
    var body = new byte[] {1};
    var key = context(null, "k").toIdempotencyKey("k", body);

    assertThat(context(null, "k").toIdempotencyKey("k", new byte[] {1})).isEqualTo(key);
    assertThat(RequestContext.of("other", "ann", "otlp").toIdempotencyKey("k", body).digest())
        .isNotEqualTo(key.digest());
    assertThat(RequestContext.of("acme", "ann", "http").toIdempotencyKey("k", body).requestDigest())
        .isNotEqualTo(key.requestDigest());
  }
}

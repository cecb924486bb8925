package dev.sluice.api.security;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.DenialReason;
import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.api.security.AccessDecision.Granted;
import dev.sluice.core.security.AccessScope;
import dev.sluice.core.security.Principal;
import dev.sluice.testkit.ManualClock;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class AccessControlTest {
  private static final InetSocketAddress CLIENT = new InetSocketAddress("192.0.2.1", 1);
  private static final List<String> VALID = List.of("Bearer good");

  private final ManualClock clock = new ManualClock("2026-01-01T00:00:00Z");
  private final List<DenialReason> denials = new ArrayList<>();
  private final AccessControl access =
      AccessControl.of(
          credential ->
              credential.equals("good")
                  ? Optional.of(new Principal("key:1", "acme", Set.of(AccessScope.READ)))
                  : Optional.empty(),
          clock,
          (_, reason) -> denials.add(reason));

  private AccessDecision read(String... authorization) {
    return access.check(AccessRule.READ, List.of(authorization), CLIENT, Transport.HTTP);
  }

  private static String basic(String userAndPassword) {
    return "Basic " + Base64.getEncoder().encodeToString(userAndPassword.getBytes(UTF_8));
  }

  @ParameterizedTest
  @ValueSource(strings = {"Bearer good", "bearer good", "BEARER  good ", "Splunk good"})
  void check_credential_isFoundInEveryForm(String header) {
    assertThat(read(header)).isEqualTo(new Granted("acme", "key:1"));
    assertThat(read(basic("any:good"))).isEqualTo(new Granted("acme", "key:1"));
    assertThat(read(basic(":good"))).isEqualTo(new Granted("acme", "key:1"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "good", "Bearer", "Bearer ", "Digest good", "Basic !", "Basic Og=="})
  void check_otherHeader_isUnauthenticated(String header) {
    assertThat(read(header)).isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
  }

  @Test
  void check_noOrSeveralCredentials_isUnauthenticated() {
    assertThat(read()).isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
    assertThat(read("Bearer good", "Bearer good"))
        .isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
    assertThat(read(basic("good"))).isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
  }

  @ParameterizedTest
  @EnumSource(AccessRule.class)
  void check_rule_permitsOnlyItsScope(AccessRule rule) {
    var decision = access.check(rule, VALID, CLIENT, Transport.HTTP);

    assertThat(decision)
        .isInstanceOf(
            rule == AccessRule.INGEST || rule == AccessRule.ADMIN ? Denied.class : Granted.class);
  }

  @Test
  void check_publicRule_hasNoTenant() {
    assertThat(access.check(AccessRule.PUBLIC, List.of(), CLIENT, Transport.HTTP))
        .isEqualTo(new Granted("", null));
  }

  @Test
  void check_routeWithoutRule_isDenied() {
    assertThat(access.check(null, VALID, CLIENT, Transport.HTTP))
        .isEqualTo(new Denied(DenialReason.FORBIDDEN, null));
    assertThat(AccessControl.off("default").check(null, VALID, CLIENT, Transport.HTTP))
        .isEqualTo(new Denied(DenialReason.FORBIDDEN, null));
  }

  @ParameterizedTest
  @EnumSource(AccessRule.class)
  void check_off_grantsTheDefaultTenant(AccessRule rule) {
    assertThat(AccessControl.off("default").check(rule, List.of(), CLIENT, Transport.HTTP))
        .isEqualTo(new Granted("default", null));
  }

  @Test
  void check_manyFailures_areThrottledByAddressAndRefilledByTime() {
    for (int i = 0; i < FailureLimiter.BURST; i++) {
      assertThat(read("Bearer bad")).isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
    }

    assertThat(read("Bearer bad"))
        .isEqualTo(new Denied(DenialReason.THROTTLED, FailureLimiter.REFILL_DELAY));
    assertThat(read("Bearer good")).isInstanceOf(Granted.class);
    assertThat(
            access.check(
                AccessRule.READ,
                List.of("Bearer bad"),
                new InetSocketAddress("192.0.2.2", 1),
                Transport.GRPC))
        .isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
    clock.advance(Duration.ofSeconds(1));
    assertThat(read("Bearer bad")).isEqualTo(new Denied(DenialReason.UNAUTHENTICATED, null));
    assertThat(read("Bearer bad"))
        .isEqualTo(new Denied(DenialReason.THROTTLED, FailureLimiter.REFILL_DELAY));
    assertThat(denials).contains(DenialReason.THROTTLED).hasSize(FailureLimiter.BURST + 4);
  }

  @Test
  void recordFailure_manyAddresses_memoryIsBounded() {
    var limiter = new FailureLimiter(clock);
    for (int i = 0; i < FailureLimiter.MAX_ADDRESSES + 100; i++) {
      limiter.recordFailure(new InetSocketAddress("10.0." + i / 250 + "." + i % 250, 1));
    }

    assertThat(limiter.addresses()).isEqualTo(FailureLimiter.MAX_ADDRESSES);
  }

  @Test
  void recordFailure_addressesOfOneIpv6Network_countTogether() {
    var limiter = new FailureLimiter(clock);
    for (int i = 0; i < 5; i++) {
      limiter.recordFailure(new InetSocketAddress("2001:db8:1:2::" + i, 1));
    }
    limiter.recordFailure(new InetSocketAddress("2001:db8:1:3::1", 1));

    assertThat(limiter.addresses()).isEqualTo(2);
  }
}

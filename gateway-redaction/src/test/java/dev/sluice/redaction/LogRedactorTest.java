package dev.sluice.redaction;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.resource.v1.Resource;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LogRedactorTest {
  private static final String ALL =
      """
      rules:
        - {detector: card, action: mask}
        - {detector: email, action: mask}
        - {detector: bearer, action: mask}
        - {detector: cloud-key, action: mask}
        - {detector: private-key, action: mask}
        - {detector: jwt, action: mask}
        - {detector: iban, action: mask}
        - {detector: ip, action: mask}
      """;

  private final List<String> hits = new ArrayList<>();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "paid with 4111 1111 1111 1111 today|paid with [card] today",
        "4111-1111-1111-1111|[card]",
        "card=5555555555554444;cvc|card=[card];cvc",
        "4111 1111 1111 1111 22|[card] 22",
        "amex 378282246310005|amex [card]",
        "mail to jane.doe+x@mail.example.org now|mail to [email] now",
        "a@b.co,c@d.co|[email],[email]",
        "Authorization: Bearer abcdef0123456789|Authorization: Bearer [bearer]",
        "authorization: bearer abcdef0123456789|authorization: bearer [bearer]",
        "key AKIAIOSFODNN7EXAMPLE.|key [cloud-key].",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345|[cloud-key]",
        "sk_live_0123456789abcdef|[cloud-key]",
        "xoxb-123456789012-abcdef|[cloud-key]",
        "token eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln end|token [jwt] end",
        "to GB82 WEST 1234 5698 7654 32 please|to [iban] please",
        "IBAN DE89370400440532013000|IBAN [iban]",
        "AT611904300234573201 EUR 100|[iban] EUR 100",
        "BE68 5390 0754 7034 PAID|[iban] PAID",
        "ES9121000418450200051332 100.00|[iban] 100.00",
        "jwe eyJhbGciOiJkaXIifQ..iv.text.tag end|jwe [jwt] end",
        "22222222222222222222 4111111111111111|22222222222222222222 [card]",
        "from 192.168.10.254:8080|from [ip]:8080"
      })
  void redact_sensitiveValue_isReplaced(String body, String expected) {
    assertThat(redactBody(ALL, body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "4111 1111 1111 1112", // wrong check digit
        "1764097200123456789", // nanoseconds
        "94111111111111111", // a part of a longer number
        "user@localhost",
        "@Override",
        "the bearer of news",
        "AKIA is a prefix",
        "eyJ",
        "GB82 WEST 1234 5698 7654 33", // wrong check digits
        "version 1.2.3",
        "999.1.1.1.",
        "-----BEGIN CERTIFICATE-----",
        "Zürich 東京"
      })
  void redact_otherText_isUnchanged(String body) {
    assertThat(redactor(ALL).redact("acme", request(body), request(body).length)).isNull();
  }

  @Test
  void redact_privateKey_isReplacedUpToItsEnd() {
    assertThat(
            redactBody(
                ALL,
                "k: -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest"))
        .isEqualTo("k: [private-key]\nrest");
    assertThat(redactBody(ALL, "-----BEGIN PRIVATE KEY-----\nMIIE")).isEqualTo("[private-key]");
  }

  @Test
  void redact_valuesAtAnyDepth_areReplacedAndAllElseIsKept() throws Exception {
    var secret = text("a@b.co");
    var safe = text("safe");
    var request =
        nested(
            secret,
            AnyValue.newBuilder()
                .setArrayValue(ArrayValue.newBuilder().addValues(safe).addValues(secret))
                .build(),
            AnyValue.newBuilder().setBytesValue(ByteString.copyFromUtf8("b a@b.co")).build());
    var masked = text("[email]");
    var expected =
        nested(
            masked,
            AnyValue.newBuilder()
                .setArrayValue(ArrayValue.newBuilder().addValues(safe).addValues(masked))
                .build(),
            AnyValue.newBuilder().setBytesValue(ByteString.copyFromUtf8("b [email]")).build());

    byte[] bytes = request.toByteArray();
    byte[] redacted = redactor(ALL).redact("acme", bytes, bytes.length);

    assertThat(ExportLogsServiceRequest.parseFrom(redacted)).isEqualTo(expected);
    assertThat(redacted).isEqualTo(expected.toByteArray());
    assertThat(bytes).isEqualTo(request.toByteArray());
  }

  private static ExportLogsServiceRequest nested(AnyValue value, AnyValue array, AnyValue bytes) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(Resource.newBuilder().addAttributes(pair("r", value)))
                .setSchemaUrl("https://a@b.co/schema")
                .addScopeLogs(
                    ScopeLogs.newBuilder()
                        .setScope(
                            InstrumentationScope.newBuilder()
                                .setName("a@b.co")
                                .addAttributes(pair("s", value)))
                        .addLogRecords(
                            LogRecord.newBuilder()
                                .setTimeUnixNano(5)
                                .setSeverityText("a@b.co")
                                .setBody(array)
                                .addAttributes(pair("a@b.co", bytes))
                                .addAttributes(
                                    pair(
                                        "m",
                                        AnyValue.newBuilder()
                                            .setKvlistValue(
                                                KeyValueList.newBuilder()
                                                    .addValues(pair("x", text("safe")))
                                                    .addValues(pair("y", value)))
                                            .build())))
                        .addLogRecords(LogRecord.newBuilder().setBody(text("safe")))))
        .build();
  }

  @Test
  void redact_bytesThatAreNoUtf8_hideNoValue() throws Exception {
    byte[] latin1 = "\u00a34111111111111111".getBytes(StandardCharsets.ISO_8859_1);
    var body = AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(latin1)).build();
    byte[] request = request(body);

    byte[] redacted = redactor(ALL).redact("acme", request, request.length);

    assertThat(bodyOf(redacted).getBytesValue().toString(StandardCharsets.ISO_8859_1))
        .isEqualTo("\u00a3[card]");
  }

  @Test
  void redact_actions_dropMaskAndHash() {
    var rules =
        """
        hash-key: 0123456789abcdef
        rules:
          - {detector: email, action: hash}
          - {name: employee, pattern: 'EMP-([0-9]{6})', keywords: [EMP-], action: drop}
          - {name: pin, pattern: 'pin=[0-9]+', action: mask}
        """;

    var one = redactBody(rules, "a@b.co EMP-123456 pin=9");
    var other = redactBody(rules, "c@d.co EMP-123456 pin=9");

    assertThat(one).matches("\\[email:[0-9a-f]{16}] EMP- \\[pin]");
    assertThat(redactBody(rules, "a@b.co EMP-123456 pin=9")).isEqualTo(one);
    assertThat(other).isNotEqualTo(one);
    assertThat(hits).containsSubsequence("email", "employee", "pin");
  }

  @Test
  void redact_rulesOfATenant_applyToItAlone() {
    var redactor = redactor("rules: [{detector: email, action: mask, tenants: [acme]}]");
    byte[] request = request("a@b.co");

    assertThat(redactor.redact("other", request, request.length)).isNull();
    assertThat(redactor.redact("acme", request, request.length)).isNotNull();
  }

  @Test
  void redact_changedFile_isInForceAtOnce() throws Exception {
    var file = new AtomicReference<>(RedactionFile.parse("rules: []"));
    var redactor = new LogRedactor(file::get, hits::add);
    byte[] request = request("a@b.co");
    assertThat(redactor.redact("acme", request, request.length)).isNull();

    file.set(RedactionFile.parse(ALL));

    assertThat(redactor.redact("acme", request, request.length)).isNotNull();
    assertThat(hits).containsExactly("email");
  }

  @Test
  void redact_overlappingMatches_countTheFirst() {
    var rules =
        """
        rules:
          - {name: host, pattern: 'b\\.co', action: mask}
          - {detector: email, action: mask}
        """;

    assertThat(redactBody(rules, "a@b.co b.co")).isEqualTo("[email] [host]");
    assertThat(hits).containsExactly("email", "host");
  }

  private String redactBody(String rules, String body) {
    byte[] request = request(body);
    byte[] redacted = redactor(rules).redact("acme", request, request.length);
    assertThat(redacted).isNotNull();
    try {
      return bodyOf(redacted).getStringValue();
    } catch (InvalidProtocolBufferException e) {
      throw new AssertionError(e);
    }
  }

  private static AnyValue bodyOf(byte @Nullable [] request) throws InvalidProtocolBufferException {
    return ExportLogsServiceRequest.parseFrom(Objects.requireNonNull(request))
        .getResourceLogs(0)
        .getScopeLogs(0)
        .getLogRecords(0)
        .getBody();
  }

  private LogRedactor redactor(String rules) {
    try {
      var file = RedactionFile.parse(rules);
      return new LogRedactor(() -> file, hits::add);
    } catch (InvalidRulesException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] request(String body) {
    return request(text(body));
  }

  private static byte[] request(AnyValue body) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .addScopeLogs(
                    ScopeLogs.newBuilder().addLogRecords(LogRecord.newBuilder().setBody(body))))
        .build()
        .toByteArray();
  }

  private static AnyValue text(String value) {
    return AnyValue.newBuilder().setStringValue(value).build();
  }

  private static KeyValue pair(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }
}

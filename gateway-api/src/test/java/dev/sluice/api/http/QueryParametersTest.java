package dev.sluice.api.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.AttributeCondition.Operator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.util.LinkedMultiValueMap;

class QueryParametersTest {
  private static List<AttributeCondition> conditions(String name, String text) {
    var parameters = new LinkedMultiValueMap<String, String>();
    parameters.add(name, text);
    var filter =
        new QueryParameters(parameters).filter(RequestContext.of("default", null, "http-query"));
    return name.equals("resource") ? filter.resource() : filter.attributes();
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      delimiter = '|',
      value = {
        "a=b|a|EQUAL|b",
        "a=|a|EQUAL|``",
        "a!=b|a|NOT_EQUAL|b",
        "a^=b|a|PREFIX|b",
        "a=\"b\"|a|EQUAL|\"b\"",
        "\"a=b\"=c|a=b|EQUAL|c",
        "\"k!\"=v|k!|EQUAL|v",
        "\"k!\"!=v|k!|NOT_EQUAL|v",
        "\"k^\"^=v|k^|PREFIX|v",
        "\"a in [\"=v|a in [|EQUAL|v",
        "\"k\"!=|k|NOT_EQUAL|``",
        "\"k\"^=|k|PREFIX|``",
        "\"say \\\"x\\\"\"=v|say \"x\"|EQUAL|v",
        "\"\\u00fc\"=v|ü|EQUAL|v",
      })
  void condition_keyAndOperator_areThose(String text, String key, Operator operator, String value) {
    for (var name : List.of("attributes", "resource")) {
      assertThat(conditions(name, text))
          .containsExactly(new AttributeCondition(key, operator, List.of(value)));
    }
  }

  @Test
  void condition_quotedKeyWithoutOperator_isThatKeyPresent() {
    assertThat(conditions("attributes", "\"a!=b\""))
        .containsExactly(new AttributeCondition("a!=b", Operator.EXISTS, List.of()));
  }

  @Test
  void condition_quotedKeyAndList_isOneOfThem() {
    assertThat(conditions("attributes", "\"a=b\" in [\"x\",\"y\"]"))
        .containsExactly(new AttributeCondition("a=b", Operator.IN, List.of("x", "y")));
  }

  /** Without a value they would hold for other logs than those with the key {@code k!}. */
  @ParameterizedTest
  @ValueSource(
      strings = {"k!=", "k^=", "=v", "!=v", "^=v", "\"\"=v", "\"k=v", "\"k\"v=w", "\"\\x\"=v"})
  void condition_ambiguousOrMalformed_isRejected(String text) {
    assertThatThrownBy(() -> conditions("attributes", text))
        .isInstanceOf(HttpProblemException.class)
        .hasMessageStartingWith("attributes is not key, key=value");
  }
}

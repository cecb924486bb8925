package dev.sluice.redaction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RedactionFileTest {

  @Test
  void parse_validFile_hasItsRulesInOrder() throws Exception {
    var file =
        RedactionFile.parse(
            """
            hash-key: 0123456789abcdef
            rules:
              - detector: card
                action: mask
              - name: employee
                pattern: 'EMP-[0-9]{6}'
                keywords: [EMP-]
                action: hash
                tenants: [acme]
            """);

    assertThat(file.rules()).extracting(RedactionRule::name).containsExactly("card", "employee");
    assertThat(file.rules().get(1).appliesTo("acme")).isTrue();
    assertThat(file.rules().get(1).appliesTo("other")).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "hash-key: abc: def|the file is not YAML, see line 1",
        "x: 1|the file has the unknown field 'x'",
        "rules: 1|the file has rules that are no list",
        "rules: [{detector: cards, action: mask}]|rule 1 has the detector 'cards', must be one of card,",
        "rules: [{detector: card, action: hide}]|rule 1 has the action 'hide', must be drop, mask or hash",
        "rules: [{detector: card}]|rule 1 has the action 'null', must be drop, mask or hash",
        "rules: [{detector: card, action: hash}]|card has the action hash, and the file has no hash-key",
        "rules: [{name: a, pattern: '(', action: mask}]|rule 1 has an invalid pattern",
        "rules: [{name: a, pattern: 'x*', action: mask}]|rule 1 has a pattern that matches the empty text",
        "rules: [{pattern: 'x', action: mask}]|rule 1 needs a detector, or a pattern and a name",
        "rules: [{detector: card, action: mask}, {detector: card, action: drop}]|card is there twice",
        "hash-key: short|hash-key has fewer than 16 bytes"
      })
  void parse_invalidFile_saysWhere(String yaml, String message) {
    assertThatThrownBy(() -> RedactionFile.parse(yaml))
        .isInstanceOf(InvalidRulesException.class)
        .hasMessageContaining(message);
  }
}

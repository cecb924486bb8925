package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.TextId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.Dictionary.Outcome.TryLater;
import java.util.List;
import org.junit.jupiter.api.Test;

class InMemoryDictionaryTest extends DictionaryContract {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Test
  void answer_set_isWhatBecomesOfAWriteAndNothingIsKept() {
    dictionary.answer(new TryLater("away"));

    var outcome =
        dictionary.write(List.of(new Entry("t", Kind.TEXT, TextId.of("a"), "a", 1, 1, null)));

    assertThat(outcome).isEqualTo(new TryLater("away"));
    assertThat(dictionary.entries()).isEmpty();
  }
}

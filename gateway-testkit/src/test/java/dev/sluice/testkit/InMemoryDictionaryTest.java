package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.WriteResult.Retryable;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.List;
import org.junit.jupiter.api.Test;

class InMemoryDictionaryTest extends DictionaryContract {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Test
  void write_forcedOutcome_isReturnedAndNothingIsWritten() {
    dictionary.setOutcome(new Retryable("away"));

    var writeResult =
        dictionary.write(
            List.of(new DictionaryEntry("t", EntryKind.TEXT, ContentId.of("a"), "a", 1, 1, null)));

    assertThat(writeResult).isEqualTo(new Retryable("away"));
    assertThat(dictionary.entries()).isEmpty();
  }
}

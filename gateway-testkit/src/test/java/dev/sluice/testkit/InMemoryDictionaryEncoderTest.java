package dev.sluice.testkit;

import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import dev.sluice.templates.dictionary.Dictionary;

final class InMemoryDictionaryEncoderTest extends DictionaryEncoderContract {
  private final InMemoryLogStore store = new InMemoryLogStore();
  private final InMemoryDictionary dictionary = new InMemoryDictionary();

  @Override
  protected LogStore store() {
    return store;
  }

  @Override
  protected LogReader reader() {
    return store;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }
}

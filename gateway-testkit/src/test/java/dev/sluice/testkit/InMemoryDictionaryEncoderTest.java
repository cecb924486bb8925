package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;

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

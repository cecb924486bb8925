package dev.sluice.testkit;

import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.testkit.InMemoryTemplateVectorStore.StoredSample;
import java.util.List;

final class InMemoryTemplateVectorStoreTest extends TemplateVectorStoreContract {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateVectorStore vectors =
      new InMemoryTemplateVectorStore(dictionary, DIMENSION);

  @Override
  protected TemplateVectorStore vectors() {
    return vectors;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<TestLog> logs) {
    for (var log : logs) {
      vectors.store(
          new StoredSample(
              log.tenant(),
              log.template(),
              log.timeNanos(),
              log.severity(),
              new TemplateSample(log.service(), log.component(), log.body())));
    }
  }
}

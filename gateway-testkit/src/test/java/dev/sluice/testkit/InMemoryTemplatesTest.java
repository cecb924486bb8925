package dev.sluice.testkit;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.TemplateStats;
import java.util.List;

final class InMemoryTemplatesTest extends TemplateReaderContract {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplates templates = new InMemoryTemplates(dictionary);

  @Override
  protected TemplateStats templates() {
    return templates;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<Log> logs) {
    for (var log : logs) {
      templates.count(log.tenant(), log.service(), log.template(), log.severity(), log.nanos());
    }
  }
}

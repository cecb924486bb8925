package dev.sluice.testkit;

import dev.sluice.query.port.TemplateStats;
import dev.sluice.templates.dictionary.Dictionary;
import java.util.List;

final class InMemoryTemplateStatsTest extends TemplateStatsContract {
  private final InMemoryDictionary dictionary = new InMemoryDictionary();
  private final InMemoryTemplateStats templates = new InMemoryTemplateStats(dictionary);

  @Override
  protected TemplateStats stats() {
    return templates;
  }

  @Override
  protected Dictionary dictionary() {
    return dictionary;
  }

  @Override
  protected void store(List<CountedLog> logs) {
    for (var log : logs) {
      templates.count(log.tenant(), log.service(), log.template(), log.severity(), log.nanos());
    }
  }
}

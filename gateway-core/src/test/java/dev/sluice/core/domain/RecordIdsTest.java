package dev.sluice.core.domain;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RecordIdsTest {
  private final RecordIds ids = new RecordIds();

  private void assertRecord(int record, long template, long resource) {
    assertThat(ids.templateHigh(record)).isEqualTo(template);
    assertThat(ids.templateLow(record)).isEqualTo(-template);
    assertThat(ids.resourceHigh(record)).isEqualTo(resource);
    assertThat(ids.resourceLow(record)).isEqualTo(-resource);
  }

  @Test
  void addRecord_many_areReadInAnyOrder() {
    for (int i = 0; i < 100_000; i++) {
      ids.addRecord(i % 3 == 0 ? 0 : ids.addResource(i, -i), i, -i);
    }

    for (int i = 99_999; i >= 0; i--) {
      assertRecord(i, i, i % 3 == 0 ? 0 : i);
    }
  }

  @Test
  void addText_many_areFoundByRecordAndOffset() {
    for (int i = 0; i < 10_000; i++) {
      ids.addText(10, i, 1);
      ids.addText(Integer.MAX_VALUE, i, 2);
      ids.addRecord(0, 0, 0);
      ids.addRecord(0, 0, 0);
    }

    for (int i = 0; i < 10_000; i++) {
      int first = ids.findText(2 * i, 10);
      int last = ids.findText(2 * i, Integer.MAX_VALUE);
      assertThat(ids.textHigh(first)).isEqualTo(ids.textHigh(last)).isEqualTo(i);
      assertThat(ids.textLow(first)).isEqualTo(1);
      assertThat(ids.textLow(last)).isEqualTo(2);
      assertThat(ids.findText(2 * i, 11)).isNegative();
      assertThat(ids.findText(2 * i + 1, 10)).isNegative();
    }
  }

  /** An attribute whose key was sent again has the place of the first and the value of the last. */
  @Test
  void addText_descendingOffsets_areFound() {
    ids.addText(5, 4, 40);
    ids.addRecord(0, 0, 0);
    ids.addText(30, 3, 13);
    ids.addText(20, 2, 12);
    ids.addText(10, 1, 11);
    ids.addText(40, 4, 14);
    ids.addRecord(0, 0, 0);

    assertText(0, 5, 4, 40);
    for (int i = 1; i <= 4; i++) {
      assertText(1, 10 * i, i, 10 + i);
    }
    assertThat(ids.findText(1, 5)).isNegative();
  }

  private void assertText(int record, int offset, long high, long low) {
    int text = ids.findText(record, offset);
    assertThat(text).isNotNegative();
    assertThat(ids.textHigh(text)).isEqualTo(high);
    assertThat(ids.textLow(text)).isEqualTo(low);
  }

  @Test
  void padTo_afterRecords_addsRecordsWithoutIds() {
    ids.addRecord(ids.addResource(7, -7), 8, -8);
    ids.padTo(3);
    ids.addRecord(ids.addResource(5, -5), 6, -6);

    assertRecord(0, 8, 7);
    assertRecord(1, 0, 0);
    assertRecord(2, 0, 0);
    assertRecord(3, 6, 5);
    assertRecord(4, 0, 0);
  }

  @Test
  void clear_used_hasNoIds() {
    ids.addText(1, 2, 3);
    ids.addRecord(ids.addResource(7, -7), 8, -8);

    ids.clear();

    assertThat(ids.findText(0, 1)).isNegative();
    assertRecord(0, 0, 0);
  }
}

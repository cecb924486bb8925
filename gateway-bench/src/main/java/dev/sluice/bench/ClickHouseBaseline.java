package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;

/**
 * The CPU of ClickHouse alone for the rows of a table, called the floor in the reports: large
 * inserts of ready blocks in its Native format, into an empty copy of the table. No gateway can
 * have a lower ClickHouse cost, so the cost of a gateway is compared with it.
 *
 * @param rows the number of copied rows
 * @param insert microseconds of CPU per row, without merges
 * @param merged microseconds of CPU per row, including the merges
 */
record ClickHouseBaseline(long rows, double insert, double merged) {
  private static final int BLOCK = 100_000;

  /** The number of blocks: twice as many as one merge takes, so that each row is merged once. */
  private static final int BLOCKS = 64;

  private static final String BASELINE_TABLE = "floor_twin";

  /**
   * Measures the baseline.
   *
   * @param folder the directory for the blocks
   * @param table a table with rows
   */
  static ClickHouseBaseline measure(
      ClickHouseAdmin clickHouseAdmin, ProcessStats clickHouse, Path folder, String table)
      throws IOException, InterruptedException {
    var columns = columns(clickHouseAdmin, table);
    long found = clickHouseAdmin.countRows(table);
    var blocks = new ArrayList<Path>();
    for (long from = 0; from < found && blocks.size() < BLOCKS; from += BLOCK) {
      var block = folder.resolve("floor-" + blocks.size());
      clickHouseAdmin.queryToFile(
          """
          SELECT %s FROM %s LIMIT %d, %d SETTINGS max_threads = 1, max_block_size = %d,
          preferred_block_size_bytes = 1000000000 FORMAT Native"""
              .formatted(columns, table, from, BLOCK, BLOCK),
          block);
      blocks.add(block);
    }
    clickHouseAdmin.awaitMerges(); // otherwise merges of other tables would count
    clickHouseAdmin.query("CREATE TABLE " + BASELINE_TABLE + " AS " + table);
    double before = clickHouse.cpuSeconds();
    for (var block : blocks) {
      clickHouseAdmin.insert(
          // without a token ClickHouse hashes every row for its deduplication
          "INSERT INTO %s (%s) SETTINGS insert_deduplication_token = '%s' FORMAT Native"
              .formatted(BASELINE_TABLE, columns, block.getFileName()),
          block);
    }
    double inserted = clickHouse.cpuSeconds();
    clickHouseAdmin.awaitMerges();
    double merged = clickHouse.cpuSeconds();
    long rows = clickHouseAdmin.countRows(BASELINE_TABLE);
    clickHouseAdmin.query("DROP TABLE " + BASELINE_TABLE + " SYNC");
    for (var block : blocks) {
      Files.delete(block);
    }
    return new ClickHouseBaseline(
        rows, (inserted - before) * 1e6 / rows, (merged - before) * 1e6 / rows);
  }

  /** Returns the columns that an insert may name. */
  private static String columns(ClickHouseAdmin clickHouseAdmin, String table)
      throws IOException, InterruptedException {
    return clickHouseAdmin.query(
        """
        SELECT arrayStringConcat(groupArray('`' || name || '`'), ', ') FROM (SELECT name
        FROM system.columns WHERE database = currentDatabase() AND table = '%s'
        AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position) FORMAT TSVRaw"""
            .formatted(table));
  }
}

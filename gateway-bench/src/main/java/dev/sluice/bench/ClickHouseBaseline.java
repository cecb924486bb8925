package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;

/**
 * What ClickHouse alone spends on the rows of a table: they come as ready blocks in its own format,
 * in inserts that are large, and go into an empty twin of the table. Nobody in front of it can do
 * with less, so it is what a gateway is measured by.
 *
 * @param rows stored again
 * @param insert microseconds of CPU for a row
 * @param merged microseconds of CPU for a row, with the merges that come of it
 */
record ClickHouseBaseline(long rows, double insert, double merged) {
  private static final int BLOCK = 100_000;

  /** Twice as many as are merged at a time, so that each row is merged once. */
  private static final int BLOCKS = 64;

  private static final String BASELINE_TABLE = "floor_twin";

  /**
   * @param folder for the blocks
   * @param table that has rows
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
    clickHouseAdmin.awaitMerges(); // what is merged for others would be counted here
    clickHouseAdmin.query("CREATE TABLE " + BASELINE_TABLE + " AS " + table);
    double before = clickHouse.cpuSeconds();
    for (var block : blocks) {
      clickHouseAdmin.insert(
          // without a token ClickHouse hashes every row, to know it again
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

  /** Those that an insert may name. */
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

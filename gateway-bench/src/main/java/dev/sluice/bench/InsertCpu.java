package dev.sluice.bench;

import java.io.IOException;

/**
 * The CPU of ClickHouse for inserts and merges, from its own logs. The merges during a minute are
 * random, and they cost more than the inserts; the cost of a merge per row is constant.
 *
 * @param insert microseconds of CPU per inserted row
 * @param merge microseconds of CPU per merged row; 0 without merges
 * @param times the number of merged rows per inserted row
 */
record InsertCpu(double insert, double merge, double times) {

  /** Returns the current time of ClickHouse in microseconds, as the start of a measurement. */
  static String currentMicros(ClickHouseAdmin clickHouseAdmin)
      throws IOException, InterruptedException {
    return clickHouseAdmin.query("SELECT toUnixTimestamp64Micro(now64(6))");
  }

  static InsertCpu measureSince(String startMicros, ClickHouseAdmin clickHouseAdmin)
      throws IOException, InterruptedException {
    clickHouseAdmin.query("SYSTEM FLUSH LOGS");
    var fields =
        clickHouseAdmin
            .query(
                """
                SELECT * FROM (
                  SELECT sum(ProfileEvents['OSCPUVirtualTimeMicroseconds'])
                  FROM system.query_log
                  WHERE type = 'QueryFinish' AND query_kind = 'Insert'
                    AND has(tables, currentDatabase() || '.%1$s')
                    AND event_time_microseconds >= fromUnixTimestamp64Micro(%2$s)) AS inserts,
                (
                  SELECT sumIf(rows, event_type = 'NewPart'), sumIf(rows, event_type = 'MergeParts'),
                    sumIf(ProfileEvents['OSCPUVirtualTimeMicroseconds'], event_type = 'MergeParts')
                  FROM system.part_log
                  WHERE database = currentDatabase() AND table = '%1$s'
                    AND event_time_microseconds >= fromUnixTimestamp64Micro(%2$s)) AS parts"""
                    .formatted(Measurement.TABLE, startMicros))
            .split("\t", -1);
    double inserted = Double.parseDouble(fields[1]);
    double merged = Double.parseDouble(fields[2]);
    return new InsertCpu(
        Double.parseDouble(fields[0]) / inserted,
        merged == 0 ? 0 : Double.parseDouble(fields[3]) / merged,
        merged / inserted);
  }
}

package dev.sluice.bench;

import java.io.IOException;

/**
 * What ClickHouse says itself of the CPU it has spent on logs. Which merges are due in a minute is
 * chance, and they cost more than the inserts; what one of them costs for a row is not.
 *
 * @param insert microseconds for an inserted row
 * @param merge microseconds for a row of a merge; 0 where nothing was merged
 * @param times a row was merged
 */
record InsertCpu(double insert, double merge, double times) {

  /** The moment from which on is counted. */
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

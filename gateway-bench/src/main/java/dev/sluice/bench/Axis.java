package dev.sluice.bench;

import dev.sluice.bench.SyntheticLogs.LogShape;
import java.util.Arrays;
import java.util.List;

/**
 * The variables on which the cost of a log can depend. {@code AXES} contains their names in lower
 * case.
 */
enum Axis {
  /**
   * The number of connections. A single connection waits for each response, so the fixed work of
   * the gateway meanwhile counts for few logs.
   */
  CONNECTIONS("connections", 2, 1, 2, 8, 32, 128, 512),
  /**
   * The number of logs per request. The fixed cost of a request is negligible from a hundred logs
   * on.
   */
  REQUEST("logs per request", 100, 1, 10, 100, 500, 1000, 5000),
  BYTES("body bytes", "byte", 64, 256, 1024, 4096, 16_384),
  ATTRIBUTES("attributes per log", "attribute", 0, 2, 8, 32),
  TEMPLATES("distinct templates", 0, 10, 100, 1000, 10_000),
  SHARDS("spool shards", 0, 1, 2, 4),
  TABLE("existing rows", 0, 0, 10_000_000, 100_000_000);

  final String title;

  /** The position from which on the cost of a log should be constant. */
  final long flatFrom;

  /**
   * The unit for which the report shows a cost where the cost cannot be constant; otherwise empty.
   */
  final String unit;

  private final List<Long> defaultPoints;

  Axis(String title, long flatFrom, long... defaultPoints) {
    this(title, flatFrom, "", defaultPoints);
  }

  Axis(String title, String unit, long... defaultPoints) {
    this(title, 0, unit, defaultPoints);
  }

  Axis(String title, long flatFrom, String unit, long... defaultPoints) {
    this.title = title;
    this.flatFrom = flatFrom;
    this.unit = unit;
    this.defaultPoints = Arrays.stream(defaultPoints).boxed().toList();
  }

  List<Long> defaultPoints() {
    return defaultPoints;
  }

  /**
   * The variables of one measurement.
   *
   * @param connections the number of connections
   * @param logs the number of logs per request
   * @param shape the shape of the logs
   * @param shards the number of spool shards
   * @param preloadedRows the number of rows in the table before the gateway starts
   */
  record Point(int connections, int logs, LogShape shape, int shards, long preloadedRows) {
    static final Point DEFAULT = new Point(8, 500, LogShape.DEFAULT, 1, 0);
  }

  Point pointAt(long value) {
    var defaults = Point.DEFAULT;
    return switch (this) {
      case CONNECTIONS -> new Point(toInt(value), defaults.logs, defaults.shape, 1, 0);
      case REQUEST -> new Point(defaults.connections, toInt(value), defaults.shape, 1, 0);
      case BYTES -> pointWithShape(new LogShape(defaults.shape.attributes(), toInt(value), 0));
      case ATTRIBUTES -> pointWithShape(new LogShape(toInt(value), 0, 0));
      case TEMPLATES -> pointWithShape(new LogShape(defaults.shape.attributes(), 0, toInt(value)));
      case SHARDS ->
          new Point(defaults.connections, defaults.logs, defaults.shape, toInt(value), 0);
      case TABLE -> new Point(defaults.connections, defaults.logs, defaults.shape, 1, value);
    };
  }

  private static Point pointWithShape(LogShape shape) {
    return new Point(Point.DEFAULT.connections, Point.DEFAULT.logs, shape, 1, 0);
  }

  private static int toInt(long value) {
    return Math.toIntExact(value);
  }

  /** Whether each value of this axis needs its own gateway and engines. */
  boolean needsFreshGateway() {
    return this == SHARDS || this == TABLE;
  }
}

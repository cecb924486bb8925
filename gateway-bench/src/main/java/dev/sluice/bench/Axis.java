package dev.sluice.bench;

import dev.sluice.bench.SyntheticLogs.LogShape;
import java.util.Arrays;
import java.util.List;

/** What the cost of a log may depend on; each is named by its name in lower case. */
enum Axis {
  /** One has to wait for each answer, and what the gateway does meanwhile is for it alone. */
  CONNECTIONS("connections", 2, 1, 2, 8, 32, 128, 512),
  /** A request costs what it costs; with a hundred logs in it that is no more to be seen. */
  REQUEST("logs per request", 100, 1, 10, 100, 500, 1000, 5000),
  BYTES("bytes of a body", "byte", 64, 256, 1024, 4096, 16_384),
  ATTRIBUTES("attributes of a log", "attribute", 0, 2, 8, 32),
  TEMPLATES("distinct templates", 0, 10, 100, 1000, 10_000),
  SHARDS("shards of the spool", 0, 1, 2, 4),
  TABLE("rows in the table before", 0, 0, 10_000_000, 100_000_000);

  final String title;

  /** From where on a log should cost the same. */
  final long flatFrom;

  /** By what the cost is told where it cannot stay the same, else empty. */
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
   * A place on an axis; but for the axis all are alike.
   *
   * @param preloadedRows in the table before the gateway starts
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

  /** Whether a gateway and its engines can have but one value. */
  boolean needsFreshGateway() {
    return this == SHARDS || this == TABLE;
  }
}

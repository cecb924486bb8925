package dev.sluice.bench;

import dev.sluice.bench.Traffic.Shape;
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
  final String each;

  private final List<Long> usual;

  Axis(String title, long flatFrom, long... usual) {
    this(title, flatFrom, "", usual);
  }

  Axis(String title, String each, long... usual) {
    this(title, 0, each, usual);
  }

  Axis(String title, long flatFrom, String each, long... usual) {
    this.title = title;
    this.flatFrom = flatFrom;
    this.each = each;
    this.usual = Arrays.stream(usual).boxed().toList();
  }

  List<Long> usual() {
    return usual;
  }

  /**
   * A place on an axis; but for the axis all are alike.
   *
   * @param oldRows in the table before the gateway starts
   */
  record Point(int connections, int logs, Shape shape, int shards, long oldRows) {
    static final Point USUAL = new Point(8, 500, Shape.USUAL, 1, 0);
  }

  Point at(long value) {
    var usual = Point.USUAL;
    return switch (this) {
      case CONNECTIONS -> new Point(few(value), usual.logs, usual.shape, 1, 0);
      case REQUEST -> new Point(usual.connections, few(value), usual.shape, 1, 0);
      case BYTES -> shaped(new Shape(usual.shape.attributes(), few(value), 0));
      case ATTRIBUTES -> shaped(new Shape(few(value), 0, 0));
      case TEMPLATES -> shaped(new Shape(usual.shape.attributes(), 0, few(value)));
      case SHARDS -> new Point(usual.connections, usual.logs, usual.shape, few(value), 0);
      case TABLE -> new Point(usual.connections, usual.logs, usual.shape, 1, value);
    };
  }

  private static Point shaped(Shape shape) {
    return new Point(Point.USUAL.connections, Point.USUAL.logs, shape, 1, 0);
  }

  private static int few(long value) {
    return Math.toIntExact(value);
  }

  /** Whether a gateway and its engines can have but one value. */
  boolean fresh() {
    return this == SHARDS || this == TABLE;
  }
}

package dev.sluice.wal;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.regex.Pattern;

/**
 * The position of a frame. The order of positions is the order in which frames are written.
 *
 * @param day the day (UTC) of the segment's directory
 * @param segment the number of the segment on that day, from 1
 * @param frame the number of the frame in its segment, from 1
 */
record FramePosition(LocalDate day, int segment, int frame) implements Comparable<FramePosition> {
  private static final Pattern PATTERN =
      Pattern.compile("([0-9]{4}-[0-9]{2}-[0-9]{2})/seg-([0-9]{6,9})/([0-9]{1,9})");
  private static final Comparator<FramePosition> ORDER =
      Comparator.comparing(FramePosition::day)
          .thenComparingInt(FramePosition::segment)
          .thenComparingInt(FramePosition::frame);

  /**
   * Parses the text of {@link #toString}.
   *
   * @throws IllegalArgumentException when the text has another form
   */
  @JsonCreator
  static FramePosition of(String text) {
    var matcher = PATTERN.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("not a frame position: " + text);
    }
    return new FramePosition(
        LocalDate.parse(matcher.group(1)),
        Integer.parseInt(matcher.group(2)),
        Integer.parseInt(matcher.group(3)));
  }

  @Override
  public int compareTo(FramePosition other) {
    return ORDER.compare(this, other);
  }

  /** Returns day, segment and frame in the form {@code 2026-11-22/seg-000001/17}. */
  @JsonValue
  @Override
  public String toString() {
    return "%s/seg-%06d/%d".formatted(day, segment, frame);
  }
}

package dev.sluice.wal;

/**
 * The readable extent of a segment.
 *
 * @param name the segment
 * @param bytes size of its complete frames in bytes
 * @param indexBytes size of its complete index lines in bytes
 * @param frames number of its frames
 * @param records number of records in all frames; -1 when they are not counted yet
 */
record Extent(SegmentName name, long bytes, long indexBytes, int frames, long records) {

  FramePosition lastPosition() {
    return name.position(frames);
  }

  Extent withRecords(long recordCount) {
    return new Extent(name, bytes, indexBytes, frames, recordCount);
  }
}

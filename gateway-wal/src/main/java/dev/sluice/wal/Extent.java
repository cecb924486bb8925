package dev.sluice.wal;

/**
 * How far a segment goes for those who read it.
 *
 * @param bytes of whole frames
 * @param indexBytes of whole lines
 * @param frames number of the last one; 0 when there is none
 * @param records in all frames; -1 when nobody has counted them yet
 */
record Extent(SegmentName name, long bytes, long indexBytes, int frames, long records) {

  FramePosition lastPosition() {
    return name.position(frames);
  }

  Extent withRecords(long counted) {
    return new Extent(name, bytes, indexBytes, frames, counted);
  }
}

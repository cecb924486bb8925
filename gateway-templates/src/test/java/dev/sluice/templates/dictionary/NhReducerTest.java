package dev.sluice.templates.dictionary;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class NhReducerTest {
  private static final long[] KEY = new SplittableRandom(1).longs(NhReducer.BLOCK_LONGS).toArray();

  private static final int BLOCK = 4_096;

  private final NhReducer reducer = new NhReducer(KEY);

  @Property
  void reduce_anyText_equalsTheDefinition(
      @ForAll @IntRange(min = 32, max = 10_000) int length, @ForAll @IntRange(max = 9) int offset) {
    var bytes = new byte[offset + length + 5];
    new SplittableRandom(length).nextBytes(bytes);

    int reducedLength = reducer.reduce(bytes, offset, length);

    assertThat(Arrays.copyOf(reducer.bytes(), reducedLength))
        .isEqualTo(nhByDefinition(Arrays.copyOfRange(bytes, offset, offset + length)));
  }

  @Property
  void reduce_oneBitChanged_differs(
      @ForAll @IntRange(min = 32, max = 10_000) int length,
      @ForAll @IntRange(max = 79_999) int bit) {
    var bytes = new byte[length];
    new SplittableRandom(length).nextBytes(bytes);
    var before = Arrays.copyOf(reducer.bytes(), reducer.reduce(bytes, 0, length));
    bytes[bit / 8 % length] ^= (byte) (1 << bit % 8);

    int reducedLength = reducer.reduce(bytes, 0, length);

    assertThat(Arrays.copyOf(reducer.bytes(), reducedLength)).isNotEqualTo(before);
  }

  @Property
  void reduce_zeroByteAppended_differs(@ForAll @IntRange(min = 32, max = 10_000) int length) {
    var bytes = new byte[length + 1];
    var before = Arrays.copyOf(reducer.bytes(), reducer.reduce(bytes, 0, length));

    int reducedLength = reducer.reduce(bytes, 0, length + 1);

    assertThat(Arrays.copyOf(reducer.bytes(), reducedLength)).isNotEqualTo(before);
  }

  private static byte[] nhByDefinition(byte[] text) {
    var bytes = ByteBuffer.wrap(text).order(ByteOrder.LITTLE_ENDIAN);
    var out = ByteBuffer.allocate(Math.ceilDiv(text.length, BLOCK) * 16 + 8);
    out.order(ByteOrder.LITTLE_ENDIAN);
    for (int block = 0; block < text.length; block += BLOCK) {
      long low = 0;
      long high = 0;
      for (int i = 0; i < NhReducer.BLOCK_LONGS && block + i / 4 * 32 < text.length; i += 2) {
        int step = Math.min(block + i / 4 * 32, text.length - 32);
        long a = bytes.getLong(step + i % 4 * 8) + KEY[i];
        long b = bytes.getLong(step + i % 4 * 8 + 8) + KEY[i + 1];
        var product = unsigned(a).multiply(unsigned(b));
        low += product.longValue();
        high += product.shiftRight(64).longValue();
      }
      out.putLong(low).putLong(high);
    }
    return out.putLong(text.length).array();
  }

  private static BigInteger unsigned(long value) {
    return new BigInteger(Long.toUnsignedString(value));
  }
}

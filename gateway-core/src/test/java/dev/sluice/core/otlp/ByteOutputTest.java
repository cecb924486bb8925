package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.google.protobuf.CodedInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ByteOutputTest {
  private final ByteOutput out = new ByteOutput(0);

  @Test
  void write_numbers_areLittleEndianUnlessNamedBigEndian() {
    out.writeByte(0xFE);
    out.writeShort(0x0102);
    out.writeInt(0x01020304);
    out.writeLong(0x0102030405060708L);
    out.writeLongBigEndian(0x0102030405060708L);

    var expected =
        ByteBuffer.allocate(23)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put((byte) 0xFE)
            .putShort((short) 0x0102)
            .putInt(0x01020304)
            .putLong(0x0102030405060708L)
            .order(ByteOrder.BIG_ENDIAN)
            .putLong(0x0102030405060708L);
    assertThat(out.toByteArray()).isEqualTo(expected.array());
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        0,
        1,
        127,
        128,
        16_383,
        16_384,
        2_097_151,
        2_097_152,
        Integer.MAX_VALUE,
        1L << 35,
        1L << 56,
        Long.MAX_VALUE,
        -1,
        Long.MIN_VALUE
      })
  void writeVarint_anyLength_equalsProtobufJava(long value) throws Exception {
    out.writeVarint(value);

    var in = CodedInputStream.newInstance(out.toByteArray());
    assertThat(in.readRawVarint64()).isEqualTo(value);
    assertThat(in.isAtEnd()).isTrue();
    assertThat(out.size()).isEqualTo(Math.max(1, (70 - Long.numberOfLeadingZeros(value)) / 7));
  }

  @Property(tries = 2_000, shrinking = ShrinkingMode.OFF)
  void writeUtf8_anyText_equalsTheJdk(@ForAll long seed) {
    var random = new SplittableRandom(seed);
    var text = RandomOtlp.text(random, 200);
    int before = random.nextInt(40);
    out.clear();
    out.write(new byte[before]);

    out.writeUtf8(text);

    assertThat(new String(out.array(), before, out.size() - before, UTF_8)).isEqualTo(text);
    assertThat(out.size() - before).isEqualTo(text.getBytes(UTF_8).length);
  }

  @Test
  void writeUtf8_loneSurrogates_areThreeInvalidBytes() {
    out.writeUtf8("\uD83D\uD83D\uDE00\uDE00");

    assertThat(out.toByteArray())
        .isEqualTo(
            new byte[] {
              (byte) 0xED,
              (byte) 0xA0,
              (byte) 0xBD,
              (byte) 0xF0,
              (byte) 0x9F,
              (byte) 0x98,
              (byte) 0x80,
              (byte) 0xED,
              (byte) 0xB8,
              (byte) 0x80
            });
    assertThat(Utf8.firstInvalid(out.array(), 0, out.size())).isZero();
  }

  @Test
  void write_rangeOfAnArray_writesThatRange() {
    out.write(new byte[] {1, 2, 3, 4, 5}, 1, 3);

    assertThat(out.toByteArray()).containsExactly(2, 3, 4);
  }

  @Test
  void write_beyondTheCapacity_grows() {
    for (int i = 0; i < 1_000; i++) {
      out.writeByte(i);
    }

    assertThat(out.size()).isEqualTo(1_000);
    assertThat(out.toByteArray()[999]).isEqualTo((byte) 999);
  }

  @Test
  void clear_afterGrowing_keepsTheArray() {
    out.write(new byte[5_000]);
    var array = out.array();

    out.clear();
    out.write(new byte[5_000]);

    assertThat(out.array()).isSameAs(array);
    assertThat(out.size()).isEqualTo(5_000);
  }

  @Test
  void truncate_withinAndOutside_discardsOrThrows() {
    out.write(new byte[] {1, 2, 3});

    out.truncate(2);

    assertThat(out.toByteArray()).containsExactly(1, 2);
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> out.truncate(3));
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> out.truncate(-1));
  }

  @Test
  void shift_fullArray_growsAndMovesTheTail() {
    for (int i = 0; i < 16; i++) {
      out.writeByte(i);
    }
    assertThat(out.array()).hasSize(16);

    out.shift(14, 2);

    assertThat(out.size()).isEqualTo(18);
    assertThat(out.toByteArray()).startsWith(0, 1, 2).endsWith(14, 15);
  }

  @Test
  void ensureCapacity_beyondTheMaximumArraySize_throws() {
    out.write(new byte[16]);

    assertThatExceptionOfType(OutOfMemoryError.class)
        .isThrownBy(() -> out.ensureCapacity(Integer.MAX_VALUE))
        .withMessageContaining("2 GiB");
  }
}

package dev.sluice.redis;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.redis.UnreadableBatchException.CorruptBatchException;
import dev.sluice.redis.UnreadableBatchException.UnsupportedVersionException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.UUID;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Encodes a batch as the value of a stream entry field, and decodes it. Version 1, big-endian:
 *
 * <pre>
 *   0  version          1 byte, the only field whose position never changes
 *   1  hash             8      XXH64, seed 0, of all bytes that follow
 *   9  append id       16
 *  25  receivedNanos    8
 *  33  first id        16
 *  49  records          4
 *  53  expandedBytes    4
 *  57  OTLP length      4      before compression
 *  61  tenant length    2
 *  63  tenant                  UTF-8
 *      excluded                varint count, then one varint for each excluded ordinal: the number
 *                              of ordinals between it and the previous excluded ordinal
 *      OTLP                    an LZ4 block, to the end
 * </pre>
 *
 * <p>The hash covers the compressed bytes, which are fewer: intact compressed bytes decompress to
 * the original bytes. A decoded batch stays compressed until its OTLP bytes are read. Safe for use
 * by many threads.
 */
final class LogBatchCodec {
  static final int VERSION = 1;

  /** Maximum uncompressed size, so that a corrupt length field cannot exhaust the memory. */
  static final int MAX_OTLP_BYTES = 512 << 20;

  private static final int HASH_START = 9;
  private static final int FIXED_HEADER_BYTES = 63;
  private static final int MAX_VARINT = 5;
  private static final int LZ4_MAX_RATIO = 255;

  private static final Logger LOG = LoggerFactory.getLogger(LogBatchCodec.class);
  private static final LZ4Compressor COMPRESSOR;
  private static final LZ4SafeDecompressor DECOMPRESSOR;
  private static final XXHash64 HASH;

  static {
    LZ4Factory lz4;
    XXHashFactory xxHash;
    try {
      lz4 = LZ4Factory.nativeInstance();
      xxHash = XXHashFactory.nativeInstance();
    } catch (LinkageError | RuntimeException e) {
      LOG.warn("native LZ4 not available on this system; using the slower Java implementation", e);
      lz4 = LZ4Factory.fastestInstance();
      xxHash = XXHashFactory.fastestInstance();
    }
    COMPRESSOR = lz4.fastCompressor();
    DECOMPRESSOR = lz4.safeDecompressor();
    HASH = xxHash.hash64();
  }

  private LogBatchCodec() {}

  static byte[] encode(LogBatch batch) {
    byte[] tenant = batch.tenant().getBytes(StandardCharsets.UTF_8);
    byte[] otlp = batch.otlp();
    if (tenant.length > 0xFFFF || otlp.length > MAX_OTLP_BYTES) {
      throw new IllegalArgumentException(
          "tenant has %d bytes, limit 65535; OTLP has %d bytes, limit %d"
              .formatted(tenant.length, otlp.length, MAX_OTLP_BYTES));
    }
    int excludedCount = batch.excludedOrdinals().cardinality();
    int maxHeaderBytes = FIXED_HEADER_BYTES + tenant.length + MAX_VARINT * (excludedCount + 1);
    byte[] bytes = new byte[maxHeaderBytes + COMPRESSOR.maxCompressedLength(otlp.length)];
    var out = ByteBuffer.wrap(bytes);
    out.put((byte) VERSION).putLong(0);
    putUuid(out, batch.appendId());
    out.putLong(batch.receivedNanos());
    out.putLong(batch.firstId().high()).putLong(batch.firstId().low());
    out.putInt(batch.records()).putInt(batch.expandedBytes()).putInt(otlp.length);
    out.putShort((short) tenant.length).put(tenant);
    putExcludedOrdinals(out, batch.excludedOrdinals(), excludedCount);
    int start = out.position();
    int end = start + COMPRESSOR.compress(otlp, 0, otlp.length, bytes, start);
    out.putLong(1, HASH.hash(bytes, HASH_START, end - HASH_START, 0));
    return Arrays.copyOf(bytes, end);
  }

  /**
   * The OTLP bytes of a batch as an LZ4 block, from {@code offset} to the end of the encoded batch.
   *
   * @param encoded the encoded batch; retained, not copied
   * @param offset the start of the LZ4 block
   * @param uncompressedBytes size before compression, in bytes
   */
  private record Lz4Payload(byte[] encoded, int offset, int uncompressedBytes)
      implements LogBatch.Payload {
    @Override
    public byte[] otlp() {
      var otlp = new byte[uncompressedBytes];
      int written;
      try {
        written =
            DECOMPRESSOR.decompress(
                encoded, offset, encoded.length - offset, otlp, 0, uncompressedBytes);
      } catch (LZ4Exception e) {
        throw new IllegalStateException("invalid LZ4 block: " + e.getMessage(), e);
      }
      if (written != uncompressedBytes) {
        throw new IllegalStateException(
            "LZ4 block has %d bytes, expected %d".formatted(written, uncompressedBytes));
      }
      return otlp;
    }

    @Override
    public int retainedBytes() {
      return encoded.length;
    }
  }

  /**
   * Decodes a batch; its OTLP bytes stay compressed, and {@code bytes} is retained. Throws no other
   * exception, whatever the bytes are.
   *
   * @throws UnreadableBatchException when the bytes are corrupt or have a later version
   */
  static LogBatch decode(byte[] bytes) throws UnreadableBatchException {
    if (bytes.length == 0) {
      throw new CorruptBatchException("the encoded batch is empty");
    }
    int version = bytes[0] & 0xFF;
    if (version > VERSION) {
      throw new UnsupportedVersionException(version);
    }
    if (version < VERSION) {
      throw new CorruptBatchException("version %d does not exist".formatted(version));
    }
    if (bytes.length < FIXED_HEADER_BYTES) {
      throw new CorruptBatchException(
          "%d bytes, the header alone has %d".formatted(bytes.length, FIXED_HEADER_BYTES));
    }
    if (ByteBuffer.wrap(bytes).getLong(1)
        != HASH.hash(bytes, HASH_START, bytes.length - HASH_START, 0)) {
      throw new CorruptBatchException("hash does not match");
    }
    try {
      return decodeIntact(bytes);
    } catch (BufferUnderflowException | IllegalArgumentException e) {
      throw new CorruptBatchException(String.valueOf(e.getMessage()));
    }
  }

  private static LogBatch decodeIntact(byte[] bytes) throws CorruptBatchException {
    var in = ByteBuffer.wrap(bytes).position(HASH_START);
    var appendId = new UUID(in.getLong(), in.getLong());
    long receivedNanos = in.getLong();
    var firstId = new LogId(in.getLong(), in.getLong());
    int records = in.getInt();
    int expandedBytes = in.getInt();
    int uncompressedBytes = in.getInt();
    byte[] tenant = new byte[in.getShort() & 0xFFFF];
    in.get(tenant);
    if (uncompressedBytes < 0 || uncompressedBytes > MAX_OTLP_BYTES) {
      throw new CorruptBatchException(
          "OTLP length is %d, limit %d".formatted(uncompressedBytes, MAX_OTLP_BYTES));
    }
    var excludedOrdinals = readExcludedOrdinals(in, uncompressedBytes);
    if (uncompressedBytes > (long) in.remaining() * LZ4_MAX_RATIO) {
      throw new CorruptBatchException(
          "OTLP length is %d, impossible out of %d compressed bytes"
              .formatted(uncompressedBytes, in.remaining()));
    }
    return new LogBatch(
        appendId,
        new String(tenant, StandardCharsets.UTF_8),
        receivedNanos,
        firstId,
        records,
        expandedBytes,
        excludedOrdinals,
        new Lz4Payload(bytes, in.position(), uncompressedBytes));
  }

  /** Returns a hash of the append ids, which depends on their order. */
  static long hashAppendIds(Iterable<UUID> appendIds, int count) {
    var ids = ByteBuffer.allocate(count * LogId.BYTES);
    appendIds.forEach(id -> putUuid(ids, id));
    return HASH.hash(ids.array(), 0, ids.position(), 0);
  }

  private static void putUuid(ByteBuffer out, UUID id) {
    out.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
  }

  private static void putExcludedOrdinals(ByteBuffer out, BitSet excludedOrdinals, int count) {
    putVarint(out, count);
    int previous = -1;
    for (int i = excludedOrdinals.nextSetBit(0); i >= 0; i = excludedOrdinals.nextSetBit(i + 1)) {
      putVarint(out, i - previous - 1);
      previous = i;
    }
  }

  private static BitSet readExcludedOrdinals(ByteBuffer in, int otlpLength)
      throws CorruptBatchException {
    int count = readVarint(in);
    var excludedOrdinals = new BitSet(0);
    long ordinal = -1;
    for (int i = 0; i < count; i++) {
      ordinal += 1L + readVarint(in);
      if (ordinal >= otlpLength) { // a record takes at least two bytes
        throw new CorruptBatchException(
            "excluded ordinal %d exceeds %d bytes of OTLP".formatted(ordinal, otlpLength));
      }
      excludedOrdinals.set((int) ordinal);
    }
    return excludedOrdinals;
  }

  private static void putVarint(ByteBuffer out, int value) {
    int rest = value;
    while ((rest & ~0x7F) != 0) {
      out.put((byte) (rest | 0x80));
      rest >>>= 7;
    }
    out.put((byte) rest);
  }

  private static int readVarint(ByteBuffer in) throws CorruptBatchException {
    long value = 0;
    for (int shift = 0; shift < 7 * MAX_VARINT; shift += 7) {
      byte next = in.get();
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        if (value > Integer.MAX_VALUE) {
          break;
        }
        return (int) value;
      }
    }
    throw new CorruptBatchException("varint has more than 31 bits");
  }
}

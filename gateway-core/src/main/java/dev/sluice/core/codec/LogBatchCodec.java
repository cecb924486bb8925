package dev.sluice.core.codec;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.otlp.RecordExtractor;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.UUID;
import java.util.function.IntFunction;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;

/**
 * Encodes a batch as an entry of a spool, and decodes it. Version 2, big-endian:
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
 *      OTLP                    an LZ4 block, to the end
 * </pre>
 *
 * <p>Version 1 is decoded too. Its bytes contain records that are not part of the batch, which it
 * lists between tenant and OTLP: a varint count, then one varint for each excluded ordinal, the
 * number of ordinals between it and the previous excluded ordinal.
 *
 * <p>The hash covers the compressed bytes, which are fewer: intact compressed bytes decompress to
 * the original bytes. A decoded batch stays compressed until its OTLP bytes are read. Safe for use
 * by many threads.
 */
public final class LogBatchCodec {
  private static final int VERSION = 2;

  /** Maximum uncompressed size, so that a corrupt length field cannot exhaust the memory. */
  static final int MAX_OTLP_BYTES = 512 << 20;

  private static final int HASH_START = 9;
  private static final int FIXED_HEADER_BYTES = 63;
  private static final int MAX_VARINT = 5;
  private static final int LZ4_MAX_RATIO = 255;

  private static final System.Logger LOG = System.getLogger(LogBatchCodec.class.getName());
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
      LOG.log(
          System.Logger.Level.WARNING,
          "native LZ4 not available on this system; using the slower Java implementation",
          e);
      lz4 = LZ4Factory.fastestInstance();
      xxHash = XXHashFactory.fastestInstance();
    }
    COMPRESSOR = lz4.fastCompressor();
    DECOMPRESSOR = lz4.safeDecompressor();
    HASH = xxHash.hash64();
  }

  private LogBatchCodec() {}

  /**
   * Encodes a batch.
   *
   * @throws IllegalArgumentException if the tenant has more than 65,535 bytes, or the OTLP bytes
   *     are more than 512 MiB
   */
  public static byte[] encode(LogBatch batch) {
    byte[] tenant = batch.tenant().getBytes(StandardCharsets.UTF_8);
    byte[] otlp = batch.otlp();
    if (tenant.length > 0xFFFF || otlp.length > MAX_OTLP_BYTES) {
      throw new IllegalArgumentException(
          "tenant has %d bytes, limit 65535; OTLP has %d bytes, limit %d"
              .formatted(tenant.length, otlp.length, MAX_OTLP_BYTES));
    }
    int start = FIXED_HEADER_BYTES + tenant.length;
    byte[] bytes = new byte[start + COMPRESSOR.maxCompressedLength(otlp.length)];
    var out = ByteBuffer.wrap(bytes);
    out.put((byte) VERSION).putLong(0);
    var appendId = batch.appendId();
    out.putLong(appendId.getMostSignificantBits()).putLong(appendId.getLeastSignificantBits());
    out.putLong(batch.receivedNanos());
    out.putLong(batch.firstId().high()).putLong(batch.firstId().low());
    out.putInt(batch.records()).putInt(batch.expandedBytes()).putInt(otlp.length);
    out.putShort((short) tenant.length).put(tenant);
    int end = start + COMPRESSOR.compress(otlp, 0, otlp.length, bytes, start);
    out.putLong(1, HASH.hash(bytes, HASH_START, end - HASH_START, 0));
    return Arrays.copyOf(bytes, end);
  }

  /**
   * The OTLP bytes of a batch as an LZ4 block, from {@code offset} to the end of an array.
   *
   * @param encoded the array, such as the encoded batch; retained, not copied
   * @param offset the start of the LZ4 block
   * @param uncompressedBytes size before compression, in bytes
   */
  private record Lz4Payload(byte[] encoded, int offset, int uncompressedBytes)
      implements LogBatch.Payload {
    @Override
    public byte[] otlp(IntFunction<byte[]> allocator) {
      var otlp = allocator.apply(uncompressedBytes);
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

    /** Returns the payload of the other records, compressed as well. */
    Lz4Payload without(BitSet excluded) {
      var otlp =
          RecordExtractor.extract(otlp(), uncompressedBytes, ordinal -> !excluded.get(ordinal));
      return new Lz4Payload(COMPRESSOR.compress(otlp), 0, otlp.length);
    }
  }

  /**
   * Decodes a batch; its OTLP bytes stay compressed, and {@code bytes} is retained. Throws no other
   * exception, whatever the bytes are.
   *
   * @throws UnreadableBatchException when the bytes are corrupt, or of a later version
   */
  public static LogBatch decode(byte[] bytes) throws UnreadableBatchException {
    if (bytes.length == 0) {
      throw new UnreadableBatchException("the encoded batch is empty");
    }
    int version = bytes[0] & 0xFF;
    if (version > VERSION) {
      throw new UnreadableBatchException(
          "version %d is not supported, this release reads versions up to %d"
              .formatted(version, VERSION));
    }
    if (version == 0) {
      throw new UnreadableBatchException("version 0 does not exist");
    }
    if (bytes.length < FIXED_HEADER_BYTES) {
      throw new UnreadableBatchException(
          "%d bytes, the header alone has %d".formatted(bytes.length, FIXED_HEADER_BYTES));
    }
    if (ByteBuffer.wrap(bytes).getLong(1)
        != HASH.hash(bytes, HASH_START, bytes.length - HASH_START, 0)) {
      throw new UnreadableBatchException("hash does not match");
    }
    try {
      return decodeIntact(bytes);
    } catch (BufferUnderflowException | IllegalArgumentException | IllegalStateException e) {
      throw new UnreadableBatchException(String.valueOf(e.getMessage()));
    }
  }

  private static LogBatch decodeIntact(byte[] bytes) throws UnreadableBatchException {
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
      throw new UnreadableBatchException(
          "OTLP length is %d, limit %d".formatted(uncompressedBytes, MAX_OTLP_BYTES));
    }
    var excluded = bytes[0] == 1 ? readExcludedOrdinals(in, uncompressedBytes) : new BitSet(0);
    if (uncompressedBytes > (long) in.remaining() * LZ4_MAX_RATIO) {
      throw new UnreadableBatchException(
          "OTLP length is %d, impossible out of %d compressed bytes"
              .formatted(uncompressedBytes, in.remaining()));
    }
    var payload = new Lz4Payload(bytes, in.position(), uncompressedBytes);
    return new LogBatch(
        appendId,
        new String(tenant, StandardCharsets.UTF_8),
        receivedNanos,
        firstId,
        records,
        expandedBytes,
        excluded.isEmpty() ? payload : payload.without(excluded));
  }

  private static BitSet readExcludedOrdinals(ByteBuffer in, int otlpLength)
      throws UnreadableBatchException {
    int count = readVarint(in);
    var excludedOrdinals = new BitSet(0);
    long ordinal = -1;
    for (int i = 0; i < count; i++) {
      ordinal += 1L + readVarint(in);
      if (ordinal >= otlpLength) { // a record takes at least two bytes
        throw new UnreadableBatchException(
            "excluded ordinal %d exceeds %d bytes of OTLP".formatted(ordinal, otlpLength));
      }
      excludedOrdinals.set((int) ordinal);
    }
    return excludedOrdinals;
  }

  private static int readVarint(ByteBuffer in) throws UnreadableBatchException {
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
    throw new UnreadableBatchException("varint has more than 31 bits");
  }
}

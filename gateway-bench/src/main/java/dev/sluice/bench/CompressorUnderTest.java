package dev.sluice.bench;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/**
 * A compressor at one level, as the gateway uses it: native, set up once, from array to array.
 *
 * <p>Not thread-safe.
 */
public sealed interface CompressorUnderTest {

  /** The compressors and levels to compare. */
  enum Level {
    LZ4,
    LZ4_HC_9,
    ZSTD_FAST_5,
    ZSTD_1,
    ZSTD_3,
    DEFLATE_1;

    public CompressorUnderTest create() {
      return switch (this) {
        case LZ4 -> new Lz4(LZ4Factory.nativeInstance().fastCompressor());
        case LZ4_HC_9 -> new Lz4(LZ4Factory.nativeInstance().highCompressor(9));
        case ZSTD_FAST_5 -> new Zstandard(-5);
        case ZSTD_1 -> new Zstandard(1);
        case ZSTD_3 -> new Zstandard(3);
        case DEFLATE_1 -> new Deflate(Deflater.BEST_SPEED);
      };
    }
  }

  /** Returns a buffer that is large enough for the compressed form of the given number of bytes. */
  static byte[] outputBuffer(int length) {
    return new byte[Math.toIntExact(Zstd.compressBound(length)) + length / 128 + 64];
  }

  /** Compresses into a buffer from {@link #outputBuffer}. Returns the compressed size. */
  int compress(byte[] bytes, int length, byte[] into);

  /**
   * Decompresses into a buffer of at least {@code length} bytes.
   *
   * @param length the uncompressed size, which the caller knows
   */
  int decompress(byte[] compressed, byte[] into, int length);

  /** LZ4 blocks, without a header. */
  final class Lz4 implements CompressorUnderTest {
    private final LZ4Compressor compressor;
    private final LZ4SafeDecompressor decompressor = LZ4Factory.nativeInstance().safeDecompressor();

    private Lz4(LZ4Compressor compressor) {
      this.compressor = compressor;
    }

    @Override
    public int compress(byte[] bytes, int length, byte[] into) {
      return compressor.compress(bytes, 0, length, into, 0);
    }

    @Override
    public int decompress(byte[] compressed, byte[] into, int length) {
      return decompressor.decompress(compressed, 0, compressed.length, into, 0, length);
    }
  }

  /** Zstandard frames. */
  final class Zstandard implements CompressorUnderTest {
    private final ZstdCompressCtx compressor;
    private final ZstdDecompressCtx decompressor = new ZstdDecompressCtx();

    private Zstandard(int level) {
      compressor = new ZstdCompressCtx().setLevel(level);
    }

    @Override
    public int compress(byte[] bytes, int length, byte[] into) {
      return compressor.compressByteArray(into, 0, into.length, bytes, 0, length);
    }

    @Override
    public int decompress(byte[] compressed, byte[] into, int length) {
      return decompressor.decompressByteArray(into, 0, length, compressed, 0, compressed.length);
    }
  }

  /** The deflate compression of the JDK. */
  final class Deflate implements CompressorUnderTest {
    private final Deflater deflater;
    private final Inflater inflater = new Inflater(true);

    private Deflate(int level) {
      deflater = new Deflater(level, true);
    }

    @Override
    public int compress(byte[] bytes, int length, byte[] into) {
      deflater.reset();
      deflater.setInput(bytes, 0, length);
      deflater.finish();
      int size = 0;
      while (!deflater.finished()) {
        size += deflater.deflate(into, size, into.length - size);
      }
      return size;
    }

    @Override
    public int decompress(byte[] compressed, byte[] into, int length) {
      inflater.reset();
      inflater.setInput(compressed);
      try {
        int size = 0;
        while (size < length) {
          size += inflater.inflate(into, size, length - size);
        }
        return size;
      } catch (DataFormatException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}

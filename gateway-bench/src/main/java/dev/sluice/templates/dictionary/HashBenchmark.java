package dev.sluice.templates.dictionary;

import dev.sluice.bench.Allocates;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the identification of a text by its keyed hash, compared with its MD5, by the size of
 * the text.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar HashBenchmark -prof gc</pre>
 *
 * <p>{@code xxh3} is the key of the whole text alone; {@code keyAndCheck} is the operation of the
 * cache, {@code md5} the operation that it saves, with a reused digest. One text is hashed
 * repeatedly, so it stays in the CPU cache.
 */
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class HashBenchmark {

  @Param({"70", "150", "400", "1000", "4400", "8400"})
  private int size;

  private byte[] text;
  private KeyedTextHash.KeyFunction key;
  private KeyedTextHash hash;
  private MessageDigest md5;
  private final byte[] digest = new byte[16];

  @Setup(Level.Trial)
  public void generate() throws NoSuchAlgorithmException {
    text = new byte[size];
    new SplittableRandom(42).nextBytes(text);
    var hashKeys = HashKeys.random();
    key = KeyedTextHash.KeyFunction.xxh3(hashKeys.keySeed());
    hash = new KeyedTextHash(hashKeys, key);
    md5 = MessageDigest.getInstance("MD5");
  }

  @Benchmark
  @Allocates(0)
  public long xxh3() {
    return key.hash(text, 0, size);
  }

  @Benchmark
  @Allocates(0)
  public long keyAndCheck() {
    hash.hash(text, 0, size);
    return hash.key() ^ hash.check();
  }

  @Benchmark
  @Allocates(0)
  public byte[] md5() throws DigestException {
    md5.update(text, 0, size);
    md5.digest(digest, 0, digest.length);
    return digest;
  }
}

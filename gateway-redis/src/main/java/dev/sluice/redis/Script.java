package dev.sluice.redis;

import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * The Lua scripts, each an atomic step in Redis. A script is sent as its digest (EVALSHA), or as
 * its source (EVAL) when Redis does not have it in its script cache.
 */
enum Script {
  APPEND(ScriptOutputType.VALUE),
  RESOLVE(ScriptOutputType.VALUE),
  CREATE_GROUP(ScriptOutputType.VALUE),
  READ(ScriptOutputType.MULTI),
  FETCH(ScriptOutputType.MULTI),
  MARK_DELIVERY(ScriptOutputType.INTEGER),
  ACK(ScriptOutputType.INTEGER),
  CLAIM(ScriptOutputType.MULTI),
  STATUS(ScriptOutputType.INTEGER),
  KEY_CLAIM(ScriptOutputType.INTEGER),
  KEY_RELEASE(ScriptOutputType.INTEGER),
  COUNT_BY_DAY(ScriptOutputType.MULTI),
  DEPTH(ScriptOutputType.MULTI);

  private final ScriptOutputType output;
  private final String source;
  private final String digest;

  Script(ScriptOutputType output) {
    this.output = output;
    var file = name().toLowerCase(Locale.ROOT) + ".lua";
    try (var in = Objects.requireNonNull(Script.class.getResourceAsStream(file), file)) {
      byte[] bytes = in.readAllBytes();
      source = new String(bytes, StandardCharsets.UTF_8);
      digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-1", e);
    }
  }

  <T> CompletableFuture<T> run(
      StatefulRedisConnection<byte[], byte[]> redis, byte[][] keys, byte[]... arguments) {
    return redis
        .async()
        .<T>evalsha(digest, output, keys, arguments)
        .toCompletableFuture()
        .exceptionallyCompose(
            failure ->
                RedisConnection.cause(failure) instanceof RedisNoScriptException
                    ? redis.async().<T>eval(source, output, keys, arguments).toCompletableFuture()
                    : CompletableFuture.failedFuture(failure));
  }

  /** Returns a number as a script argument, in decimal. */
  static byte[] number(long value) {
    return Long.toString(value).getBytes(StandardCharsets.UTF_8);
  }
}

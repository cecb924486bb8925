package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.sluice.wal.SegmentLog.FrameWriteResult;
import dev.sluice.wal.SegmentLog.LogDependencies;
import dev.sluice.wal.WalSpool.SegmentSettings;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Random;
import java.util.concurrent.Semaphore;

/**
 * Appends numbered frames to the node directory of the first argument, starting with the number of
 * the second argument, and prints the number of each written frame, until it is killed.
 */
final class AppendingProcess {
  private static final int MAX_IN_FLIGHT = 16;

  private AppendingProcess() {}

  public static void main(String[] args) throws Exception {
    var random = new Random();
    var permits = new Semaphore(MAX_IN_FLIGHT);
    try (var segmentLog = open(Path.of(args[0]));
        var out = new FileOutputStream(FileDescriptor.out)) {
      for (long number = Long.parseLong(args[1]); ; number++) {
        permits.acquire();
        var frame =
            NumberedFrameFormat.frame(number, Compression.ZSTD, 1, 1 + random.nextInt(40_000));
        long appended = number;
        var _ =
            segmentLog
                .append(frame, true)
                .thenAccept(
                    frameWriteResult -> {
                      permits.release();
                      print(out, frameWriteResult, appended);
                    });
      }
    }
  }

  private static void print(FileOutputStream out, FrameWriteResult frameWriteResult, long number) {
    try {
      var line =
          frameWriteResult instanceof FrameWriteResult.FrameWritten
              ? String.valueOf(number)
              : frameWriteResult.toString();
      out.write((line + "\n").getBytes(US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static SegmentLog open(Path node) throws IOException {
    return SegmentLog.open(
        node,
        SegmentLogFixture.WRITE_SETTINGS,
        new SegmentSettings(200_000, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0),
        new LogDependencies(
            InstantSource.system(), (_, _) -> {}, Disk.REAL, NumberedFrameFormat.FORMAT));
  }
}

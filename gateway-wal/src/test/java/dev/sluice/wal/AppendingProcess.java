package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.sluice.wal.Segments.Outside;
import dev.sluice.wal.Segments.Written;
import dev.sluice.wal.WalSpool.Filing;
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
 * Appends frames of numbers from the second argument on to the folder that is the first, and prints
 * each number that was confirmed, until it is killed.
 */
final class AppendingProcess {
  private static final int UNDER_WAY = 16;

  private AppendingProcess() {}

  public static void main(String[] args) throws Exception {
    var random = new Random();
    var room = new Semaphore(UNDER_WAY);
    try (var segments = open(Path.of(args[0]));
        var out = new FileOutputStream(FileDescriptor.out)) {
      for (long number = Long.parseLong(args[1]); ; number++) {
        room.acquire();
        var frame = NumberFrames.frame(number, Compression.ZSTD, 1, 1 + random.nextInt(40_000));
        long appended = number;
        var _ =
            segments
                .append(frame, true)
                .thenAccept(
                    written -> {
                      room.release();
                      print(out, written, appended);
                    });
      }
    }
  }

  private static void print(FileOutputStream out, Written written, long number) {
    try {
      var line = written instanceof Written.At ? String.valueOf(number) : written.toString();
      out.write((line + "\n").getBytes(US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Segments open(Path node) throws IOException {
    return Segments.open(
        node,
        Log.WRITING,
        new Filing(200_000, Duration.ofHours(1), Long.MAX_VALUE, Long.MAX_VALUE, 0),
        new Outside(InstantSource.system(), (_, _) -> {}, Disk.REAL, NumberFrames.FORMAT));
  }
}

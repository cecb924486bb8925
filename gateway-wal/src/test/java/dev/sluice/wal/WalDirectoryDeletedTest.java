package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Files of the WAL that are deleted while the process runs. */
@Timeout(60)
class WalDirectoryDeletedTest {
  @RegisterExtension final WalFixture wal;

  WalDirectoryDeletedTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  private AppendResult append() {
    return wal.spool().append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join();
  }

  private static void delete(Path directory) throws IOException {
    try (var files = Files.walk(directory)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  private Path day() throws IOException {
    try (var files = Files.list(wal.node())) {
      return files.filter(Files::isDirectory).findFirst().orElseThrow();
    }
  }

  @Test
  void append_directoryDeleted_isRejectedWithTheReason() throws IOException {
    assertThat(append()).isInstanceOf(AppendResult.Accepted.class);
    delete(wal.walDirectory());

    var result = append();

    assertThat(result).isInstanceOf(AppendResult.Unavailable.class);
    assertThat(result.toString()).contains("was deleted", wal.node().toString());
    assertThat(wal.spool().status().toCompletableFuture().join().unavailableReason())
        .contains("was deleted", "restart this process");
  }

  /** After a restart the number of records of a segment is only in its index. */
  @Test
  void walStatus_directoryDeletedAfterARestart_hasTheReason() throws IOException {
    append();
    wal.reopen();
    delete(wal.walDirectory());

    var status = wal.spool().walStatus();

    assertThat(status.unavailableReason()).contains("was deleted");
    assertThat(status.segments()).hasSize(1);
    assertThat(status.backlog().entries()).isEqualTo(1);
  }

  /** A write to a deleted file succeeds, and no restart finds its frames. */
  @Test
  void append_segmentDeleted_isInANewSegment() throws IOException {
    append();
    delete(day());

    assertThat(append()).isInstanceOf(AppendResult.Accepted.class);

    assertThat(wal.kill().walStatus().segments())
        .singleElement()
        .satisfies(segment -> assertThat(segment.frames()).isEqualTo(1));
  }
}

package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testkit.Threads;
import dev.sluice.wal.SegmentLog.FrameWriteResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.pastalab.fray.junit.junit5.FrayTestExtension;
import org.pastalab.fray.junit.junit5.annotations.FrayTest;

/** Appends, reads and the close of a segment log, in many thread schedules. */
@ExtendWith(FrayTestExtension.class)
class SegmentWriterInterleavingTest {

  @FrayTest(iterations = 100, resetClassLoaderPerIteration = false)
  void append_besideReadsAndClose_keepsExactlyTheFramesThatItConfirms() throws Exception {
    var node = Files.createTempDirectory(Path.of("target"), "segments");
    var confirmed = new ConcurrentLinkedQueue<Long>();
    var fixture = new SegmentLogFixture(node);
    Threads.runAll(
        () -> append(fixture, confirmed, 1, 2),
        () -> append(fixture, confirmed, 3),
        fixture::close);

    try (var reopened = new SegmentLogFixture(node)) {
      List<Long> written = reopened.numbers();
      assertThat(written).containsExactlyInAnyOrderElementsOf(confirmed);
      SegmentLogFixture.assertIndexMatchesData(node);
    }
  }

  private static void append(
      SegmentLogFixture fixture, ConcurrentLinkedQueue<Long> confirmed, long... numbers) {
    LongStream.of(numbers)
        .filter(number -> fixture.append(number) instanceof FrameWriteResult.FrameWritten)
        .forEach(confirmed::add);
  }
}

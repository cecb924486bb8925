package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JournalTest {
  @TempDir Path directory;
  private Path file;

  @BeforeEach
  void nameFile() {
    file = directory.resolve("journal");
  }

  @Test
  void open_someLines_replaysThemInOrder() throws IOException {
    write("one", "", "drei äöü");

    assertThat(read()).containsExactly("one", "", "drei äöü");
  }

  @Test
  void open_truncatedLastLine_dropsItAndContinues() throws IOException {
    write("one", "two");
    try (var channel = Files.newByteChannel(file, StandardOpenOption.WRITE)) {
      channel.truncate(Files.size(file) - 2);
    }

    assertThat(read()).containsExactly("one");
    write("three");
    assertThat(read()).containsExactly("one", "three");
  }

  @Test
  void open_zerosAtTheEnd_dropsThem() throws IOException {
    write("one");
    Files.write(file, new byte[5_000], StandardOpenOption.APPEND);

    assertThat(read()).containsExactly("one");
  }

  @Test
  void open_damageInTheLastLine_dropsIt() throws IOException {
    write("one", "two");
    flip(Files.size(file) - 2);

    assertThat(read()).containsExactly("one");
  }

  @Test
  void open_damageBeforeTheLastLine_throwsNamingTheLine() throws IOException {
    write("one", "two", "three");
    flip(9);

    assertThatThrownBy(this::read)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("line 1 of " + file);
    assertThat(Files.readString(file, UTF_8)).contains("three");
  }

  @Test
  void append_fullDisk_usesTheReserveThenLeavesNoPartialLine() throws IOException {
    var disk = new SmallDisk(directory, Journal.RESERVE_BYTES + 100);
    try (var journal = Journal.open(file, _ -> {}, disk)) {
      journal.append("one"); // 13 bytes
      assertThat(directory.resolve("reserve")).hasSize(Journal.RESERVE_BYTES);
      disk.fill();

      journal.append("two");
      assertThat(directory.resolve("reserve")).doesNotExist();

      disk.fill();
      assertThatThrownBy(() -> journal.append("three")).hasMessageContaining("No space left");
      assertThat(read()).containsExactly("one", "two");

      disk.free(50);
      journal.append("four");
      assertThat(read()).containsExactly("one", "two", "four");
    }
  }

  @Test
  void append_spaceFreed_reallocatesTheReserve() throws IOException {
    var disk = new SmallDisk(directory, Journal.RESERVE_BYTES + 100);
    try (var journal = Journal.open(file, _ -> {}, disk)) {
      disk.fill();
      journal.append("one");

      disk.free(2 * Journal.RESERVE_BYTES);
      journal.append("two");

      assertThat(directory.resolve("reserve")).hasSize(Journal.RESERVE_BYTES);
    }
  }

  @Test
  void append_interruptedThread_stillWrites() throws IOException {
    try (var journal = Journal.open(file, _ -> {})) {
      Thread.currentThread().interrupt();
      try {
        journal.append("x".repeat(5 << 20));
        journal.compact(() -> List.of("less"));
        journal.append("more");
      } finally {
        assertThat(Thread.interrupted()).isTrue();
      }
    }

    assertThat(read()).containsExactly("less", "more");
  }

  @Test
  void compact_smallJournal_doesNothing() throws IOException {
    try (var journal = Journal.open(file, _ -> {})) {
      journal.append("one");

      journal.compact(
          () -> {
            throw new AssertionError("not worth it");
          });
    }

    assertThat(read()).containsExactly("one");
  }

  @Test
  void compact_largeJournal_isReplacedAndContinues() throws IOException {
    var line = "x".repeat(1 << 20);
    try (var journal = Journal.open(file, _ -> {})) {
      IntStream.range(0, 5).forEach(_ -> append(journal, line));

      journal.compact(() -> List.of("a", "b"));
      journal.append("c");
    }

    assertThat(read()).containsExactly("a", "b", "c");
    assertThat(Files.size(file)).isLessThan(100);
  }

  @Test
  void compact_fails_keepsTheOldJournal() throws IOException {
    var line = "x".repeat(5 << 20);
    try (var journal = Journal.open(file, _ -> {})) {
      journal.append(line);

      assertThatThrownBy(
              () ->
                  journal.compact(
                      () -> {
                        throw new IllegalStateException("no lines");
                      }))
          .hasMessage("no lines");
      journal.append("two");
    }

    assertThat(read()).containsExactly(line, "two");
  }

  private static void append(Journal journal, String line) {
    try {
      journal.append(line);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private void write(String... lines) throws IOException {
    try (var journal = Journal.open(file, _ -> {})) {
      for (var line : lines) {
        journal.append(line);
      }
    }
  }

  private List<String> read() throws IOException {
    var lines = new ArrayList<String>();
    Journal.open(file, lines::add).close();
    return lines;
  }

  private void flip(long position) throws IOException {
    try (var bytes = new RandomAccessFile(file.toFile(), "rw")) {
      bytes.seek(position);
      int original = bytes.read();
      bytes.seek(position);
      bytes.write(original ^ 1);
    }
  }
}

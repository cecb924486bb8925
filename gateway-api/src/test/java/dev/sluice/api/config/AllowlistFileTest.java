package dev.sluice.api.config;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.core.ingest.BodyAllowlist;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@Isolated("reads the output of the process")
@ExtendWith(OutputCaptureExtension.class)
class AllowlistFileTest {
  @TempDir private Path folder;
  private Path path;
  private final Queue<Runnable> due = new ArrayDeque<>();

  @BeforeEach
  void resolvePath() {
    path = folder.resolve("messages.txt");
  }

  private FileWatcher<BodyAllowlist> watcher() {
    var list = AllowlistFile.read(path);
    list.watch(
        (delay, task) -> {
          assertThat(delay).isEqualTo(Duration.ofSeconds(1));
          due.add(task);
        },
        Runnable::run);
    return list;
  }

  /** Runs the poll that is due after a second. */
  private void tick() {
    assertThat(due).hasSize(1);
    due.remove().run();
  }

  @Test
  void read_commentsAndBlankLines_areIgnored() throws IOException {
    Files.writeString(path, "\uFEFF# a comment\r\n\r\n  \nPaid\r\n#\nRefunded\nPAID");

    assertThat(AllowlistFile.read(path).get().size()).isEqualTo(2);
  }

  @Test
  void read_emptyFile_allowsNothingAndWarnsOnce(CapturedOutput output) throws IOException {
    Files.writeString(path, "\n\n# nothing yet\n");

    var list = watcher();
    tick();
    tick();

    assertThat(list.get().size()).isZero();
    assertThat(output.getOut()).containsOnlyOnce("is empty, all logs are filtered out");
  }

  @Test
  void read_missingFile_failsNamingTheSetting() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AllowlistFile.read(path))
        .withMessage("sluice.filter.allowlist-file is " + path + ": it does not exist");
  }

  @Test
  void read_directory_isRejected() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AllowlistFile.read(folder))
        .withMessageEndingWith(": it is not a regular file");
  }

  @Test
  void read_tooManyLines_isRejected() throws IOException {
    Files.writeString(path, "a\n".repeat(AllowlistFile.MAX_LINES));
    assertThat(AllowlistFile.read(path).get().size()).isEqualTo(1);

    Files.writeString(path, "a\n".repeat(AllowlistFile.MAX_LINES + 1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> AllowlistFile.read(path))
        .withMessageEndingWith(": it has more than 100000 lines");
  }

  @Test
  void read_tooManyBytes_isRejected() throws IOException {
    Files.write(path, new byte[AllowlistFile.MAX_BYTES + 1]);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> AllowlistFile.read(path))
        .withMessageEndingWith(": it has more than 16 MB");
  }

  @Test
  void read_notUtf8_isRejected() throws IOException {
    Files.writeString(path, "é", ISO_8859_1);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> AllowlistFile.read(path))
        .withMessageEndingWith(": it is not UTF-8");
  }

  @Test
  void watch_changedFile_returnsTheNewList() throws IOException {
    Files.writeString(path, "a\n");
    var list = watcher();
    var before = list.get();

    tick();
    assertThat(list.get()).isSameAs(before);

    Files.writeString(path, "a\nb\n");
    assertThat(list.get()).isSameAs(before);
    tick();
    assertThat(list.get().size()).isEqualTo(2);
  }

  @Test
  void watch_changeWithTheSameTimeAndSize_returnsTheNewList() throws IOException {
    Files.writeString(path, "a\n\n");
    var list = watcher();
    var time = Files.getLastModifiedTime(path);

    Files.writeString(path, "a\nb");
    Files.setLastModifiedTime(path, time);
    tick();

    assertThat(list.get().size()).isEqualTo(2);
  }

  @Test
  void watch_replacedFile_returnsTheNewList() throws IOException {
    Files.writeString(path, "a\n");
    var list = watcher();

    var next = Files.writeString(folder.resolve("next"), "a\nb\nc\n");
    Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
    tick();

    assertThat(list.get().size()).isEqualTo(3);
  }

  @Test
  void watch_deletedFile_keepsTheListAndWarnsOnce(CapturedOutput output) throws IOException {
    Files.writeString(path, "a\n");
    var list = watcher();
    var before = list.get();

    Files.delete(path);
    tick();
    tick();
    assertThat(list.get()).isSameAs(before);
    assertThat(output.getOut()).containsOnlyOnce("allowlist not reloaded: ");

    Files.writeString(path, "a\nb\n");
    tick();
    assertThat(list.get().size()).isEqualTo(2);
  }

  @Test
  void watch_invalidFile_keepsTheListUntilItIsRepaired(CapturedOutput output) throws IOException {
    Files.writeString(path, "a\n");
    var list = watcher();
    var before = list.get();

    Files.writeString(path, "é", ISO_8859_1);
    tick();
    tick();
    assertThat(list.get()).isSameAs(before);
    assertThat(output.getOut()).containsOnlyOnce("is not UTF-8");

    Files.writeString(path, "a\n");
    tick();
    assertThat(list.get()).isSameAs(before);
    assertThat(output.getOut()).containsOnlyOnce("allowlist readable again: ");
  }
}

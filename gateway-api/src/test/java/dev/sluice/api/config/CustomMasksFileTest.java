package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.sluice.templates.CustomMask;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** {@link AllowlistFileTest} covers the behavior that all watched files share. */
@Isolated("reads the output of the process")
@ExtendWith(OutputCaptureExtension.class)
class CustomMasksFileTest {
  @TempDir private Path folder;
  private Path path;
  private final List<List<CustomMask>> received = new ArrayList<>();

  @BeforeEach
  void resolvePath() {
    path = folder.resolve("masks.txt");
  }

  private List<String> read(String content) throws IOException {
    Files.writeString(path, content);
    CustomMasksFile.read(path, received::add);
    return received.getLast().stream().map(CustomMasksFileTest::text).toList();
  }

  private static String text(CustomMask mask) {
    return "%s: %s is %s".formatted(mask.name(), mask.service(), mask.pattern());
  }

  @Test
  void read_masks_keepTheOrderOfTheirLines() throws IOException {
    assertThat(read("# custom\r\n\n  \ncheckout /gold|silver/\n* /[A-Z]{3}-x/\ncart\t/a b/  \n"))
        .containsExactly(
            "line 4: checkout is gold|silver", "line 5: null is [A-Z]{3}-x", "line 6: cart is a b");
  }

  @Test
  void read_spacesAndSlashes_belongToTheServiceAndThePattern() throws IOException {
    assertThat(read("team a/my shop   / to /home/x \\/ /\na # b /#/\n"))
        .containsExactly("line 1: team a/my shop is  to /home/x \\/ ", "line 2: a # b is #");
  }

  @Test
  void read_emptyFile_hasNoMasks() throws IOException {
    assertThat(read("# none\n")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "checkout gold; line 2 is not \"service /pattern/\"",
        "checkout /gold; line 2 is not \"service /pattern/\"",
        "checkout  gold/; line 2 is not \"service /pattern/\"",
        "checkout/gold/; line 2 is not \"service /pattern/\"",
        "/gold/; line 2 is not \"service /pattern/\"",
        "' /gold/'; line 2 is not \"service /pattern/\"",
        "checkout //; line 2 is not \"service /pattern/\"",
        "checkout /a(b/; line 2 is not a regular expression: Unclosed group at character 4",
        "checkout /a*/; line 2 has a pattern that matches the empty text",
        "checkout /$/; line 2 has a pattern that matches the empty text",
      })
  void read_invalidMask_failsNamingTheSettingAndTheLine(String line, String reason)
      throws IOException {
    Files.writeString(path, "* /fine/\n" + line + "\n");

    assertThatIllegalArgumentException()
        .isThrownBy(() -> CustomMasksFile.read(path, received::add))
        .withMessage("sluice.templates.custom-masks-file is " + path + ": " + reason);
    assertThat(received).isEmpty();
  }

  @Test
  void read_lineTooLong_isRejectedAndDeepestNestingIsAccepted() throws IOException {
    int groups = (CustomMasksFile.MAX_LINE_LENGTH - "* /x/".length()) / 2;
    var longest = "* /%sx%s/".formatted("(".repeat(groups), ")".repeat(groups));
    assertThat(read(longest)).hasSize(1);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> read("\n* /" + "x".repeat(CustomMasksFile.MAX_LINE_LENGTH) + "/"))
        .withMessageEndingWith(": line 2 has more than 1000 characters");
  }

  @Test
  void read_tooManyMasks_areRejected() throws IOException {
    assertThat(read("* /x/\n".repeat(CustomMasksFile.MAX_LINES))).hasSize(1_000);

    assertThatIllegalArgumentException()
        .isThrownBy(() -> read("* /x/\n".repeat(CustomMasksFile.MAX_LINES + 1)))
        .withMessageEndingWith(": it has more than 1000 lines");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> read("#".repeat(CustomMasksFile.MAX_BYTES + 1)))
        .withMessageEndingWith(": it has more than 1 MB");
  }

  @Test
  void watch_changedFile_passesTheNewMasksOnce() throws IOException {
    Queue<Runnable> due = new ArrayDeque<>();
    read("* /x/\n");
    CustomMasksFile.read(path, received::add).watch((_, task) -> due.add(task), Runnable::run);
    received.clear();

    Files.writeString(path, "* /y/\n");
    due.remove().run();
    due.remove().run();

    assertThat(received).hasSize(1);
    assertThat(received.getFirst())
        .extracting(CustomMasksFileTest::text)
        .containsExactly("line 1: null is y");
  }

  @Test
  void watch_badPattern_keepsTheMasksAndWarnsOnceWithTheLine(CapturedOutput output)
      throws IOException {
    Queue<Runnable> due = new ArrayDeque<>();
    read("* /x/\n");
    var masks = CustomMasksFile.read(path, received::add);
    masks.watch((_, task) -> due.add(task), Runnable::run);
    received.clear();

    Files.writeString(path, "* /y/\n* /[/\n");
    due.remove().run();
    Objects.requireNonNull(due.poll()).run();

    assertThat(received).isEmpty();
    assertThat(masks.get())
        .extracting(CustomMasksFileTest::text)
        .containsExactly("line 1: null is x");
    assertThat(output.getOut())
        .containsOnlyOnce(
            "custom masks not reloaded: "
                + path
                + ": line 2 is not a regular expression: Unclosed character class at character 1;");
  }
}

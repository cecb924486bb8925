package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Holds the prose of documents, Javadoc, comments and messages, and the names of types, to the
 * project's vocabulary. CONTRIBUTING.md has the rules.
 */
class VocabularyTest {
  private static final Path ROOT = Path.of("..");

  /**
   * Words without a clear subject, and metaphors; each has a plain word in the field's language.
   */
  private static final Pattern BANNED =
      Pattern.compile(
          """
          \\b(?:somebody|someone|whoever|nobody|anybody|anyone|everybody|everyone\
          |mend|mends|mended|mending|he|him|his|himself\
          |behind (?:his|her|its|their) backs?|those who|in hand|stands? in for|stood in for\
          |turned away|is told|are told|was told|what (?:is|was|are|were))\\b""",
          Pattern.CASE_INSENSITIVE);

  /** A Javadoc names its subject in the first sentence. */
  private static final Pattern WEAK_BEGINNING =
      Pattern.compile("/\\*\\*[\\s*]*(?:Of|What|Who|Whom|Whose|As above|How|Why)\\b");

  /** Comments and string literals; text blocks come first, since they hold quotation marks. */
  private static final Pattern PROSE_IN_JAVA =
      Pattern.compile(
          "\"\"\"(?s:.*?)\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\])+'|//[^\\n]*|/\\*(?s:.*?)\\*/");

  /** Code and quotations are no prose. */
  private static final Pattern CODE_IN_MARKDOWN =
      Pattern.compile("```(?s:.*?)```|`[^`\\n]*`|\\]\\([^)]*\\)");

  private static final Pattern CODE_IN_JAVADOC =
      Pattern.compile("\\{@(?:code|link|linkplain|value) [^}]*}|<pre>(?s:.*?)</pre>");

  private static final Pattern TYPE =
      Pattern.compile("\\b(?:class|record|interface|enum)\\s+([A-Z][A-Za-z0-9]*)");

  @Test
  void documents_prose_hasNoBannedWord() throws IOException {
    var found = new ArrayList<String>();
    for (var file : files(path -> path.toString().endsWith(".md"))) {
      find(BANNED, blank(CODE_IN_MARKDOWN, Files.readString(file)), file, found);
    }

    assertThat(found).isEmpty();
  }

  @Test
  void buildFilesAndContracts_prose_hasNoBannedWord() throws IOException {
    var found = new ArrayList<String>();
    for (var file : files(VocabularyTest::isBuildFileOrContract)) {
      find(BANNED, Files.readString(file), file, found);
    }

    assertThat(found).isEmpty();
  }

  @Test
  void mainCode_commentsAndMessages_haveNoBannedWord() throws IOException {
    var found = new ArrayList<String>();
    for (var file : files(VocabularyTest::isMainJava)) {
      find(BANNED, blank(CODE_IN_JAVADOC, prose(Files.readString(file))), file, found);
    }

    assertThat(found).isEmpty();
  }

  @Test
  void mainCode_javadoc_beginsWithItsSubject() throws IOException {
    var found = new ArrayList<String>();
    for (var file : files(VocabularyTest::isMainJava)) {
      find(WEAK_BEGINNING, Files.readString(file), file, found);
    }

    assertThat(found).isEmpty();
  }

  @Test
  void types_retiredNames_areNotDeclared() throws IOException {
    var retired = retiredNames();
    var found = new TreeSet<String>();
    for (var file : files(path -> path.toString().endsWith(".java"))) {
      TYPE.matcher(code(Files.readString(file)))
          .results()
          .map(match -> match.group(1))
          .filter(retired::contains)
          .forEach(name -> found.add(file + ": " + name));
    }

    assertThat(found).isEmpty();
  }

  @Test
  void documents_retiredNames_areNotMentioned() throws IOException {
    var retired = retiredNames();
    var quoted = Pattern.compile("`([A-Z][A-Za-z0-9]*)(?:[.#(][^`]*)?`");
    var found = new TreeSet<String>();
    for (var file : files(path -> path.toString().endsWith(".md"))) {
      quoted
          .matcher(Files.readString(file))
          .results()
          .map(match -> match.group(1))
          .filter(retired::contains)
          .forEach(name -> found.add(file + ": " + name));
    }

    assertThat(found).isEmpty();
  }

  /** The guards themselves: a pattern that finds nothing would hold nothing. */
  @ParameterizedTest
  @CsvSource({
    "'/** Tells whoever asks. */', true",
    "'LOG.warn(\"delivery waits for somebody to mend the tables\");', true",
    "'// a client is told to come again', true",
    "'int somebody = 1;', false",
    "'/** A refresh-ahead cache. */', false",
  })
  void prose_inJava_isFound(String source, boolean banned) {
    assertThat(BANNED.matcher(prose(source)).find()).isEqualTo(banned);
  }

  @ParameterizedTest
  @CsvSource({
    "'/** Of the delivery handed out last. */', true",
    "'/**\n   * What holds when nothing else is said. */', true",
    "'/** Returns the offset. */', false",
  })
  void javadoc_weakBeginning_isFound(String source, boolean weak) {
    assertThat(WEAK_BEGINNING.matcher(source).find()).isEqualTo(weak);
  }

  private static void find(Pattern pattern, String text, Path file, List<String> found) {
    pattern.matcher(text).results().forEach(match -> found.add(describe(match, text, file)));
  }

  private static String describe(MatchResult match, String text, Path file) {
    long line = text.substring(0, match.start()).lines().count();
    int end = text.indexOf('\n', match.end());
    var context =
        text.substring(Math.max(0, match.start() - 40), end < 0 ? text.length() : end).strip();
    return "%s:%d: %s".formatted(file, Math.max(1, line), context);
  }

  /** The comments and string literals of a source, at their places, all else blank. */
  private static String prose(String source) {
    var kept = new StringBuilder(source.replaceAll("[^\\n]", " "));
    PROSE_IN_JAVA
        .matcher(source)
        .results()
        .filter(match -> !match.group().startsWith("'"))
        .forEach(match -> kept.replace(match.start(), match.end(), match.group()));
    return kept.toString();
  }

  /** A source without comments and string literals. */
  private static String code(String source) {
    return blank(PROSE_IN_JAVA, source);
  }

  private static String blank(Pattern pattern, String text) {
    return pattern.matcher(text).replaceAll(match -> match.group().replaceAll("[^\\n]", " "));
  }

  /** POMs, scripts, schemas and interface contracts: their comments are prose, too. */
  private static boolean isBuildFileOrContract(Path path) {
    var name = path.toString();
    return name.endsWith("pom.xml")
        || name.endsWith("Makefile")
        || name.startsWith("../bin/")
        || name.contains("/src/main/")
            && Stream.of(".yaml", ".proto", ".lua", ".sql", ".ftl").anyMatch(name::endsWith);
  }

  private static boolean isMainJava(Path path) {
    return path.toString().contains("/src/main/java/") && path.toString().endsWith(".java");
  }

  private static List<Path> files(Predicate<Path> filter) throws IOException {
    try (var paths = Files.walk(ROOT)) {
      return paths
          .filter(Files::isRegularFile)
          .filter(
              path -> {
                var name = path.toString();
                return !name.contains("/target/")
                    && !name.startsWith("../.")
                    && !name.startsWith("../data/");
              })
          .filter(filter)
          .toList();
    }
  }

  private static Set<String> retiredNames() throws IOException {
    try (var in = VocabularyTest.class.getResourceAsStream("retired-names.txt")) {
      return Set.copyOf(new String(in.readAllBytes(), UTF_8).lines().toList());
    }
  }
}

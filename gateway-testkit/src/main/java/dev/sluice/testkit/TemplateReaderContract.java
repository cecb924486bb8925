package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.dictionary.TextId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.Dictionary.Outcome.Written;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Link;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every {@link TemplateReader} keeps to. Each test begins with nothing stored. */
@Timeout(60)
public abstract class TemplateReaderContract {
  private static final long AT = 1_800_000_000_123_456_789L;

  /** Always the same within a test; what it says is that of {@link #dictionary}. */
  protected abstract TemplateReader templates();

  protected abstract Dictionary dictionary();

  @Test
  void links_someIds_areTheirsAndOnlyOfThoseThatAreThere() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a <*>", null);
    write("acme", "c", null);
    write("other", "d", "e");
    write(Kind.TEXT, "f", null);

    assertThat(templates().links("acme", ids("a b", "a <*>", "d", "f", "nowhere")))
        .containsExactlyInAnyOrder(
            new Link(TextId.of("a b"), TextId.of("a <*>")), new Link(TextId.of("a <*>"), null));
    assertThat(templates().links("acme", List.of())).isEmpty();
  }

  @Test
  void links_asManyIdsAsMayBe_areFound() throws Exception {
    write("acme", "text 7", "text <*>");

    assertThat(templates().links("acme", many())).hasSize(1);
    assertThat(templates().linkedTo("acme", many(), 10)).isEmpty();
  }

  private static List<UUID> many() {
    return IntStream.range(0, TemplateReader.MOST_IDS)
        .mapToObj(i -> TextId.of("text " + i))
        .toList();
  }

  @Test
  void linkedTo_someIds_areThoseOneStepBeforeThem() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a c", "a <*>");
    write("acme", "a <*>", "<*> <*>");
    write("acme", "d", "e");
    write("other", "a d", "a <*>");

    assertThat(templates().linkedTo("acme", ids("a <*>", "e"), 10))
        .containsExactlyInAnyOrder(
            new Link(TextId.of("a b"), TextId.of("a <*>")),
            new Link(TextId.of("a c"), TextId.of("a <*>")),
            new Link(TextId.of("d"), TextId.of("e")));
    assertThat(templates().linkedTo("acme", ids("<*> <*>"), 10))
        .containsExactly(new Link(TextId.of("a <*>"), TextId.of("<*> <*>")));
    assertThat(templates().linkedTo("acme", ids("a b"), 10)).isEmpty();
    assertThat(templates().linkedTo("acme", List.of(), 10)).isEmpty();
    assertThat(templates().linkedTo("acme", ids("a <*>", "e"), 2)).hasSize(2);
  }

  /** Whichever was written first. */
  @Test
  void linkedTo_templateWithTwoLinks_isToldOfTheOneThatCounts() throws Exception {
    write("acme", "a b", "a <*>");
    write("acme", "a b", "<*> b");
    write("acme", "a b", null);

    var link = templates().links("acme", ids("a b")).getFirst().mergedInto();

    for (var target : ids("a <*>", "<*> b")) {
      assertThat(templates().linkedTo("acme", List.of(target), 10))
          .hasSize(target.equals(link) ? 1 : 0);
    }
  }

  private static List<UUID> ids(String... texts) {
    return Arrays.stream(texts).map(TextId::of).toList();
  }

  private void write(String tenant, String text, @Nullable String into)
      throws InterruptedException {
    write(
        new Entry(
            tenant,
            Kind.TEMPLATE,
            TextId.of(text),
            text,
            AT,
            AT,
            into == null ? null : TextId.of(into)));
  }

  private void write(Kind kind, String text, @Nullable UUID into) throws InterruptedException {
    write(new Entry("acme", kind, TextId.of(text), text, AT, AT, into));
  }

  private void write(Entry entry) throws InterruptedException {
    assertThat(dictionary().write(List.of(entry))).isEqualTo(new Written());
  }
}

package dev.sluice.templates;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;

class TemplateGeneralizerTest {
  @Test
  void add_threeNamesAfterANamingWord_becomeAValue() {
    assertThat(generalize("for user bob now", "for user eve now"))
        .containsExactly("for user bob now", "for user eve now");
    assertThat(generalize("for user bob now", "for user eve now", "for user ann now"))
        .containsExactly("for user <*> now");
  }

  @Test
  void add_maskedValueAndOneName_becomeAValue() {
    assertThat(generalize("for user <*> now", "for user bob now"))
        .containsExactly("for user <*> now");
  }

  @Test
  void add_fourAssignedWords_becomeAValue() {
    assertThat(generalize("up as=a", "up as=b", "up as=c")).hasSize(3);
    assertThat(generalize("up as=a", "up as=b", "up as=c", "up as=d")).containsExactly("up as=<*>");
  }

  @Test
  void add_wordsOfASentence_stay() {
    assertThat(generalize("VM Started now", "VM Stopped now", "VM Paused now", "VM Resumed now"))
        .hasSize(4);
  }

  @Test
  void add_participleAfterANamingWord_stays() {
    assertThat(
            generalize(
                "the user created", "the user deleted", "the user updated", "the user removed"))
        .hasSize(4);
  }

  @Test
  void add_upperCaseWords_needTwiceAsMany() {
    assertThat(generalize("up as=A1", "up as=BB", "up as=CC", "up as=DD", "up as=EE")).hasSize(5);
  }

  @Test
  void add_firstWordsKeysAndErrors_neverBecomeValues() {
    var texts = new ArrayList<String>();
    for (char c = 'a'; c <= 'z'; c++) {
      texts.add(c + "d startup");
      texts.add("set " + c + "x=1");
      texts.add("got " + c + "Exception");
      texts.add("{\"" + c + "\":<*>}");
    }

    assertThat(generalize(texts.toArray(String[]::new))).hasSize(4 * 26);
  }

  @Test
  void add_dottedNamesInTwoPlaces_becomeValues() {
    assertThat(generalize("Put a.b for c.d", "Put x.y for z.z")).containsExactly("Put <*> for <*>");
  }

  @Test
  void add_overlappingShapes_becomeOneTemplate() {
    // the templates of both groups cover "x user bob as=d", which is not among the texts
    assertThat(
            generalize(
                "x user a as=d",
                "x user b as=d",
                "x user c as=d", //
                "x user bob as=p",
                "x user bob as=q",
                "x user bob as=r",
                "x user bob as=s"))
        .containsExactly("x user <*> as=<*>");
  }

  @Property(tries = 1000)
  void add_inAnyOrder_givesTheSame(@ForAll("texts") List<String> texts, @ForAll Random random) {
    var shuffled = new ArrayList<>(texts);
    Collections.shuffle(shuffled, random);

    assertThat(generalize(shuffled)).isEqualTo(generalize(texts));
  }

  @Property(tries = 1000)
  void add_templatesInPlaceOfShapes_givesTheSame(
      @ForAll("texts") List<String> some, @ForAll("texts") List<String> others) {
    var one = new TemplateGeneralizer();
    some.forEach(text -> one.add(MessageShape.of(text)));
    var other = new TemplateGeneralizer();
    others.forEach(text -> other.add(MessageShape.of(text)));
    one.templates().forEach(other::add);
    var all = new ArrayList<>(some);
    all.addAll(others);

    assertThat(texts(other)).isEqualTo(generalize(all));
  }

  @Property(tries = 1000)
  void add_shapes_areCoveredByOneTemplateEach(@ForAll("texts") List<String> texts) {
    var templateGeneralizer = new TemplateGeneralizer();
    texts.forEach(text -> templateGeneralizer.add(MessageShape.of(text)));

    assertThat(templateGeneralizer.size()).isEqualTo(templateGeneralizer.templates().size());
    for (String text : texts) {
      var shape = MessageShape.of(text);
      assertThat(templateGeneralizer.templates())
          .filteredOn(it -> it.skeleton().equals(shape.skeleton()) && it.covers(shape))
          .containsExactly(Objects.requireNonNull(templateGeneralizer.find(shape)));
    }
  }

  @Property(tries = 1000)
  void text_ofATemplate_hasTheSameSkeleton(@ForAll("texts") List<String> texts) {
    var templateGeneralizer = new TemplateGeneralizer();
    texts.forEach(text -> templateGeneralizer.add(MessageShape.of(text)));

    assertThat(templateGeneralizer.templates())
        .allSatisfy(
            template -> {
              var again = MessageShape.of(template.text());
              assertThat(again.skeleton()).isEqualTo(template.skeleton());
              assertThat(again.evidenceThresholds()).isEqualTo(template.evidenceThresholds());
              assertThat(again.text()).isEqualTo(template.text());
            });
  }

  /** Generates texts with few words in few slots, so that templates overlap. */
  @Provide
  static Arbitrary<List<String>> texts() {
    var word =
        Arbitraries.of("a", "b", "c", "d", "<*>", "e.f", "g.h", "DOWN", "lost", "j_<*>", "user");
    var two = Arbitraries.of("<*>", "a", "b", "c");
    var text =
        Arbitraries.oneOf(
            word.flatMap(x -> two.map(y -> "log user " + x + " of=" + y)),
            word.flatMap(
                x -> word.flatMap(y -> two.map(z -> x + "k=" + x + " (" + y + ") '" + z + "'"))),
            word.flatMap(x -> two.flatMap(y -> two.map(z -> "k=" + x + ", l=" + y + " for " + z))));
    return text.list().ofMaxSize(40);
  }

  private static Set<String> generalize(String... texts) {
    return generalize(List.of(texts));
  }

  private static Set<String> generalize(List<String> texts) {
    var templateGeneralizer = new TemplateGeneralizer();
    texts.forEach(text -> templateGeneralizer.add(MessageShape.of(text)));
    return texts(templateGeneralizer);
  }

  static Set<String> texts(TemplateGeneralizer templateGeneralizer) {
    var texts = new TreeSet<String>();
    templateGeneralizer.templates().forEach(template -> texts.add(template.text()));
    return texts;
  }
}

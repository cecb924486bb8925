package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BodyAllowlistTest {
  private static boolean contains(BodyAllowlist list, String body) {
    var bytes = ("before" + body + "after").getBytes(UTF_8);
    return list.contains(bytes, 6, bytes.length - 11);
  }

  @ParameterizedTest
  @CsvSource({
    "Order placed, ORDER PLACED",
    "order placed, Order Placed",
    "STRASSE 7 [a@`{|}~z], strasse 7 [A@`{|}~Z]",
    "Überweisung erhalten, ÜBERWEISUNG ERHALTEN",
    "Заказ принят, ЗАКАЗ ПРИНЯТ",
    "kelvin, \u212Aelvin",
    "\u212Aelvin, KELVIN",
    "mi\u017F\u017Fing, MISSING",
    "\uD801\uDC00 deseret, \uD801\uDC28 DESERET",
  })
  void contains_otherCase_isTrue(String message, String body) {
    assertThat(contains(BodyAllowlist.of(List.of(message)), body)).isTrue();
    assertThat(message).isEqualToIgnoringCase(body);
  }

  @ParameterizedTest
  @CsvSource({
    "order placed, order placed!",
    "order placed, order place",
    "order placed, ' order placed'",
    "order placed, order-placed",
    "order placed, örder placed",
    "[a], {a}", // differ only in the bit that distinguishes upper and lower case letters
    "@, `",
    "Straße, STRASSE", // full case folding would change the length
  })
  void contains_almostTheSame_isFalse(String message, String body) {
    assertThat(contains(BodyAllowlist.of(List.of(message)), body)).isFalse();
  }

  @Test
  void contains_emptyText_isFalse() {
    assertThat(contains(BodyAllowlist.of(List.of("", "a")), "")).isFalse();
    assertThat(contains(BodyAllowlist.of(List.of()), "")).isFalse();
    assertThat(BodyAllowlist.of(List.of("", "a")).size()).isEqualTo(1);
  }

  @Test
  void contains_emptyList_isFalse() {
    assertThat(contains(BodyAllowlist.of(List.of()), "a")).isFalse();
  }

  @Test
  void size_sameMessageInOtherCase_countsOnce() {
    assertThat(BodyAllowlist.of(List.of("Paid", "PAID", "paid", "refunded")).size()).isEqualTo(2);
  }

  @Test
  void contains_anyTexts_agreesWithEqualsIgnoreCase() {
    var random = new SplittableRandom(7);
    var messages = new ArrayList<String>();
    for (int i = 0; i < 300; i++) {
      messages.add(text(random));
    }
    var list = BodyAllowlist.of(messages);
    int matches = 0;

    for (int i = 0; i < 20_000; i++) {
      var body = text(random);
      boolean expected =
          !body.isEmpty() && messages.stream().anyMatch(message -> message.equalsIgnoreCase(body));
      assertThat(contains(list, body)).as(body).isEqualTo(expected);
      matches += expected ? 1 : 0;
    }

    assertThat(matches).isBetween(1_000, 19_000);
  }

  /** Returns a text of few letters, short or with a long prefix, so that many texts are equal. */
  private static String text(SplittableRandom random) {
    var letters = "aAbB\u212AkÄä";
    var text = new StringBuilder(random.nextBoolean() ? "" : "A Long Part, ");
    int length = random.nextInt(5);
    for (int i = 0; i < length; i++) {
      text.append(letters.charAt(random.nextInt(letters.length())));
    }
    return text.toString();
  }
}

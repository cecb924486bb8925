package dev.sluice.redaction;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.re2j.Pattern;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One rule: a kind of sensitive value and its treatment.
 *
 * @param name the name in the replaced text and in metrics
 * @param detector the built-in detector; null for a pattern of the user
 * @param pattern the pattern in RE2 syntax; when it has a group, only the first group is sensitive
 * @param mask the text in place of a masked value, in UTF-8
 * @param keywords texts of which one is in every text that the pattern matches, so that other texts
 *     need no regular expression; empty for none
 * @param tenants the tenants to which the rule applies; empty for all
 */
public record RedactionRule(
    String name,
    @Nullable Detector detector,
    Pattern pattern,
    byte[] mask,
    List<byte[]> keywords,
    RedactionAction action,
    Set<String> tenants) {

  static RedactionRule of(Detector detector, RedactionAction action, Set<String> tenants) {
    var name = detector.ruleName();
    return new RedactionRule(
        name, detector, detector.pattern(), maskOf(name), List.of(), action, tenants);
  }

  /** Returns the rule of a pattern of the user. */
  static RedactionRule of(
      String name,
      Pattern pattern,
      List<byte[]> keywords,
      RedactionAction action,
      Set<String> tenants) {
    return new RedactionRule(name, null, pattern, maskOf(name), keywords, action, tenants);
  }

  private static byte[] maskOf(String name) {
    return ("[" + name + "]").getBytes(UTF_8);
  }

  boolean appliesTo(String tenant) {
    return tenants.isEmpty() || tenants.contains(tenant);
  }

  /** Whether the text can match, as far as the keywords tell. */
  boolean hasKeyword(byte[] bytes, int from, int to) {
    return keywords.isEmpty()
        || keywords.stream().anyMatch(word -> contains(bytes, from, to, word));
  }

  private static boolean contains(byte[] bytes, int from, int to, byte[] word) {
    for (int i = from; i <= to - word.length; i++) {
      if (Arrays.equals(bytes, i, i + word.length, word, 0, word.length)) {
        return true;
      }
    }
    return false;
  }
}

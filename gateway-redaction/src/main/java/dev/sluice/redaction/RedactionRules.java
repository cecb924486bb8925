package dev.sluice.redaction;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.ValueReplacer.Finder;
import dev.sluice.core.otlp.ValueReplacer.Replacement;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one tenant, in their order: where two match the same part, the match that begins
 * first counts, then the earlier rule. Immutable and thread-safe.
 */
final class RedactionRules implements Finder {
  private static final String HMAC = "HmacSHA256";
  private static final byte[] NOTHING = {};

  /** 64 bits: two of 100 million values have the same hash with a probability of 0.03 %. */
  private static final int HASH_BYTES = 8;

  private final List<RedactionRule> rules;
  private final @Nullable SecretKeySpec hashKey;
  private final Consumer<String> onHit;

  /** The {@linkplain Detector#bit bits} of the detectors in use. */
  private final int detectors;

  private RedactionRules(
      List<RedactionRule> rules, byte @Nullable [] hashKey, Consumer<String> onHit) {
    this.rules = List.copyOf(rules);
    this.hashKey = hashKey == null ? null : new SecretKeySpec(hashKey, HMAC);
    this.onHit = onHit;
    int bits = 0;
    for (var rule : rules) {
      bits |= rule.detector() == null ? 0 : rule.detector().bit();
    }
    this.detectors = bits;
  }

  /**
   * Returns the rules of a file that apply to a tenant.
   *
   * @param onHit called with the name of the rule for each value that is replaced
   */
  static RedactionRules of(RedactionFile file, String tenant, Consumer<String> onHit) {
    return new RedactionRules(
        file.rules().stream().filter(rule -> rule.appliesTo(tenant)).toList(),
        file.hashKey(),
        onHit);
  }

  boolean isEmpty() {
    return rules.isEmpty();
  }

  /** A match of a rule; the positions count from the start of the text. */
  private record Match(RedactionRule rule, int from, int to) {}

  @Override
  public List<Replacement> find(byte[] bytes, int from, int to) {
    int candidates = detectors == 0 ? 0 : detectors & CandidateScanner.candidates(bytes, from, to);
    List<Match> matches = List.of();
    byte[] text = null;
    for (var rule : rules) {
      var detector = rule.detector();
      boolean possible =
          detector == null ? rule.hasKeyword(bytes, from, to) : (candidates & detector.bit()) != 0;
      if (!possible) {
        continue;
      }
      if (text == null) {
        text = Arrays.copyOfRange(bytes, from, to);
        matches = new ArrayList<>();
      }
      addMatches(rule, text, matches);
    }
    return text == null || matches.isEmpty() ? List.of() : replacements(text, from, matches);
  }

  private static void addMatches(RedactionRule rule, byte[] text, List<Match> matches) {
    var detector = rule.detector();
    var matcher = rule.pattern().matcher(detector == null ? text : asciiOf(text));
    int group = Math.min(1, matcher.groupCount());
    for (int at = 0; at <= text.length && matcher.find(at); ) {
      int start = matcher.start(group);
      int end = matcher.end(group);
      if (detector != null) {
        end = detector.acceptedEnd(text, start, end);
      }
      if (end > start) {
        matches.add(new Match(rule, start, end));
        at = detector == null ? matcher.end() : end;
      } else {
        int next = matcher.start() + 1;
        at = detector == null ? next : afterDigits(text, next);
      }
    }
  }

  /**
   * Returns the text without bytes beyond ASCII, at the same positions: the patterns of the
   * detectors need none, and in bytes that are no UTF-8 they would hide the next characters.
   */
  private static byte[] asciiOf(byte[] text) {
    byte[] ascii = text;
    for (int i = 0; i < text.length; i++) {
      if (text[i] < 0) {
        if (ascii == text) {
          ascii = text.clone();
        }
        ascii[i] = 1;
      }
    }
    return ascii;
  }

  /** Returns the first position from {@code at} that does not continue a run of digits. */
  private static int afterDigits(byte[] text, int at) {
    int next = at; // no value of a detector begins within a number
    while (next < text.length && Detector.isDigit(text[next - 1]) && Detector.isDigit(text[next])) {
      next++;
    }
    return next;
  }

  private List<Replacement> replacements(byte[] text, int offset, List<Match> matches) {
    matches.sort(Comparator.comparingInt(Match::from)); // stable: keeps the order of the rules
    var replacements = new ArrayList<Replacement>();
    int end = 0;
    for (var match : matches) {
      if (match.from() >= end) {
        replacements.add(
            new Replacement(offset + match.from(), offset + match.to(), replacement(match, text)));
        onHit.accept(match.rule().name());
        end = match.to();
      }
    }
    return replacements;
  }

  private byte[] replacement(Match match, byte[] text) {
    return switch (match.rule().action()) {
      case DROP -> NOTHING;
      case MASK -> match.rule().mask();
      case HASH ->
          ("[" + match.rule().name() + ":" + hash(text, match.from(), match.to()) + "]")
              .getBytes(UTF_8);
    };
  }

  private String hash(byte[] text, int from, int to) {
    try {
      var mac = Mac.getInstance(HMAC);
      mac.init(hashKey);
      mac.update(text, from, to - from);
      return HexFormat.of().formatHex(mac.doFinal(), 0, HASH_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + HMAC, e);
    }
  }
}

package dev.sluice.core.templates;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;

/**
 * Applies the masks that were configured, in their order. Only messages whose key is not known come
 * here, so that masks cost nothing on the way of the others: several keys lead to one template.
 *
 * <p>A pattern that runs wild is given up after a number of looks at the text that grows only with
 * its length; then the text stays as it is, which is counted. Safe for use by many threads.
 */
final class ExtraMasks {
  /** Looks at a character that a pattern gets for each one of the text, and for none. */
  private static final int LOOKS_PER_CHARACTER = 200;

  private static final int LOOKS = 10_000;

  private final List<ExtraMask> masks;
  private final LongAdder givenUp;

  ExtraMasks(List<ExtraMask> masks, LongAdder givenUp) {
    this.masks = List.copyOf(masks);
    this.givenUp = givenUp;
  }

  int size() {
    return masks.size();
  }

  String apply(String service, String masked) {
    String text = masked;
    for (ExtraMask mask : masks) {
      if (mask.service() == null || mask.service().equals(service)) {
        text = apply(mask, text);
      }
    }
    return text;
  }

  private String apply(ExtraMask mask, String text) {
    try {
      var matcher = mask.pattern().matcher(new Watched(text, new Looks(text.length())));
      return matcher.replaceAll(Matcher.quoteReplacement(Shape.VALUE));
    } catch (TooManyLooks | StackOverflowError _) {
      givenUp.increment();
      return text;
    }
  }

  private static final class TooManyLooks extends RuntimeException {
    private static final long serialVersionUID = 1;

    TooManyLooks() {
      super("a pattern looked too often", null, false, false);
    }
  }

  private static final class Looks {
    private long left;

    Looks(int characters) {
      left = LOOKS + (long) LOOKS_PER_CHARACTER * characters;
    }

    void spend() {
      if (--left < 0) {
        throw new TooManyLooks();
      }
    }
  }

  /** A text that counts how often it is looked at, its parts included. */
  private record Watched(String text, Looks looks) implements CharSequence {
    @Override
    public int length() {
      return text.length();
    }

    @Override
    public char charAt(int index) {
      looks.spend();
      return text.charAt(index);
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      return new Watched(text.substring(start, end), looks);
    }

    @Override
    public String toString() {
      return text;
    }
  }
}

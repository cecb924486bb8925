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
final class CustomMasks {
  /** Looks at a character that a pattern gets for each one of the text, and for none. */
  private static final int STEPS_PER_CHARACTER = 200;

  private static final int BASE_STEPS = 10_000;

  private final List<CustomMask> masks;
  private final LongAdder budgetExceeded;

  CustomMasks(List<CustomMask> masks, LongAdder budgetExceeded) {
    this.masks = List.copyOf(masks);
    this.budgetExceeded = budgetExceeded;
  }

  int size() {
    return masks.size();
  }

  String apply(String service, String masked) {
    String text = masked;
    for (CustomMask mask : masks) {
      if (mask.service() == null || mask.service().equals(service)) {
        text = apply(mask, text);
      }
    }
    return text;
  }

  private String apply(CustomMask mask, String text) {
    try {
      var matcher =
          mask.pattern()
              .matcher(new StepCountingCharSequence(text, new RegexStepBudget(text.length())));
      return matcher.replaceAll(Matcher.quoteReplacement(MessageShape.PLACEHOLDER));
    } catch (RegexBudgetExceededException | StackOverflowError _) {
      budgetExceeded.increment();
      return text;
    }
  }

  private static final class RegexBudgetExceededException extends RuntimeException {
    private static final long serialVersionUID = 1;

    RegexBudgetExceededException() {
      super("a pattern looked too often", null, false, false);
    }
  }

  private static final class RegexStepBudget {
    private long remaining;

    RegexStepBudget(int characters) {
      remaining = BASE_STEPS + (long) STEPS_PER_CHARACTER * characters;
    }

    void spend() {
      if (--remaining < 0) {
        throw new RegexBudgetExceededException();
      }
    }
  }

  /** A text that counts how often it is looked at, its parts included. */
  private record StepCountingCharSequence(String text, RegexStepBudget budget)
      implements CharSequence {
    @Override
    public int length() {
      return text.length();
    }

    @Override
    public char charAt(int index) {
      budget.spend();
      return text.charAt(index);
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      return new StepCountingCharSequence(text.substring(start, end), budget);
    }

    @Override
    public String toString() {
      return text;
    }
  }
}

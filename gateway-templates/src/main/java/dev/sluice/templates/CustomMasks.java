package dev.sluice.templates;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;

/**
 * Applies the configured custom masks in their order. Only messages whose masked form is not cached
 * reach this class, so that custom masks cost nothing for the other messages; several masked forms
 * may lead to one template.
 *
 * <p>A pattern with excessive backtracking is aborted: it may read a number of characters that is
 * linear in the length of the text. The text then stays unchanged, and the abort is counted. Safe
 * for use by many threads.
 */
final class CustomMasks {
  /** Character reads that a pattern may make for each character of the text. */
  private static final int STEPS_PER_CHARACTER = 200;

  /** Character reads that a pattern may make in addition, whatever the length of the text. */
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
      super("custom mask exceeded its step budget", null, false, false);
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

  /** A text that counts the reads of its characters, including those of its subsequences. */
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

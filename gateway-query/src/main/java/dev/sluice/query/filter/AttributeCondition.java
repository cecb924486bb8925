package dev.sluice.query.filter;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * A condition on one attribute. Values are compared as the text with which they are stored.
 *
 * @param key exact name of the attribute
 * @param operator the comparison
 * @param values one for {@link Operator#EQUAL}, {@link Operator#NOT_EQUAL} and {@link
 *     Operator#PREFIX}, none for {@link Operator#EXISTS}, 1 to {@value #MAX_VALUES} for {@link
 *     Operator#IN}
 */
public record AttributeCondition(String key, Operator operator, List<String> values) {

  /** Maximum number of values of {@link Operator#IN}. */
  public static final int MAX_VALUES = 100;

  /** The comparison of an attribute. */
  public enum Operator {
    EQUAL,
    /** Matches a different value, and also a record without the attribute. */
    NOT_EQUAL,
    PREFIX,
    EXISTS,
    IN
  }

  /**
   * @throws IllegalArgumentException when the number of values does not fit the operator
   */
  public AttributeCondition {
    requireNonNull(key, "key");
    values = List.copyOf(values);
    boolean fits =
        switch (operator) {
          case EQUAL, NOT_EQUAL, PREFIX -> values.size() == 1;
          case EXISTS -> values.isEmpty();
          case IN -> !values.isEmpty() && values.size() <= MAX_VALUES;
        };
    if (!fits) {
      throw new IllegalArgumentException(values.size() + " values for " + operator);
    }
  }

  int length() {
    return key.length() + values.stream().mapToInt(String::length).sum();
  }

  public static AttributeCondition equal(String key, String value) {
    return new AttributeCondition(key, Operator.EQUAL, List.of(value));
  }
}

package dev.sluice.bench;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The bytes that one warm operation of a benchmark allocates, with the first value of each of its
 * parameters. {@code AllocationTest} fails when an operation allocates more than five percent above
 * this figure: then either the code allocates something new, or the figure needs a change with a
 * reason.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Allocates {
  double value();
}

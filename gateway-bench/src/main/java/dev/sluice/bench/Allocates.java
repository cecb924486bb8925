package dev.sluice.bench;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How many bytes an operation of a benchmark allocates once it is warm, with the first value of
 * each of its parameters. {@code AllocationTest} fails when there are five in a hundred more: then
 * something is made anew that was not before, or the figure here is to be changed with a reason.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Allocates {
  double value();
}

package dev.sluice.demo;

/** What a person gave cannot be used; the message says which thing, where and why. */
final class Unusable extends Exception {
  private static final long serialVersionUID = 1;

  Unusable(String message) {
    super(message);
  }
}

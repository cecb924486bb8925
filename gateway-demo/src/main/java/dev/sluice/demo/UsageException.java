package dev.sluice.demo;

/** What a person gave cannot be used; the message says which thing, where and why. */
final class UsageException extends Exception {
  private static final long serialVersionUID = 1;

  UsageException(String message) {
    super(message);
  }
}

package dev.sluice.tools;

/**
 * Thrown when an argument or a file of the user is invalid; the message names it, the position and
 * the reason.
 */
final class UsageException extends Exception {
  private static final long serialVersionUID = 1;

  UsageException(String message) {
    super(message);
  }
}

package dev.sluice.bench;

/** The environment variables that configure a report. A blank variable counts as unset. */
final class Environment {
  private Environment() {}

  static int number(String name, int defaultValue) {
    var text = text(name, "");
    return text.isEmpty() ? defaultValue : Integer.parseInt(text);
  }

  static String text(String name, String defaultValue) {
    var text = System.getenv().getOrDefault(name, "");
    return text.isBlank() ? defaultValue : text.strip();
  }
}

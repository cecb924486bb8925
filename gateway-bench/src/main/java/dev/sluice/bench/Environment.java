package dev.sluice.bench;

/** What a run is asked for, by variables of its environment. */
final class Environment {

  private Environment() {}

  static int setting(String name, int byDefault) {
    var text = text(name, "");
    return text.isEmpty() ? byDefault : Integer.parseInt(text);
  }

  static String text(String name, String byDefault) {
    var text = System.getenv().getOrDefault(name, "");
    return text.isBlank() ? byDefault : text.strip();
  }
}

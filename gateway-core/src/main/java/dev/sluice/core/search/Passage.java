package dev.sluice.core.search;

/**
 * A template and where it comes from, as texts a model can read.
 *
 * @param service empty when no log of it is known
 * @param component what of the service wrote it, such as the name of a logger; may be empty
 * @param template with {@code <*>} in the places of values
 * @param sample a message that has it; may be empty
 */
record Passage(String service, String component, String template, String sample) {
  /** A question has few words; what is far inside a long message is found by the text index. */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** Service, component and template, as they are written. */
  String asWritten() {
    var part = Wording.component(component);
    return from(part.isEmpty() ? service : service + " " + part) + Wording.withoutValues(template);
  }

  /** Service and template in plain words. */
  String inWords() {
    return from(service) + plainTemplate();
  }

  /** What its jargon is looked up by. */
  String jargon() {
    return (Wording.component(component) + " " + plainTemplate()).strip();
  }

  private String plainTemplate() {
    return Wording.plain(Wording.withoutValues(template));
  }

  private static String from(String origin) {
    return origin.isBlank() ? "" : origin.strip() + ": ";
  }

  /** All words in it, each once, with spaces between them. */
  String words() {
    var beginning = sample.substring(0, Math.min(sample.length(), SAMPLE_CHARACTERS));
    return String.join(
        " ",
        Wording.words(
            String.join(
                " ", service, component, Wording.component(component), template, beginning)));
  }
}

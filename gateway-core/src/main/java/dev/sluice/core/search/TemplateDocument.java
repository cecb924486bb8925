package dev.sluice.core.search;

/**
 * A template and where it comes from, as texts a model can read.
 *
 * @param service empty when no log of it is known
 * @param component what of the service wrote it, such as the name of a logger; may be empty
 * @param template with {@code <*>} in the places of values
 * @param sample a message that has it; may be empty
 */
record TemplateDocument(String service, String component, String template, String sample) {
  /** A question has few words; what is far inside a long message is found by the text index. */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** Service, component and template, as they are written. */
  String originalText() {
    var part = TextNormalizer.component(component);
    return originPrefix(part.isEmpty() ? service : service + " " + part)
        + TextNormalizer.withoutValues(template);
  }

  /** Service and template in plain words. */
  String plainText() {
    return originPrefix(service) + plainTemplate();
  }

  /** What its jargon is looked up by. */
  String glossaryKey() {
    return (TextNormalizer.component(component) + " " + plainTemplate()).strip();
  }

  private String plainTemplate() {
    return TextNormalizer.toPlainWords(TextNormalizer.withoutValues(template));
  }

  private static String originPrefix(String origin) {
    return origin.isBlank() ? "" : origin.strip() + ": ";
  }

  /** All words in it, each once, with spaces between them. */
  String words() {
    var beginning = sample.substring(0, Math.min(sample.length(), SAMPLE_CHARACTERS));
    return String.join(
        " ",
        TextNormalizer.words(
            String.join(
                " ",
                service,
                component,
                TextNormalizer.component(component),
                template,
                beginning)));
  }
}

package dev.sluice.query.search;

/**
 * A template with its origin, from which the texts for the embedding model are derived.
 *
 * @param service the service name; empty when no log record of the template is known
 * @param component the component of the service that writes the records, such as the name of a
 *     logger; may be empty
 * @param template the template, with {@code <*>} for each variable part
 * @param sample the body of a record of the template; may be empty
 */
record TemplateDocument(String service, String component, String template, String sample) {
  /**
   * Maximum number of characters of the sample whose words are indexed; words further inside a long
   * message are found by the text index.
   */
  private static final int SAMPLE_CHARACTERS = 2_000;

  /** Returns service, component and template as they are written. */
  String originalText() {
    var part = TextNormalizer.component(component);
    return originPrefix(part.isEmpty() ? service : service + " " + part)
        + TextNormalizer.withoutValues(template);
  }

  /** Returns service and template in plain words. */
  String plainText() {
    return originPrefix(service) + plainTemplate();
  }

  /** Returns the words for which the glossary is searched. */
  String glossaryKey() {
    return (TextNormalizer.component(component) + " " + plainTemplate()).strip();
  }

  private String plainTemplate() {
    return TextNormalizer.toPlainWords(TextNormalizer.withoutValues(template));
  }

  private static String originPrefix(String origin) {
    return origin.isBlank() ? "" : origin.strip() + ": ";
  }

  /** Returns all words of the document, each once, separated by spaces. */
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

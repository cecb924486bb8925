package dev.sluice.redaction;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;

/**
 * The rules of a YAML document:
 *
 * <pre>
 * hash-key: at least 16 characters, for the action hash
 * rules:
 *   - detector: card
 *     action: mask
 *   - name: employee
 *     pattern: 'EMP-[0-9]{6}'
 *     keywords: [EMP-]
 *     action: hash
 *     tenants: [acme]
 * </pre>
 *
 * @param hashKey the key of {@link RedactionAction#HASH}; null when the document has none
 */
public record RedactionFile(List<RedactionRule> rules, byte @Nullable [] hashKey) {
  private static final int MIN_KEY_BYTES = 16;
  private static final Set<String> FILE_FIELDS = Set.of("hash-key", "rules");
  private static final Set<String> RULE_FIELDS =
      Set.of("detector", "name", "pattern", "keywords", "action", "tenants");

  /**
   * Reads the rules.
   *
   * @throws InvalidRulesException when the document is invalid; the message says where
   */
  public static RedactionFile parse(String yaml) throws InvalidRulesException {
    Object document;
    try {
      document = new Yaml(new SafeConstructor(new LoaderOptions())).load(yaml);
    } catch (YAMLException e) {
      // the message of the original exception quotes the line, which may have the hash-key
      var mark = e instanceof MarkedYAMLException marked ? marked.getProblemMark() : null;
      throw invalid(
          "the file",
          mark == null ? "is not YAML" : "is not YAML, see line " + (mark.getLine() + 1));
    }
    var file = fields(document, "the file", FILE_FIELDS);
    var key = text(file, "hash-key", "the file");
    byte[] keyBytes = key == null ? null : key.getBytes(UTF_8);
    if (keyBytes != null && keyBytes.length < MIN_KEY_BYTES) {
      throw invalid("hash-key", "has fewer than " + MIN_KEY_BYTES + " bytes");
    }
    var rules = new ArrayList<RedactionRule>();
    var names = new HashSet<String>();
    for (var item : list(file, "rules", "the file")) {
      var rule = rule(item, "rule " + (rules.size() + 1));
      if (rule.action() == RedactionAction.HASH && keyBytes == null) {
        throw invalid(rule.name(), "has the action hash, and the file has no hash-key");
      }
      if (rule.tenants().isEmpty() && !names.add(rule.name())) {
        throw invalid(rule.name(), "is there twice");
      }
      rules.add(rule);
    }
    return new RedactionFile(rules, keyBytes);
  }

  private static RedactionRule rule(Object item, String place) throws InvalidRulesException {
    var fields = fields(item, place, RULE_FIELDS);
    var action = action(text(fields, "action", place), place);
    var tenants = Set.copyOf(texts(fields, "tenants", place));
    var detectorName = text(fields, "detector", place);
    var name = text(fields, "name", place);
    var pattern = text(fields, "pattern", place);
    if (detectorName != null) {
      if (name != null || pattern != null || fields.containsKey("keywords")) {
        throw invalid(place, "has a detector and a name, a pattern or keywords");
      }
      var detector = Detector.of(detectorName);
      if (detector == null) {
        throw invalid(
            place,
            "has the detector '%s', must be one of %s"
                .formatted(
                    detectorName,
                    Arrays.stream(Detector.values())
                        .map(Detector::ruleName)
                        .collect(Collectors.joining(", "))));
      }
      return RedactionRule.of(detector, action, tenants);
    }
    if (name == null || pattern == null || !name.matches("[a-z][a-z0-9-]{0,39}")) {
      throw invalid(
          place,
          "needs a detector, or a pattern and a name of lower-case letters, digits and hyphens");
    }
    var keywords =
        texts(fields, "keywords", place).stream().map(word -> word.getBytes(UTF_8)).toList();
    return RedactionRule.of(name, compile(pattern, place), keywords, action, tenants);
  }

  private static Pattern compile(String pattern, String place) throws InvalidRulesException {
    try {
      var compiled = Pattern.compile(pattern);
      if (compiled.matcher("").matches()) {
        throw invalid(place, "has a pattern that matches the empty text");
      }
      return compiled;
    } catch (PatternSyntaxException e) {
      throw new InvalidRulesException(place + " has an invalid pattern: " + e.getMessage(), e);
    }
  }

  private static RedactionAction action(@Nullable String action, String place)
      throws InvalidRulesException {
    for (var known : RedactionAction.values()) {
      if (known.name().toLowerCase(Locale.ROOT).equals(action)) {
        return known;
      }
    }
    throw invalid(place, "has the action '" + action + "', must be drop, mask or hash");
  }

  private static Map<?, ?> fields(@Nullable Object value, String place, Set<String> known)
      throws InvalidRulesException {
    if (!(value instanceof Map<?, ?> fields)) {
      throw invalid(
          place, "must have the fields " + String.join(", ", known.stream().sorted().toList()));
    }
    for (var field : fields.keySet()) {
      if (!known.contains(String.valueOf(field))) {
        throw invalid(place, "has the unknown field '" + field + "'");
      }
    }
    return fields;
  }

  private static @Nullable String text(Map<?, ?> fields, String field, String place)
      throws InvalidRulesException {
    var value = fields.get(field);
    if (value != null && !(value instanceof String)) {
      throw invalid(place, "has a " + field + " that is no text");
    }
    return (String) value;
  }

  private static List<String> texts(Map<?, ?> fields, String field, String place)
      throws InvalidRulesException {
    var texts = new ArrayList<String>();
    for (var item : list(fields, field, place)) {
      if (!(item instanceof String text) || text.isEmpty()) {
        throw invalid(place, "has " + field + " that are no texts");
      }
      texts.add(text);
    }
    return texts;
  }

  private static List<?> list(Map<?, ?> fields, String field, String place)
      throws InvalidRulesException {
    var value = fields.get(field);
    if (value == null) {
      return List.of();
    }
    if (!(value instanceof List<?> list)) {
      throw invalid(place, "has " + field + " that are no list");
    }
    return list;
  }

  private static InvalidRulesException invalid(String place, String problem) {
    return new InvalidRulesException(place + " " + problem, null);
  }
}

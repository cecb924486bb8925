package dev.sluice.api.security;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Base64;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The header {@code Authorization}, in the forms in which clients and agents send a key or a token:
 * {@code Bearer}, {@code Splunk} (clients of the HTTP event collector), and {@code Basic} with the
 * key as the password and any user name.
 */
final class AuthorizationHeader {
  /** Tokens of identity providers are at most a few kilobytes. */
  private static final int MAX_LENGTH = 16 << 10;

  private AuthorizationHeader() {}

  /**
   * Returns the credential; null when there is none, more than one, or one in another form.
   *
   * @param values all values of the header
   */
  static @Nullable String credential(List<String> values) {
    if (values.size() != 1) {
      return null;
    }
    var value = values.getFirst();
    int space = value.indexOf(' ');
    if (space < 0 || value.length() > MAX_LENGTH) {
      return null;
    }
    var credential = value.substring(space + 1).strip();
    return switch (value.substring(0, space).toLowerCase(Locale.ROOT)) {
      case "bearer", "splunk" -> credential.isEmpty() ? null : credential;
      case "basic" -> password(credential);
      default -> null;
    };
  }

  private static @Nullable String password(String base64) {
    String userAndPassword;
    try {
      userAndPassword = new String(Base64.getDecoder().decode(base64), UTF_8);
    } catch (IllegalArgumentException _) {
      return null;
    }
    int colon = userAndPassword.indexOf(':');
    var password = userAndPassword.substring(colon + 1);
    return colon < 0 || password.isEmpty() ? null : password;
  }
}

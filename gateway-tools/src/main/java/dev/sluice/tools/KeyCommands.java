package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.NullUnmarked;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The commands {@code sluice key}: they change the file of API keys, and a gateway reloads it. */
@Command(
    name = "key",
    header = "Creates, lists and revokes the API keys in a file of keys.",
    description = "A gateway with sluice.security.keys-file reloads the file within seconds.",
    synopsisSubcommandLabel = "COMMAND")
final class KeyCommands {
  private KeyCommands() {}

  static CommandLine create(PrintStream out, PrintStream err, InstantSource clock) {
    return new CommandLine(new KeyCommands())
        .addSubcommand(new CreateCommand(out, err, clock))
        .addSubcommand(new ListCommand(out, clock))
        .addSubcommand(new RevokeCommand(err));
  }

  private enum KeyScope {
    INGEST,
    READ,
    ADMIN
  }

  @Command(name = "create", header = "Creates a key, prints it once and adds its hash to the file.")
  @NullUnmarked // picocli fills the fields
  private static final class CreateCommand implements Callable<Integer> {
    private static final Pattern TENANT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");
    private static final Pattern LIFETIME = Pattern.compile("([1-9][0-9]{0,4})([hd])");
    private static final int KEY_BYTES = 32;

    private final PrintStream out;
    private final PrintStream err;
    private final InstantSource clock;

    @Option(names = "--keys-file", required = true, paramLabel = "FILE", description = "The file.")
    private Path file;

    @Option(
        names = "--tenant",
        description = "The tenant whose logs the key writes and reads; not with the scope admin.")
    private String tenant;

    @Option(
        names = "--scope",
        required = true,
        split = ",",
        description = "ingest, read or both; or admin for the management endpoints.")
    private List<KeyScope> scopes;

    @Option(names = "--expires", description = "The lifetime, such as 90d or 12h; unset for ever.")
    private String lifetime;

    @Option(names = "--name", defaultValue = "", description = "A description of the key.")
    private String name;

    CreateCommand(PrintStream out, PrintStream err, InstantSource clock) {
      this.out = out;
      this.err = err;
      this.clock = clock;
    }

    @Override
    public Integer call() throws IOException, UsageException {
      boolean admin = scopes.contains(KeyScope.ADMIN);
      if (admin ? tenant != null || scopes.stream().distinct().count() > 1 : tenant == null) {
        throw new UsageException("--tenant is required for ingest and read; admin stands alone");
      }
      if (!admin && !TENANT.matcher(tenant).matches()) {
        throw new UsageException(
            "--tenant must be 1 to 64 letters, digits, dots, underscores and hyphens");
      }
      var bytes = new byte[KEY_BYTES];
      new SecureRandom().nextBytes(bytes);
      var key = "sluice_" + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
      var entry =
          new KeyFile.Entry(
              "sha256:" + sha256(key),
              admin ? "*" : tenant,
              scopes.stream()
                  .distinct()
                  .map(scope -> scope.name().toLowerCase(Locale.ROOT))
                  .toList(),
              lifetime == null
                  ? null
                  : clock.instant().plus(parseLifetime(lifetime)).truncatedTo(ChronoUnit.SECONDS),
              name);
      var keys = new KeyFile(file);
      var entries = new ArrayList<>(keys.read());
      entries.add(entry);
      keys.write(entries);
      err.println("key " + entry.id() + " added to " + file + "; it is not shown again:");
      out.println(key);
      return 0;
    }

    private static Duration parseLifetime(String text) throws UsageException {
      var parts = LIFETIME.matcher(text);
      if (!parts.matches()) {
        throw new UsageException("--expires must be like 90d or 12h");
      }
      long number = Long.parseLong(parts.group(1));
      return parts.group(2).equals("d") ? Duration.ofDays(number) : Duration.ofHours(number);
    }

    private static String sha256(String key) {
      try {
        return HexFormat.of()
            .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(US_ASCII)));
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("every JDK has SHA-256", e);
      }
    }
  }

  @Command(name = "list", header = "Lists the keys of the file, without secrets.")
  @NullUnmarked // picocli fills the fields
  private static final class ListCommand implements Callable<Integer> {
    private final PrintStream out;
    private final InstantSource clock;

    @Option(names = "--keys-file", required = true, paramLabel = "FILE", description = "The file.")
    private Path file;

    ListCommand(PrintStream out, InstantSource clock) {
      this.out = out;
      this.clock = clock;
    }

    @Override
    public Integer call() throws IOException, UsageException {
      for (var entry : new KeyFile(file).read()) {
        var expires = entry.expires();
        out.println(
            "%s  %s  %s  %s  %s"
                .formatted(
                    entry.id(),
                    entry.tenant(),
                    String.join(",", entry.scopes()),
                    expires == null
                        ? "never expires"
                        : (expires.isAfter(clock.instant()) ? "expires " : "expired ") + expires,
                    entry.name())
                .stripTrailing());
      }
      return 0;
    }
  }

  @Command(name = "revoke", header = "Removes a key from the file.")
  @NullUnmarked // picocli fills the fields
  private static final class RevokeCommand implements Callable<Integer> {
    private final PrintStream err;

    @Option(names = "--keys-file", required = true, paramLabel = "FILE", description = "The file.")
    private Path file;

    @Parameters(paramLabel = "ID", description = "The id of the key, as list shows it.")
    private String id;

    RevokeCommand(PrintStream err) {
      this.err = err;
    }

    @Override
    public Integer call() throws IOException, UsageException {
      var keys = new KeyFile(file);
      var entries = new ArrayList<>(keys.read());
      if (!entries.removeIf(entry -> entry.id().equals(id))) {
        throw new UsageException(file + " has no key " + id);
      }
      keys.write(entries);
      err.println("key " + id + " revoked");
      return 0;
    }
  }
}

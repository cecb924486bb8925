package dev.sluice.tools;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The command {@code sluice engines password}. */
@Command(
    name = "password",
    header = "Prints the generated password of a managed engine.",
    description = {
      "The user of ClickHouse for people is sluice_reader. A password that"
          + " SLUICE_CLICKHOUSE_PASSWORD sets is in no file."
    })
final class EnginesPasswordCommand implements Callable<Integer> {

  /** A user of a managed engine, and the file with its password. */
  private enum Account {
    /** The user of ClickHouse who can only read, {@code sluice_reader}. */
    READER("clickhouse/reader-password"),
    /** The user of ClickHouse that the gateway is. */
    GATEWAY("clickhouse/password"),
    REDIS("redis/password");

    private final String file;

    Account(String file) {
      this.file = file;
    }
  }

  @Parameters(
      arity = "0..1",
      defaultValue = "reader",
      paramLabel = "ACCOUNT",
      description = "reader, gateway or redis; ${DEFAULT-VALUE} when absent.")
  Account account = Account.READER;

  @Option(
      names = "--data-dir",
      paramLabel = "DIR",
      defaultValue = "${env:SLUICE_ENGINES_DATADIR:-data}",
      description =
          "The value of sluice.engines.data-dir: $SLUICE_ENGINES_DATADIR, or data when absent.")
  Path dataDir = Path.of("data");

  private final PrintStream out;

  EnginesPasswordCommand(PrintStream out) {
    this.out = out;
  }

  @Override
  public Integer call() throws IOException {
    var file = dataDir.resolve(account.file);
    try {
      out.println(Files.readString(file).strip());
      return 0;
    } catch (NoSuchFileException e) {
      throw new IOException(
          "no file %s: the gateway has not generated this password".formatted(file), e);
    }
  }
}

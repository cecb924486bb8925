package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.net.URI;
import java.time.InstantSource;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.TypeConversionException;
import tools.jackson.core.JacksonException;

/** The program {@code bin/sluice}; its subcommands are the classes named {@code …Command}. */
@Command(
    name = "sluice",
    header = "The command line of Sluice, a log ingestion gateway.",
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:success",
      "1:a failure, or an incomplete result; the error output has the reason",
      "2:an option, an argument or a file is invalid"
    })
public final class SluiceCommand {
  private static final String URL_FORMAT = "it must be like http://127.0.0.1:8080";

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      scope = ScopeType.INHERIT,
      description = "Show this help and exit.")
  boolean help;

  private SluiceCommand() {}

  /** The commands that read a write-ahead log. */
  @Command(
      name = "wal",
      header = "Reads the write-ahead log of a gateway from its files.",
      synopsisSubcommandLabel = "COMMAND")
  private static final class WalCommand {}

  /** The commands for the managed engines. */
  @Command(
      name = "engines",
      header = "Describes the Redis and the ClickHouse that the gateway starts.",
      synopsisSubcommandLabel = "COMMAND")
  private static final class EnginesCommand {}

  /** Runs a command and exits with the status of {@link #run}. */
  public static void main(String[] arguments) {
    // without autoflush, which would write each line of a long output by itself
    var out =
        new PrintStream(
            new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16),
            false,
            UTF_8);
    int status = run(List.of(arguments), System.in, out, System.err);
    out.flush();
    System.exit(status);
  }

  /**
   * Runs a command.
   *
   * @param arguments the name of the command, its options and arguments
   * @param in the input of commands that read it
   * @param out the stream for results
   * @param err the stream for errors
   * @return 0 on success, 1 on a failure, 2 when the arguments or files are invalid
   */
  public static int run(List<String> arguments, InputStream in, PrintStream out, PrintStream err) {
    return new CommandLine(new SluiceCommand())
        .addSubcommand(new SendCommand(in, out, err))
        .addSubcommand(new CommandLine(new WalCommand()).addSubcommand(new WalCatCommand(out, err)))
        .addSubcommand(
            new CommandLine(new EnginesCommand()).addSubcommand(new EnginesPasswordCommand(out)))
        .addSubcommand(KeyCommands.create(out, err, InstantSource.system()))
        .addSubcommand(new EvalCommand(out, err))
        .addSubcommand(new DemoCommand(out, err))
        .registerConverter(URI.class, new GatewayUrlConverter())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setOut(new PrintWriter(out, true, UTF_8))
        .setErr(new PrintWriter(err, true, UTF_8))
        .setParameterExceptionHandler(SluiceCommand::reportUsage)
        .setExecutionExceptionHandler(
            (failure, _, _) -> {
              out.flush(); // a terminal shows both streams in their order
              return report(failure, err);
            })
        .execute(arguments.toArray(String[]::new));
  }

  private static int reportUsage(ParameterException failure, String[] arguments) {
    var command = failure.getCommandLine();
    var spec = command.getCommandSpec();
    command.getErr().println(failure.getMessage());
    command.getErr().println("Try '" + spec.qualifiedName() + " --help'.");
    return spec.exitCodeOnInvalidInput();
  }

  private static int report(Exception failure, PrintStream err) throws Exception {
    return switch (failure) {
      case UsageException usage -> {
        err.println(usage.getMessage());
        yield 2;
      }
      case IOException _, JacksonException _ -> {
        err.println(failure.getMessage() == null ? failure.toString() : failure.getMessage());
        yield 1;
      }
      default -> throw failure;
    };
  }

  /** Converts the URL of a server, which has a host and the scheme http or https. */
  private static final class GatewayUrlConverter implements ITypeConverter<URI> {
    @Override
    public URI convert(String text) {
      try {
        var url = URI.create(text);
        if (url.getHost() != null && url.getScheme().matches("https?")) {
          return url;
        }
      } catch (IllegalArgumentException _) {
        // the exception below has the message
      }
      throw new TypeConversionException("'" + text + "'; " + URL_FORMAT);
    }
  }
}

package dev.sluice.engines;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The platform of this machine and the environment variables of this process. */
record SystemEnvironment(Map<String, String> variables, String platform) {

  static SystemEnvironment current() {
    return new SystemEnvironment(
        System.getenv(), platform(System.getProperty("os.name"), System.getProperty("os.arch")));
  }

  /** Returns the platform, for example {@code linux-x64}. */
  private static String platform(String os, String arch) {
    String system = os.toLowerCase(Locale.ROOT);
    if (system.startsWith("mac")) {
      system = "darwin";
    }
    return system
        + "-"
        + switch (arch) {
          case "amd64", "x86_64" -> "x64";
          case "aarch64" -> "arm64";
          default -> arch;
        };
  }

  @Nullable String variable(String name) {
    String value = variables.get(name);
    return value == null || value.isBlank() ? null : value;
  }

  /** Returns the executable of this name that a shell would find on the PATH, or null. */
  @Nullable Path findExecutable(String name) {
    for (String folder : variables.getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
      // an empty or relative entry means the working directory: a user who may write there could
      // make the gateway run a program of that user
      Path candidate = Path.of(folder, name);
      if (candidate.isAbsolute()
          && Files.isRegularFile(candidate)
          && Files.isExecutable(candidate)) {
        return candidate;
      }
    }
    return null;
  }

  /**
   * Reduces the environment of an engine process to the variables that an engine needs. It removes
   * the secrets of the gateway and the variables that change settings of JVMs and of ClickHouse.
   *
   * @param target the environment of the new process, which is replaced
   */
  void restrict(Map<String, String> target) {
    Map<String, String> allowed = new TreeMap<>();
    for (String name : new String[] {"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"}) {
      String value = variables.get(name);
      if (value != null) {
        allowed.put(name, value);
      }
    }
    allowed.put("TZ", "UTC"); // local mode reads its time zone only from TZ
    target.clear();
    target.putAll(allowed);
  }
}

package dev.sluice.engines;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What this machine offers: its kind and the variables this process was started with. */
record SystemEnvironment(Map<String, String> variables, String platform) {

  static SystemEnvironment current() {
    return new SystemEnvironment(
        System.getenv(), platform(System.getProperty("os.name"), System.getProperty("os.arch")));
  }

  /** For example {@code linux-x64}. */
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

  /** The executable of that name which a shell would find, or null. */
  @Nullable Path findExecutable(String name) {
    for (String folder : variables.getOrDefault("PATH", "").split(File.pathSeparator, -1)) {
      // an empty or relative entry means the working directory: whoever may write there could
      // otherwise make us run their program
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
   * Leaves in {@code variables} only what an engine needs: no secret of the gateway, and none of
   * the settings by which JVMs and ClickHouse can be changed from outside.
   */
  void restrict(Map<String, String> target) {
    Map<String, String> allowed = new TreeMap<>();
    for (String name : new String[] {"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"}) {
      String value = variables.get(name);
      if (value != null) {
        allowed.put(name, value);
      }
    }
    allowed.put("TZ", "UTC"); // the one way to tell ClickHouse in local mode
    target.clear();
    target.putAll(allowed);
  }
}

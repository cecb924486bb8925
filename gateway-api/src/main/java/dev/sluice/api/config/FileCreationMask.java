package dev.sluice.api.config;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The umask of this process. The JDK has no other means by which all files get their permissions
 * when they are created, those of libraries included: the log file and its archives contain parts
 * of logs.
 */
final class FileCreationMask {
  private static final int OWNER_ONLY = 0077;

  private FileCreationMask() {}

  /** Makes new files and directories accessible for the user of this process only. */
  static void setOwnerOnly() {
    try {
      var linker = Linker.nativeLinker();
      var umask = linker.defaultLookup().find("umask");
      if (umask.isPresent()) { // not on Windows
        int _ =
            (int)
                linker
                    .downcallHandle(umask.get(), FunctionDescriptor.of(JAVA_INT, JAVA_INT))
                    .invokeExact(OWNER_ONLY);
      }
    } catch (Throwable e) {
      logger().warn("files of the gateway get the permissions of the umask: {}", e.toString());
    }
  }

  /** Returns the logger, which would create the log file. */
  private static Logger logger() {
    return LoggerFactory.getLogger(FileCreationMask.class);
  }
}

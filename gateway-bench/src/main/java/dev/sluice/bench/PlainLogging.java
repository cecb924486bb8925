package dev.sluice.bench;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.FileAppender;
import java.util.concurrent.locks.LockSupport;

/**
 * A program that logs the events of {@link LoggingReport} to a file with Logback. Its arguments are
 * the file, the level, the events per second and the seconds.
 */
public final class PlainLogging {
  private static final int BURST = 500;

  private PlainLogging() {}

  public static void main(String[] arguments) {
    var context = new LoggerContext();
    context.setMDCAdapter(new LogbackMDCAdapter()); // without it nothing is appended
    var encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern("%d{yyyy-MM-dd'T'HH:mm:ss.SSS} %-5level %logger{0} - %msg%n");
    encoder.start();
    var appender = new FileAppender<ILoggingEvent>();
    appender.setContext(context);
    appender.setFile(arguments[0]);
    appender.setEncoder(encoder);
    appender.start();
    var logger = context.getLogger("consensus");
    logger.setLevel(Level.valueOf(arguments[1]));
    logger.addAppender(appender);

    int perSecond = Integer.parseInt(arguments[2]);
    long events = (long) perSecond * Integer.parseInt(arguments[3]);
    long startNanos = System.nanoTime();
    for (long n = 0; n < events; n++) {
      if (n % BURST == 0) {
        long due = startNanos + n * 1_000_000_000L / perSecond;
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
      }
      if (Events.isDebug(n)) {
        logger.debug(Events.FORMAT, Events.fields(n));
      } else {
        logger.info(Events.FORMAT, Events.fields(n));
      }
    }
    appender.stop();
  }
}

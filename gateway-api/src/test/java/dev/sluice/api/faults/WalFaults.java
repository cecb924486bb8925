package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.verify;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import com.github.luben.zstd.ZstdInputStream;
import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.TestSite.SitePlan;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;

/** Faults of the write-ahead log. */
final class WalFaults {
  private static final int MAX_LOGS_BEFORE_FAULT = 2_500;
  private static final int KILLS = 50;
  private static final int DISK_MIB = 48;
  private static final String SMALL_MIN_FREE_DISK = "--sluice.wal.min-free-disk=8MB";
  private static final String ZERO_HIGH_WATERMARK = "--sluice.wal.retained-bytes-high-watermark=0B";
  private static final String ZERO_LOW_WATERMARK = "--sluice.wal.retained-bytes-low-watermark=0B";

  /** Logs that do not compress, so that a small disk is full within seconds. */
  private static final Workload.LoadProfile BULKY =
      new Workload.LoadProfile(4, 50, Duration.ofMillis(50), 600);

  private static final Pattern FULL = Pattern.compile("spool unavailable for durable writes");
  private static final Pattern INDEX_LINE =
      Pattern.compile("\"off\":(\\d+),\"len\":(\\d+),\"recs\":(\\d+)");
  private static final Pattern QUARANTINED = Pattern.compile("\"quarantined\":\\[\\{");
  private static final Pattern NODE_LOCKED = Pattern.compile("another process");

  private WalFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of(
            "both-down",
            1,
            SitePlan.REDIS_THEN_WAL
                .withWalDisk(DISK_MIB, SMALL_MIN_FREE_DISK, ZERO_HIGH_WATERMARK, ZERO_LOW_WATERMARK)
                .rate(BULKY),
            WalFaults::bothDown),
        Fault.of("wal-kill", KILLS, SitePlan.WAL_ONLY, WalFaults::killGateway),
        Fault.of(
            "wal-disk-full",
            1,
            SitePlan.WAL_ONLY
                .withWalDisk(DISK_MIB, SMALL_MIN_FREE_DISK, ZERO_HIGH_WATERMARK, ZERO_LOW_WATERMARK)
                .rate(BULKY),
            WalFaults::fillWalDisk),
        Fault.of("wal-torn", 5, SitePlan.WAL_ONLY, WalFaults::appendPartialFrame),
        Fault.of("wal-bit", 3, SitePlan.WAL_ONLY, WalFaults::flipBit),
        Fault.of("wal-node-twice", 1, SitePlan.WAL_ONLY, WalFaults::startSecondProcess));
  }

  private static String bothDown(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(1_000);
    site.redis().kill();
    site.redis().stop();
    site.clickHouse().stop();
    var ballast = fillDisk(site.walDir());
    try {
      int refused = round.workload().refused();
      round.workload().awaitRejected(20);
      verify(round.workload().refused() > refused, "no response has status 503");
      site.awaitLogMatch(FULL, 0);
    } finally {
      round.markFaultEnd();
      Files.delete(ballast);
    }
    site.redis().restart();
    site.clickHouse().restart();
    return "Redis unavailable, disk full, 503";
  }

  private static Path fillDisk(Path folder) throws IOException {
    var ballast = folder.resolve("ballast");
    var block = new byte[64 << 10];
    try (var out = Files.newOutputStream(ballast)) {
      while (true) {
        out.write(block);
      }
    } catch (IOException _) {
      return ballast;
    }
  }

  private static String killGateway(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int status = round.site().gateway().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    round.markFaultEnd();
    round.site().gateway().start();
    round.site().gateway().awaitReady();
    round.workload().awaitAcknowledged(1);
    verify(walReaderAgrees(round.site()), "the independent reader finds a fault");
    return "killed by SIGKILL, every frame matches its index line";
  }

  /** Runs a reader that shares no code with the gateway, and returns whether it finds no fault. */
  private static boolean walReaderAgrees(TestSite site) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("../bin/wal-reader", nodeDir(site).toString()));
    if (site.gateway().isAlive()) {
      command.add("--live"); // the gateway may be about to write an index line
    }
    var reader = new ProcessBuilder(command).redirectErrorStream(true).start();
    var output = new String(reader.getInputStream().readAllBytes(), UTF_8);
    boolean agrees = reader.waitFor() == 0;
    verify(agrees || output.contains("faults"), output);
    return agrees;
  }

  private static Path nodeDir(TestSite site) throws IOException {
    try (var nodes = Files.list(site.walDir().resolve("log.wal"))) {
      return nodes.findFirst().orElseThrow();
    }
  }

  private static String fillWalDisk(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(1_000);
    site.clickHouse().stop();
    round.workload().awaitRejected(20);
    site.awaitLogMatch(FULL, 0);
    var ballast = fillDisk(site.walDir()); // other files use the rest of the disk
    round.workload().awaitRejected(20);
    round.markFaultEnd();
    site.clickHouse().restart();
    site.gateways().forEach(GatewayUnderTest::awaitLive);
    await("a drained write-ahead log on a full disk")
        .atMost(Duration.ofSeconds(60))
        .until(() -> site.spoolEntries() == 0);
    Files.delete(ballast);
    return "full, requests rejected, drained without a restart";
  }

  /** Appends half a frame to the segment, as a crash of the machine can leave it. */
  private static String appendPartialFrame(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    int status = site.gateway().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    var segment = newestSegment(site.walDir());
    var last = lines(segment).getLast();
    var bytes = Files.readAllBytes(segment);
    int begin = Math.toIntExact(last.offset());
    Files.write(
        segment,
        Arrays.copyOfRange(bytes, begin, begin + last.length() / 2),
        StandardOpenOption.APPEND);
    Files.writeString(indexFile(segment), "{\"file\":\"seg", StandardOpenOption.APPEND);
    verify(!walReaderAgrees(site), "the independent reader does not find the fault");
    round.markFaultEnd();
    site.gateway().start();
    site.gateway().awaitReady();
    round.workload().awaitAcknowledged(MAX_LOGS_BEFORE_FAULT);
    verify(walReaderAgrees(site), "the independent reader finds a fault");
    return "a partial frame and a partial index line at the end";
  }

  /** The location of a frame. */
  private record FrameLocation(long offset, int length, int records) {}

  private static List<FrameLocation> lines(Path segment) throws IOException {
    return INDEX_LINE
        .matcher(Files.readString(indexFile(segment)))
        .results()
        .map(
            line ->
                new FrameLocation(
                    Long.parseLong(line.group(1)),
                    Integer.parseInt(line.group(2)),
                    Integer.parseInt(line.group(3))))
        .toList();
  }

  private static Path indexFile(Path segment) {
    return segment.resolveSibling(
        segment.getFileName().toString().replaceFirst("\\.wal\\..*$", ".wal.idx"));
  }

  private static Path newestSegment(Path wal) throws IOException {
    try (var files = Files.walk(wal)) {
      return files
          .filter(file -> file.toString().endsWith(".wal.zst"))
          .filter(file -> !file.toString().contains("quarantine"))
          .max(Comparator.naturalOrder())
          .orElseThrow();
    }
  }

  /**
   * Flips a bit in the last frame but one, which is not delivered because ClickHouse is
   * unavailable.
   */
  private static String flipBit(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    site.awaitStored();
    site.clickHouse().stop();
    round.workload().awaitAcknowledged(2 * MAX_LOGS_BEFORE_FAULT);
    int status = site.gateway().kill();
    verify(status == GatewayUnderTest.SIGKILL_EXIT_STATUS, "exit status " + status);
    var segment = newestSegment(site.walDir());
    var lines = lines(segment);
    var target = lines.get(lines.size() - 2);
    try (var file = new RandomAccessFile(segment.toFile(), "rw")) {
      var frame = new byte[target.length()];
      file.seek(target.offset());
      file.readFully(frame);
      site.markQuarantined(numbersIn(site, frame));
      long at = target.offset() + target.length() / 2;
      file.seek(at);
      int old = file.read();
      file.seek(at);
      file.write(old ^ 1 << round.random().nextInt(8));
    }
    round.markFaultEnd();
    site.gateway().start();
    site.clickHouse().restart();
    await("a quarantined frame")
        .atMost(Duration.ofSeconds(60))
        .ignoreExceptions()
        .until(() -> QUARANTINED.matcher(site.gateway().get("/actuator/wal")).find());
    return "one bit of a frame, which is quarantined";
  }

  private static BitSet numbersIn(TestSite site, byte[] frame) throws IOException {
    var found = new BitSet();
    try (var lines = new ZstdInputStream(new ByteArrayInputStream(frame))) {
      Pattern.compile(Pattern.quote(site.sequence().run()) + " (\\d+) ")
          .matcher(new String(lines.readAllBytes(), UTF_8))
          .results()
          .forEach(number -> found.set(Integer.parseInt(number.group(1))));
    }
    verify(!found.isEmpty(), "the frame has no log");
    return found;
  }

  private static String startSecondProcess(Round round) throws IOException, InterruptedException {
    round.awaitRandomProgress(MAX_LOGS_BEFORE_FAULT);
    try (var twin = round.site().gateway().duplicate()) {
      twin.start();
      int status = twin.awaitExit(Duration.ofSeconds(60));
      verify(status != 0, "exit status " + status);
      verify(NODE_LOCKED.matcher(twin.log()).find(), "the log does not have the reason");
    }
    round.markFaultEnd();
    return "a second process of the same node exited and logged the reason";
  }
}

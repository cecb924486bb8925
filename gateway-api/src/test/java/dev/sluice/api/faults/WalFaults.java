package dev.sluice.api.faults;

import static dev.sluice.api.faults.Fault.Round.proven;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import com.github.luben.zstd.ZstdInputStream;
import dev.sluice.api.faults.Fault.Round;
import dev.sluice.api.faults.Site.Plan;
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

/** The write-ahead log, and what may happen to it. */
final class WalFaults {
  private static final int MOMENT = 2_500;
  private static final int KILLS = 50;
  private static final int DISK_MIB = 48;
  private static final String LITTLE_HEADROOM = "--sluice.wal.headroom=8MB";
  private static final String NOTHING_KEPT = "--sluice.wal.keep-high=0B";
  private static final String NOTHING_LEFT = "--sluice.wal.keep-low=0B";

  /** Logs that do not compress, so that a small disk fills within seconds. */
  private static final Load.Rate BULKY = new Load.Rate(4, 50, Duration.ofMillis(50), 600);

  private static final Pattern FULL = Pattern.compile("durable logs are turned away");
  private static final Pattern INDEX_LINE =
      Pattern.compile("\"off\":(\\d+),\"len\":(\\d+),\"recs\":(\\d+)");
  private static final Pattern QUARANTINED = Pattern.compile("\"quarantined\":\\[\\{");
  private static final Pattern TAKEN = Pattern.compile("another process");

  private WalFaults() {}

  static List<Fault> all() {
    return List.of(
        Fault.of(
            "both-down",
            1,
            Plan.BOTH
                .smallWalDisk(DISK_MIB, LITTLE_HEADROOM, NOTHING_KEPT, NOTHING_LEFT)
                .rate(BULKY),
            WalFaults::bothDown),
        Fault.of("wal-kill", KILLS, Plan.WAL, WalFaults::kill),
        Fault.of(
            "wal-disk-full",
            1,
            Plan.WAL
                .smallWalDisk(DISK_MIB, LITTLE_HEADROOM, NOTHING_KEPT, NOTHING_LEFT)
                .rate(BULKY),
            WalFaults::fill),
        Fault.of("wal-torn", 5, Plan.WAL, WalFaults::tear),
        Fault.of("wal-bit", 3, Plan.WAL, WalFaults::flip),
        Fault.of("wal-node-twice", 1, Plan.WAL, WalFaults::twice));
  }

  private static String bothDown(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(1_000);
    site.redis().kill();
    site.redis().stop();
    site.clickHouse().stop();
    var ballast = fillDisk(site.wal());
    try {
      int refused = round.load().refused();
      round.load().awaitTurnedAway(20);
      proven(round.load().refused() > refused, "no request was answered with 503");
      site.awaitSaid(FULL, 0);
    } finally {
      round.over();
      Files.delete(ballast);
    }
    site.redis().restart();
    site.clickHouse().restart();
    return "Redis away, no room on the disk, 503";
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

  private static String kill(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    int status = round.site().gateway().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    round.over();
    round.site().gateway().start();
    round.site().gateway().awaitReady();
    round.load().awaitAcknowledged(1);
    proven(agrees(round.site()), "the independent reader sees a fault");
    return "ended by signal 9, every frame as its index line says";
  }

  /** What a reader says that shares no code with the gateway. */
  private static boolean agrees(Site site) throws IOException, InterruptedException {
    var command = new ArrayList<>(List.of("../bin/wal-reader", nodes(site).toString()));
    if (site.gateway().alive()) {
      command.add("--live"); // it may be about to write an index line
    }
    var reader = new ProcessBuilder(command).redirectErrorStream(true).start();
    var said = new String(reader.getInputStream().readAllBytes(), UTF_8);
    boolean agrees = reader.waitFor() == 0;
    proven(agrees || said.contains("faults"), said);
    return agrees;
  }

  private static Path nodes(Site site) throws IOException {
    try (var nodes = Files.list(site.wal().resolve("log.wal"))) {
      return nodes.findFirst().orElseThrow();
    }
  }

  private static String fill(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(1_000);
    site.clickHouse().stop();
    round.load().awaitTurnedAway(20);
    site.awaitSaid(FULL, 0);
    var ballast = fillDisk(site.wal()); // somebody else takes the rest of it
    round.load().awaitTurnedAway(20);
    round.over();
    site.clickHouse().restart();
    site.gateways().forEach(GatewayProcess::awaitAlive);
    await("a log that drains on a full disk")
        .atMost(Duration.ofSeconds(60))
        .until(() -> site.spooled() == 0);
    Files.delete(ballast);
    return "full, refused, drained, not restarted";
  }

  /** Half a frame at the end, as a crash of the machine may leave it. */
  private static String tear(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    int status = site.gateway().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    var segment = newest(site.wal());
    var last = lines(segment).getLast();
    var bytes = Files.readAllBytes(segment);
    int begin = Math.toIntExact(last.offset());
    Files.write(
        segment,
        Arrays.copyOfRange(bytes, begin, begin + last.length() / 2),
        StandardOpenOption.APPEND);
    Files.writeString(index(segment), "{\"file\":\"seg", StandardOpenOption.APPEND);
    proven(!agrees(site), "the independent reader does not see it");
    round.over();
    site.gateway().start();
    site.gateway().awaitReady();
    round.load().awaitAcknowledged(MOMENT);
    proven(agrees(site), "the independent reader sees a fault");
    return "half a frame and half an index line at the end";
  }

  /** Where a frame is. */
  private record Line(long offset, int length, int records) {}

  private static List<Line> lines(Path segment) throws IOException {
    return INDEX_LINE
        .matcher(Files.readString(index(segment)))
        .results()
        .map(
            line ->
                new Line(
                    Long.parseLong(line.group(1)),
                    Integer.parseInt(line.group(2)),
                    Integer.parseInt(line.group(3))))
        .toList();
  }

  private static Path index(Path segment) {
    return segment.resolveSibling(
        segment.getFileName().toString().replaceFirst("\\.wal\\..*$", ".wal.idx"));
  }

  private static Path newest(Path wal) throws IOException {
    try (var files = Files.walk(wal)) {
      return files
          .filter(file -> file.toString().endsWith(".wal.zst"))
          .filter(file -> !file.toString().contains("quarantine"))
          .max(Comparator.naturalOrder())
          .orElseThrow();
    }
  }

  /** In the last frame but one, which waits because ClickHouse is away. */
  private static String flip(Round round) throws IOException, InterruptedException {
    var site = round.site();
    round.awaitMoment(MOMENT);
    site.awaitStored();
    site.clickHouse().stop();
    round.load().awaitAcknowledged(2 * MOMENT);
    int status = site.gateway().kill();
    proven(status == GatewayProcess.KILLED, "exit status " + status);
    var segment = newest(site.wal());
    var lines = lines(segment);
    var victim = lines.get(lines.size() - 2);
    try (var file = new RandomAccessFile(segment.toFile(), "rw")) {
      var frame = new byte[victim.length()];
      file.seek(victim.offset());
      file.readFully(frame);
      site.quarantined(numbersIn(site, frame));
      long at = victim.offset() + victim.length() / 2;
      file.seek(at);
      int old = file.read();
      file.seek(at);
      file.write(old ^ 1 << round.random().nextInt(8));
    }
    round.over();
    site.gateway().start();
    site.clickHouse().restart();
    await("a frame in quarantine")
        .atMost(Duration.ofSeconds(60))
        .ignoreExceptions()
        .until(() -> QUARANTINED.matcher(site.gateway().get("/actuator/wal")).find());
    return "one bit of a frame, which is in quarantine";
  }

  private static BitSet numbersIn(Site site, byte[] frame) throws IOException {
    var found = new BitSet();
    try (var lines = new ZstdInputStream(new ByteArrayInputStream(frame))) {
      Pattern.compile(Pattern.quote(site.numbers().run()) + " (\\d+) ")
          .matcher(new String(lines.readAllBytes(), UTF_8))
          .results()
          .forEach(number -> found.set(Integer.parseInt(number.group(1))));
    }
    proven(!found.isEmpty(), "no log in the frame");
    return found;
  }

  private static String twice(Round round) throws IOException, InterruptedException {
    round.awaitMoment(MOMENT);
    try (var twin = round.site().gateway().twin()) {
      twin.start();
      int status = twin.awaitEnd(Duration.ofSeconds(60));
      proven(status != 0, "exit status " + status);
      proven(TAKEN.matcher(twin.log()).find(), "it does not say why");
    }
    round.over();
    return "a second process of the same node, which ended and said why";
  }
}

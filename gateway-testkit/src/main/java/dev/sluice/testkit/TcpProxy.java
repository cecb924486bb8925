package dev.sluice.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A network that can be broken: listens on loopback and forwards every connection to one target,
 * byte by byte, until told otherwise. It does not understand what it forwards.
 *
 * <p>What has been broken stays so until {@link #heal}, for connections that are there and for
 * those that come; only {@link #cut} and {@link #swallowNextAnswer} happen once. The counters say
 * whether a fault has hit. Safe for use by many threads; no method waits for the network.
 *
 * <p>{@code frozen}, {@code bytesPerSecond} and the times are guarded by {@code lock}.
 */
public final class TcpProxy implements AutoCloseable {
  private static final int BUFFER = 64 << 10;

  /** Throttled, so much goes at once: a slow line is slow, and does not pause. */
  private static final int PIECES_PER_SECOND = 50;

  private static final int CONNECT_MILLIS = 5_000;

  /** Which way bytes go. */
  private enum Way {
    REQUESTS,
    ANSWERS
  }

  /** Which answers are dropped. */
  private enum Swallow {
    NONE,
    NEXT,
    ALL
  }

  private final InetSocketAddress target;
  private final ServerSocket listener;
  private final Set<Link> links = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition thawed = lock.newCondition();
  private boolean frozen;
  private long bytesPerSecond;
  private final Map<Way, Long> freeAt = new EnumMap<>(Way.class);

  private final AtomicReference<Swallow> swallow = new AtomicReference<>(Swallow.NONE);
  private volatile boolean refusing;
  private final AtomicLong requestBytes = new AtomicLong();
  private final AtomicLong answerBytes = new AtomicLong();
  private final AtomicInteger accepted = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();
  private final AtomicInteger swallowed = new AtomicInteger();

  private TcpProxy(InetSocketAddress target) throws IOException {
    this.target = target;
    this.listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
  }

  /** A proxy on any free port, forwarding at once to a port of this machine. */
  public static TcpProxy to(int port) {
    return to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  /** A proxy on any free port, forwarding at once. */
  public static TcpProxy to(InetSocketAddress target) {
    try {
      var proxy = new TcpProxy(target);
      Thread.ofVirtual().name("tcp-proxy").start(proxy::listen);
      return proxy;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where it listens, on loopback. */
  public int port() {
    return listener.getLocalPort();
  }

  /** Ends all connections that are there, abruptly, on both sides. New ones are welcome. */
  public void cut() {
    links.forEach(Link::reset);
  }

  /**
   * Drops the next bytes that come from the target, whichever connection they are of, and ends that
   * connection: what was asked has been done, and the asker does not know. Once.
   */
  public void swallowNextAnswer() {
    swallow.set(Swallow.NEXT);
  }

  /** As {@link #swallowNextAnswer}, for every connection. */
  public void swallowAnswers() {
    swallow.set(Swallow.ALL);
  }

  /** Nothing goes through any more, and nothing ends: a cable that was pulled. */
  public void freeze() {
    lock.lock();
    try {
      frozen = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Lets so much through from now on, over all connections, in each direction.
   *
   * @param bytes a second, from 1
   */
  public void throttle(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("throttled to " + bytes + " bytes a second");
    }
    lock.lock();
    try {
      bytesPerSecond = bytes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * New connections are reset as soon as they are made. The port stays taken, so that nobody else
   * can get it.
   */
  public void refuse() {
    refusing = true;
  }

  /** Forwards again as at the beginning. What was swallowed or cut stays lost. */
  public void heal() {
    refusing = false;
    swallow.set(Swallow.NONE);
    lock.lock();
    try {
      frozen = false;
      bytesPerSecond = 0;
      thawed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Connections that are open. */
  public int connections() {
    return links.size();
  }

  /** Connections that were forwarded, ever. */
  public int accepted() {
    return accepted.get();
  }

  /** Connections that {@link #refuse} has turned away, or that found no target. */
  public int refused() {
    return refused.get();
  }

  /** Connections that were ended with an answer dropped. */
  public int swallowed() {
    return swallowed.get();
  }

  /** Bytes written to the target, ever. */
  public long requestBytes() {
    return requestBytes.get();
  }

  /** Bytes written to clients, ever. */
  public long answerBytes() {
    return answerBytes.get();
  }

  private void listen() {
    while (!listener.isClosed()) {
      try {
        var client = listener.accept();
        Thread.startVirtualThread(() -> connect(client));
      } catch (IOException _) {
        // closed, or the client was gone before it was accepted
      }
    }
  }

  private void connect(Socket client) {
    var server = new Socket();
    var link = new Link(client, server);
    if (refusing) {
      refused.incrementAndGet();
      link.reset();
      return;
    }
    links.add(link);
    try {
      server.connect(target, CONNECT_MILLIS);
      server.setTcpNoDelay(true);
      client.setTcpNoDelay(true);
    } catch (IOException _) {
      refused.incrementAndGet();
      link.reset();
      return;
    }
    accepted.incrementAndGet();
    if (listener.isClosed()) { // in the meantime: close() may not have met this one
      link.reset();
      return;
    }
    Thread.startVirtualThread(() -> link.pump(Way.REQUESTS));
    link.pump(Way.ANSWERS);
  }

  /** Waits until so many bytes may go. */
  private void admit(Way way, int bytes) throws InterruptedException {
    long pause = 0;
    lock.lockInterruptibly();
    try {
      while (frozen) {
        thawed.await();
      }
      if (bytesPerSecond > 0) {
        long now = System.nanoTime();
        long from = Math.max(now, freeAt.getOrDefault(way, now));
        long until = from + bytes * 1_000_000_000L / bytesPerSecond;
        freeAt.put(way, until);
        pause = until - now;
      }
    } finally {
      lock.unlock();
    }
    if (pause > 0) {
      Thread.sleep(Duration.ofNanos(pause));
    }
  }

  private int piece() {
    lock.lock();
    try {
      return bytesPerSecond == 0
          ? BUFFER
          : Math.clamp(bytesPerSecond / PIECES_PER_SECOND, 1, BUFFER);
    } finally {
      lock.unlock();
    }
  }

  private boolean swallows() {
    return swallow.get() == Swallow.ALL || swallow.compareAndSet(Swallow.NEXT, Swallow.NONE);
  }

  /** Resets all connections and gives the port back. */
  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    cut();
    heal();
  }

  /** One connection, both halves. */
  private final class Link {
    private final Socket client;
    private final Socket server;
    private final AtomicInteger open = new AtomicInteger(Way.values().length);

    Link(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void pump(Way way) {
      var from = way == Way.REQUESTS ? client : server;
      var to = way == Way.REQUESTS ? server : client;
      var counter = way == Way.REQUESTS ? requestBytes : answerBytes;
      byte[] buffer = new byte[BUFFER];
      try {
        for (int n = from.getInputStream().read(buffer, 0, piece());
            n >= 0;
            n = from.getInputStream().read(buffer, 0, piece())) {
          admit(way, n);
          if (way == Way.ANSWERS && swallows()) {
            swallowed.incrementAndGet();
            reset();
            return;
          }
          to.getOutputStream().write(buffer, 0, n);
          counter.addAndGet(n);
        }
        to.shutdownOutput();
        if (open.decrementAndGet() == 0) {
          end();
        }
      } catch (IOException _) {
        reset(); // one side is gone: so is the other
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        reset();
      }
    }

    /** What is under way is lost, and both sides are told at once. */
    void reset() {
      try {
        client.setSoLinger(true, 0);
        server.setSoLinger(true, 0);
      } catch (IOException _) {
        // closed already
      }
      end();
    }

    private void end() {
      links.remove(this);
      try (client;
          server) {
        // only closes
      } catch (IOException _) {
        // it is closed all the same
      }
    }
  }
}

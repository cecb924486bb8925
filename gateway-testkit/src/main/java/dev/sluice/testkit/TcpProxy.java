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
 * those that come; only {@link #resetConnections} and {@link #dropNextResponse} happen once. The
 * counters say whether a fault has hit. Safe for use by many threads; no method waits for the
 * network.
 *
 * <p>{@code frozen}, {@code bytesPerSecond} and the times are guarded by {@code lock}.
 */
public final class TcpProxy implements AutoCloseable {
  private static final int BUFFER = 64 << 10;

  /** Throttled, so much goes at once: a slow line is slow, and does not pause. */
  private static final int CHUNKS_PER_SECOND = 50;

  private static final int CONNECT_MILLIS = 5_000;

  /** Which way bytes go. */
  private enum Direction {
    REQUESTS,
    RESPONSES
  }

  /** Which answers are dropped. */
  private enum ResponseDrop {
    NONE,
    NEXT,
    ALL
  }

  private final InetSocketAddress target;
  private final ServerSocket listener;
  private final Set<ProxiedConnection> openConnections = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition resumed = lock.newCondition();
  private boolean frozen;
  private long bytesPerSecond;
  private final Map<Direction, Long> nextFreeNanos = new EnumMap<>(Direction.class);

  private final AtomicReference<ResponseDrop> responseDrop =
      new AtomicReference<>(ResponseDrop.NONE);
  private volatile boolean refusingConnections;
  private final AtomicLong requestBytes = new AtomicLong();
  private final AtomicLong responseBytes = new AtomicLong();
  private final AtomicInteger acceptedConnections = new AtomicInteger();
  private final AtomicInteger refusedConnections = new AtomicInteger();
  private final AtomicInteger droppedResponses = new AtomicInteger();

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
  public void resetConnections() {
    openConnections.forEach(ProxiedConnection::reset);
  }

  /**
   * Drops the next bytes that come from the target, whichever connection they are of, and ends that
   * connection: what was asked has been done, and the asker does not know. Once.
   */
  public void dropNextResponse() {
    responseDrop.set(ResponseDrop.NEXT);
  }

  /** As {@link #dropNextResponse}, for every connection. */
  public void dropResponses() {
    responseDrop.set(ResponseDrop.ALL);
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
  public void refuseConnections() {
    refusingConnections = true;
  }

  /** Forwards again as at the beginning. What was swallowed or cut stays lost. */
  public void heal() {
    refusingConnections = false;
    responseDrop.set(ResponseDrop.NONE);
    lock.lock();
    try {
      frozen = false;
      bytesPerSecond = 0;
      resumed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Connections that are open. */
  public int connections() {
    return openConnections.size();
  }

  /** Connections that were forwarded, ever. */
  public int acceptedConnections() {
    return acceptedConnections.get();
  }

  /** Connections that {@link #refuseConnections} has turned away, or that found no target. */
  public int refusedConnections() {
    return refusedConnections.get();
  }

  /** Connections that were ended with an answer dropped. */
  public int droppedResponses() {
    return droppedResponses.get();
  }

  /** Bytes written to the target, ever. */
  public long requestBytes() {
    return requestBytes.get();
  }

  /** Bytes written to clients, ever. */
  public long responseBytes() {
    return responseBytes.get();
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
    var connection = new ProxiedConnection(client, server);
    if (refusingConnections) {
      refusedConnections.incrementAndGet();
      connection.reset();
      return;
    }
    openConnections.add(connection);
    try {
      server.connect(target, CONNECT_MILLIS);
      server.setTcpNoDelay(true);
      client.setTcpNoDelay(true);
    } catch (IOException _) {
      refusedConnections.incrementAndGet();
      connection.reset();
      return;
    }
    acceptedConnections.incrementAndGet();
    if (listener.isClosed()) { // in the meantime: close() may not have met this one
      connection.reset();
      return;
    }
    Thread.startVirtualThread(() -> connection.pump(Direction.REQUESTS));
    connection.pump(Direction.RESPONSES);
  }

  /** Waits until so many bytes may go. */
  private void awaitBandwidth(Direction direction, int bytes) throws InterruptedException {
    long pause = 0;
    lock.lockInterruptibly();
    try {
      while (frozen) {
        resumed.await();
      }
      if (bytesPerSecond > 0) {
        long now = System.nanoTime();
        long from = Math.max(now, nextFreeNanos.getOrDefault(direction, now));
        long until = from + bytes * 1_000_000_000L / bytesPerSecond;
        nextFreeNanos.put(direction, until);
        pause = until - now;
      }
    } finally {
      lock.unlock();
    }
    if (pause > 0) {
      Thread.sleep(Duration.ofNanos(pause));
    }
  }

  private int chunkSize() {
    lock.lock();
    try {
      return bytesPerSecond == 0
          ? BUFFER
          : Math.clamp(bytesPerSecond / CHUNKS_PER_SECOND, 1, BUFFER);
    } finally {
      lock.unlock();
    }
  }

  private boolean takeResponseDrop() {
    return responseDrop.get() == ResponseDrop.ALL
        || responseDrop.compareAndSet(ResponseDrop.NEXT, ResponseDrop.NONE);
  }

  /** Resets all connections and gives the port back. */
  @Override
  public void close() {
    try {
      listener.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    resetConnections();
    heal();
  }

  /** One connection, both halves. */
  private final class ProxiedConnection {
    private final Socket client;
    private final Socket server;
    private final AtomicInteger openDirections = new AtomicInteger(Direction.values().length);

    ProxiedConnection(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void pump(Direction direction) {
      var from = direction == Direction.REQUESTS ? client : server;
      var to = direction == Direction.REQUESTS ? server : client;
      var counter = direction == Direction.REQUESTS ? requestBytes : responseBytes;
      byte[] buffer = new byte[BUFFER];
      try {
        for (int n = from.getInputStream().read(buffer, 0, chunkSize());
            n >= 0;
            n = from.getInputStream().read(buffer, 0, chunkSize())) {
          awaitBandwidth(direction, n);
          if (direction == Direction.RESPONSES && takeResponseDrop()) {
            droppedResponses.incrementAndGet();
            reset();
            return;
          }
          to.getOutputStream().write(buffer, 0, n);
          counter.addAndGet(n);
        }
        to.shutdownOutput();
        if (openDirections.decrementAndGet() == 0) {
          closeSockets();
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
      closeSockets();
    }

    private void closeSockets() {
      openConnections.remove(this);
      try (client;
          server) {
        // only closes
      } catch (IOException _) {
        // it is closed all the same
      }
    }
  }
}

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
 * A TCP proxy that injects network faults. It listens on loopback and forwards every connection to
 * one target, byte by byte; it does not parse the bytes.
 *
 * <p>A fault stays active until {@link #heal}, for open and for new connections; only {@link
 * #resetConnections} and {@link #dropNextResponse} happen once. The counters show whether a fault
 * has occurred. Thread-safe; no method waits for the network.
 *
 * <p>{@code frozen}, {@code bytesPerSecond} and the times are guarded by {@code lock}.
 */
public final class TcpProxy implements AutoCloseable {
  private static final int BUFFER = 64 << 10;

  /**
   * The number of chunks per second of a throttled connection, so that it is slow without pauses.
   */
  private static final int CHUNKS_PER_SECOND = 50;

  private static final int CONNECT_MILLIS = 5_000;

  /** The direction of bytes. */
  private enum Direction {
    REQUESTS,
    RESPONSES
  }

  /** The responses that are dropped. */
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

  /** Starts a proxy on any free port that forwards to a port of this machine. */
  public static TcpProxy to(int port) {
    return to(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  /** Starts a proxy on any free port that forwards to the target. */
  public static TcpProxy to(InetSocketAddress target) {
    try {
      var proxy = new TcpProxy(target);
      Thread.ofVirtual().name("tcp-proxy").start(proxy::listen);
      return proxy;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The loopback port on which the proxy listens. */
  public int port() {
    return listener.getLocalPort();
  }

  /** Resets all open connections, on both sides. New connections are accepted. */
  public void resetConnections() {
    openConnections.forEach(ProxiedConnection::reset);
  }

  /**
   * Drops the next bytes from the target, on any connection, and closes that connection, once: the
   * target has processed the request, but the client gets no response.
   */
  public void dropNextResponse() {
    responseDrop.set(ResponseDrop.NEXT);
  }

  /** Drops responses like {@link #dropNextResponse}, but of every connection. */
  public void dropResponses() {
    responseDrop.set(ResponseDrop.ALL);
  }

  /** Stops forwarding without closing connections, as if the cable was unplugged. */
  public void freeze() {
    lock.lock();
    try {
      frozen = true;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Limits the rate of all connections together, in each direction.
   *
   * @param bytes the bytes per second, from 1
   */
  public void throttle(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException(
          "rate limit is " + bytes + " bytes per second, at least 1");
    }
    lock.lock();
    try {
      bytesPerSecond = bytes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Resets new connections immediately. The port stays bound, so that no other process can use it.
   */
  public void refuseConnections() {
    refusingConnections = true;
  }

  /** Ends all faults. Bytes that were dropped and connections that were closed stay lost. */
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

  /** The number of open connections. */
  public int connections() {
    return openConnections.size();
  }

  /** The number of connections that were forwarded since the start. */
  public int acceptedConnections() {
    return acceptedConnections.get();
  }

  /**
   * The number of connections that {@link #refuseConnections} rejected, or whose target was
   * unreachable.
   */
  public int refusedConnections() {
    return refusedConnections.get();
  }

  /** The number of connections that were closed with a dropped response. */
  public int droppedResponses() {
    return droppedResponses.get();
  }

  /** The number of bytes written to the target since the start. */
  public long requestBytes() {
    return requestBytes.get();
  }

  /** The number of bytes written to clients since the start. */
  public long responseBytes() {
    return responseBytes.get();
  }

  private void listen() {
    while (!listener.isClosed()) {
      try {
        var client = listener.accept();
        Thread.startVirtualThread(() -> connect(client));
      } catch (IOException _) {
        // closed, or the client closed the connection before accept
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
    if (listener.isClosed()) { // close() may have missed this connection
      connection.reset();
      return;
    }
    Thread.startVirtualThread(() -> connection.pump(Direction.REQUESTS));
    connection.pump(Direction.RESPONSES);
  }

  /** Waits until the rate limit allows {@code bytes} more bytes. */
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

  /** Resets all connections and releases the port. */
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

  /** One connection, in both directions. */
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
        reset(); // one side is closed, so the other is closed too
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        reset();
      }
    }

    /** Resets both sides; bytes in flight are lost. */
    void reset() {
      try {
        client.setSoLinger(true, 0);
        server.setSoLinger(true, 0);
      } catch (IOException _) {
        // already closed
      }
      closeSockets();
    }

    private void closeSockets() {
      openConnections.remove(this);
      try (client;
          server) {
        // the block only closes the socket
      } catch (IOException _) {
        // the socket is closed in any case
      }
    }
  }
}

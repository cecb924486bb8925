package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.HashMap;
import java.util.Map;

/**
 * A minimal HTTP/2 client for a case that gRPC clients do not support: a message that never ends.
 */
final class Http2Socket implements AutoCloseable {
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;
  private static final byte CANCEL = 8;

  private final Socket socket;
  private final DataOutputStream out;
  private final Map<Integer, Integer> settings = new HashMap<>();

  Http2Socket(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    out = new DataOutputStream(socket.getOutputStream());
    out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII));
    frame(SETTINGS, 0, 0, new byte[0]);
    readSettings();
  }

  /** Returns the settings of the server by their numbers in RFC 9113, section 6.5.2. */
  Map<Integer, Integer> settings() {
    return settings;
  }

  private void readSettings() throws IOException {
    var in = new DataInputStream(socket.getInputStream());
    int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    in.readNBytes(5);
    if (type != SETTINGS) {
      throw new IOException("frame of type " + type);
    }
    for (int i = 0; i < length; i += 6) {
      settings.put(in.readUnsignedShort(), in.readInt());
    }
  }

  /**
   * Begins a call with a message of {@code length} bytes, of which only {@code sent} bytes are
   * sent.
   */
  void begin(String method, int length, int sent) throws IOException {
    begin(method, 1);
    var message = new ByteArrayOutputStream();
    var prefix = new DataOutputStream(message);
    prefix.writeByte(0);
    prefix.writeInt(length);
    prefix.write(new byte[sent]);
    frame(DATA, 0, 1, message.toByteArray());
  }

  private void begin(String method, int stream) throws IOException {
    var headers = new ByteArrayOutputStream();
    header(headers, ":method", "POST");
    header(headers, ":scheme", "http");
    header(headers, ":path", "/" + method);
    header(headers, ":authority", "localhost");
    header(headers, "content-type", "application/grpc");
    header(headers, "te", "trailers");
    frame(HEADERS, END_HEADERS, stream, headers.toByteArray());
  }

  /**
   * Begins and resets calls, then sends a ping. Returns whether the server closed the connection
   * instead of an answer to the ping.
   */
  boolean resetCalls(String method, int calls) throws IOException {
    try {
      for (int i = 0; i < calls; i++) {
        int stream = 2 * i + 1;
        begin(method, stream);
        frame(RST_STREAM, 0, stream, new byte[] {0, 0, 0, CANCEL});
      }
      frame(PING, 0, 0, new byte[8]);
      var in = new DataInputStream(socket.getInputStream());
      while (true) {
        int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
        int type = in.readUnsignedByte();
        int flags = in.readUnsignedByte();
        in.readInt();
        in.readNBytes(length);
        if (type == PING && flags == ACK) {
          return false;
        }
      }
    } catch (EOFException | SocketException _) {
      return true;
    }
  }

  /**
   * Writes a literal header field without indexing and without Huffman coding (RFC 7541, section
   * 6.2.2).
   */
  private static void header(ByteArrayOutputStream block, String name, String value) {
    block.write(0);
    block.write(name.length());
    block.writeBytes(name.getBytes(US_ASCII));
    block.write(value.length());
    block.writeBytes(value.getBytes(US_ASCII));
  }

  private void frame(int type, int flags, int stream, byte[] payload) throws IOException {
    out.writeByte(payload.length >> 16);
    out.writeShort(payload.length);
    out.writeByte(type);
    out.writeByte(flags);
    out.writeInt(stream);
    out.write(payload);
    out.flush();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}

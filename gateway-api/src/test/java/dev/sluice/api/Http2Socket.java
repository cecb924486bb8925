package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;

/**
 * A minimal HTTP/2 client for a case that gRPC clients do not support: a message that never ends.
 */
final class Http2Socket implements AutoCloseable {
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int END_HEADERS = 4;

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
    var headers = new ByteArrayOutputStream();
    header(headers, ":method", "POST");
    header(headers, ":scheme", "http");
    header(headers, ":path", "/" + method);
    header(headers, ":authority", "localhost");
    header(headers, "content-type", "application/grpc");
    header(headers, "te", "trailers");
    frame(HEADERS, END_HEADERS, 1, headers.toByteArray());
    var message = new ByteArrayOutputStream();
    var prefix = new DataOutputStream(message);
    prefix.writeByte(0);
    prefix.writeInt(length);
    prefix.write(new byte[sent]);
    frame(DATA, 0, 1, message.toByteArray());
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

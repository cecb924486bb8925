package dev.sluice.api;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.HexFormat;

/**
 * The first flight of a TLS handshake, written by hand: the TLS client of the JDK does not offer
 * versions and cipher suites that a scanner tries.
 */
final class TlsHandshake {
  static final int TLS_1_0 = 0x0301;
  static final int TLS_1_1 = 0x0302;
  static final int TLS_1_2 = 0x0303;
  static final int ECDHE_ECDSA_AES_128_CBC_SHA = 0xC009;
  static final int ECDHE_ECDSA_AES_256_CBC_SHA = 0xC00A;
  static final int ECDHE_ECDSA_AES_128_CBC_SHA256 = 0xC023;
  static final int ECDHE_ECDSA_AES_256_CBC_SHA384 = 0xC024;
  static final int ECDHE_ECDSA_AES_128_GCM_SHA256 = 0xC02B;

  private static final int HANDSHAKE = 22;
  private static final byte[] EXTENSIONS =
      HexFormat.of()
          .parseHex(
              "000a00080006001700180019" // supported_groups: secp256r1, secp384r1, secp521r1
                  + "000b00020100" // ec_point_formats: uncompressed
                  // signature_algorithms: ECDSA with SHA-256, SHA-384 and SHA-1
                  + "000d00080006040305030203");

  private TlsHandshake() {}

  /** Whether the server accepts one of the suites in this version: answers with a handshake. */
  static boolean isAccepted(int port, int version, int... suites) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(30_000);
      socket.getOutputStream().write(clientHello(version, suites));
      int type = new DataInputStream(socket.getInputStream()).read();
      return type == HANDSHAKE; // else an alert, or the end of the connection
    }
  }

  private static byte[] clientHello(int version, int... suites) throws IOException {
    var body = new ByteArrayOutputStream();
    var out = new DataOutputStream(body);
    out.writeShort(version);
    out.write(new byte[32]); // random
    out.writeByte(0); // session id
    out.writeShort(suites.length * 2);
    for (int suite : suites) {
      out.writeShort(suite);
    }
    out.writeShort(0x0100); // one compression method: none
    out.writeShort(EXTENSIONS.length);
    out.write(EXTENSIONS);
    var record = new ByteArrayOutputStream();
    var head = new DataOutputStream(record);
    head.writeByte(HANDSHAKE);
    head.writeShort(TLS_1_0); // the version of the record layer, which servers ignore
    head.writeShort(body.size() + 4);
    head.writeInt(1 << 24 | body.size()); // client_hello
    body.writeTo(record);
    return record.toByteArray();
  }
}

package dev.sluice.api.protocol.frames;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.core.ingest.DecodeException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.springframework.http.ContentDisposition;

/**
 * The parts of a {@code multipart/form-data} body (RFC 7578) in memory. The parts are views of the
 * body, without a copy. The preamble before the first delimiter and the epilogue after the last are
 * ignored.
 */
final class Multipart {
  private static final int MAX_BOUNDARY_LENGTH = 70;
  private static final int MAX_PARTS = 16;
  private static final int MAX_HEADER_BYTES = 8192;
  private static final byte[] HEADERS_END = {'\r', '\n', '\r', '\n'};

  private final byte[] body;
  private final byte[] delimiter;
  private final Map<String, ByteBuffer> parts = new HashMap<>();

  private Multipart(byte[] body, String boundary) {
    this.body = body;
    this.delimiter = ("\r\n--" + boundary).getBytes(ISO_8859_1);
  }

  /**
   * Parses a body.
   *
   * @throws DecodeException when the body or the boundary is malformed
   */
  static Multipart parse(byte[] body, String boundary) {
    if (boundary.isEmpty() || boundary.length() > MAX_BOUNDARY_LENGTH) {
      throw DecodeException.malformed("multipart: boundary is not 1 to 70 characters");
    }
    var multipart = new Multipart(body, boundary);
    multipart.parseParts();
    return multipart;
  }

  /**
   * Returns the content of the part with this name.
   *
   * @throws DecodeException when there is no such part
   */
  ByteBuffer part(String name) {
    var part = parts.get(name);
    if (part == null) {
      throw malformed("part " + name + " is missing");
    }
    return part.duplicate();
  }

  private void parseParts() {
    int from = endOfFirstDelimiter();
    while (!isClosingDelimiter(from)) {
      if (parts.size() == MAX_PARTS) {
        throw malformed("more than " + MAX_PARTS + " parts");
      }
      int headers = endOfDelimiterLine(from);
      int content =
          indexOf(HEADERS_END, headers, Math.min(body.length, headers + MAX_HEADER_BYTES));
      if (content < 0) {
        throw malformed("a part has no blank line after its headers");
      }
      content += HEADERS_END.length;
      // in a part without content, the line break of its headers is also that of its delimiter
      int end = indexOf(delimiter, content - 2, body.length);
      if (end < 0) {
        throw malformed("the closing delimiter is missing");
      }
      add(partName(headers, content), content, Math.max(content, end));
      from = end + delimiter.length;
    }
  }

  /** Returns the offset after the first delimiter, which may be at the start of the body. */
  private int endOfFirstDelimiter() {
    int bare = delimiter.length - 2;
    if (body.length >= bare && Arrays.equals(body, 0, bare, delimiter, 2, delimiter.length)) {
      return bare;
    }
    int at = indexOf(delimiter, 0, body.length);
    if (at < 0) {
      throw malformed("the boundary of the content type is not in the body");
    }
    return at + delimiter.length;
  }

  private boolean isClosingDelimiter(int at) {
    return at + 2 <= body.length && body[at] == '-' && body[at + 1] == '-';
  }

  /** Returns the offset of the line break after a delimiter; blanks may precede it. */
  private int endOfDelimiterLine(int from) {
    int at = from;
    while (at < body.length && (body[at] == ' ' || body[at] == '\t')) {
      at++;
    }
    if (at + 2 > body.length || body[at] != '\r' || body[at + 1] != '\n') {
      throw malformed("a delimiter has no line break");
    }
    return at;
  }

  private String partName(int from, int to) {
    for (var header : new String(body, from, to - from, ISO_8859_1).split("\r\n", -1)) {
      int colon = header.indexOf(':');
      if (colon > 0 && header.substring(0, colon).strip().equalsIgnoreCase("content-disposition")) {
        return dispositionName(header.substring(colon + 1).strip());
      }
    }
    throw malformed("a part has no name");
  }

  private static String dispositionName(String value) {
    try {
      var name = ContentDisposition.parse(value).getName();
      if (name != null) {
        return name;
      }
    } catch (RuntimeException _) { // such as StringIndexOutOfBoundsException for a lone quote
      // reported below
    }
    throw malformed("a part has no name");
  }

  private void add(String name, int from, int to) {
    if (parts.put(name, ByteBuffer.wrap(body, from, to - from).slice()) != null) {
      throw malformed("two parts have the same name");
    }
  }

  private int indexOf(byte[] what, int from, int to) {
    for (int at = from; at <= to - what.length; at++) {
      if (body[at] == what[0] && Arrays.equals(body, at, at + what.length, what, 0, what.length)) {
        return at;
      }
    }
    return -1;
  }

  private static DecodeException malformed(String detail) {
    return DecodeException.malformed("multipart: " + detail);
  }
}

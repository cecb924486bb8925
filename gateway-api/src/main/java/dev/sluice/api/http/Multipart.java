package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.springframework.http.ContentDisposition;

/**
 * The parts of a {@code multipart/form-data} body (RFC 7578) that is in memory whole: views of it,
 * nothing is copied. What stands before the first delimiter and after the last is passed over.
 */
final class Multipart {
  private static final int LONGEST_BOUNDARY = 70;
  private static final int MOST_PARTS = 16;
  private static final int LONGEST_HEADERS = 8192;
  private static final byte[] HEADERS_END = {'\r', '\n', '\r', '\n'};

  private final byte[] body;
  private final byte[] delimiter;
  private final Map<String, ByteBuffer> parts = new HashMap<>();

  private Multipart(byte[] body, String boundary) {
    this.body = body;
    this.delimiter = ("\r\n--" + boundary).getBytes(ISO_8859_1);
  }

  /**
   * @throws RequestRefused when it is none
   */
  static Multipart of(byte[] body, String boundary) {
    if (boundary.isEmpty() || boundary.length() > LONGEST_BOUNDARY) {
      throw RequestRefused.malformed("multipart: boundary is not 1 to 70 characters");
    }
    var multipart = new Multipart(body, boundary);
    multipart.read();
    return multipart;
  }

  /**
   * The content of the part of that name.
   *
   * @throws RequestRefused when there is none
   */
  ByteBuffer part(String name) {
    var part = parts.get(name);
    if (part == null) {
      throw malformed("part " + name + " is missing");
    }
    return part.duplicate();
  }

  private void read() {
    int from = first();
    while (!closes(from)) {
      if (parts.size() == MOST_PARTS) {
        throw malformed("more than " + MOST_PARTS + " parts");
      }
      int headers = lineEnd(from);
      int content = indexOf(HEADERS_END, headers, Math.min(body.length, headers + LONGEST_HEADERS));
      if (content < 0) {
        throw malformed("the headers of a part do not end");
      }
      content += HEADERS_END.length;
      // a part without content begins its delimiter with the end of its headers
      int end = indexOf(delimiter, content - 2, body.length);
      if (end < 0) {
        throw malformed("the last part does not end");
      }
      add(name(headers, content), content, Math.max(content, end));
      from = end + delimiter.length;
    }
  }

  /** Behind the first delimiter, which may stand at the very beginning. */
  private int first() {
    int bare = delimiter.length - 2;
    if (body.length >= bare && Arrays.equals(body, 0, bare, delimiter, 2, delimiter.length)) {
      return bare;
    }
    int at = indexOf(delimiter, 0, body.length);
    if (at < 0) {
      throw malformed("the boundary of the header is not in the body");
    }
    return at + delimiter.length;
  }

  private boolean closes(int at) {
    return at + 2 <= body.length && body[at] == '-' && body[at + 1] == '-';
  }

  /** Where the line break after a delimiter begins; blanks may stand before it. */
  private int lineEnd(int from) {
    int at = from;
    while (at < body.length && (body[at] == ' ' || body[at] == '\t')) {
      at++;
    }
    if (at + 2 > body.length || body[at] != '\r' || body[at + 1] != '\n') {
      throw malformed("no line ends after a boundary");
    }
    return at;
  }

  private String name(int from, int to) {
    for (var header : new String(body, from, to - from, ISO_8859_1).split("\r\n", -1)) {
      int colon = header.indexOf(':');
      if (colon > 0 && header.substring(0, colon).strip().equalsIgnoreCase("content-disposition")) {
        return disposition(header.substring(colon + 1).strip());
      }
    }
    throw malformed("a part has no name");
  }

  private static String disposition(String value) {
    try {
      var name = ContentDisposition.parse(value).getName();
      if (name != null) {
        return name;
      }
    } catch (IllegalArgumentException _) {
      // falls through to the answer
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

  private static RequestRefused malformed(String detail) {
    return RequestRefused.malformed("multipart: " + detail);
  }
}

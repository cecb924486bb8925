package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A view of one log record: its fields as ranges of the walked bytes. {@link OtlpWalker} refills
 * the view for each record; it is valid only until the visitor returns.
 *
 * <p>Texts are offset and length pairs of valid UTF-8; length 0 means that the field was not sent.
 * All content is within the walker's limits.
 */
public final class OtlpRecord {
  byte[] bytes = {};
  int ordinal;
  int encodedBytes;

  long timeNanos;
  long observedNanos;
  int severityNumber;
  int severityTextOffset;
  int severityTextLength;
  int flags;
  int droppedAttributes;
  int traceIdOffset;
  int traceIdLength;
  int spanIdOffset;
  int spanIdLength;
  int eventNameOffset;
  int eventNameLength;
  final AnyValue body = new AnyValue();
  final Attributes attributes = new Attributes();

  final Resource resource = new Resource();
  final Scope scope = new Scope();

  OtlpRecord() {}

  /** The resource that the records of one {@code ResourceLogs} share. */
  public static final class Resource {
    private static final byte[] SERVICE_NAME = "service.name".getBytes(UTF_8);

    final Attributes attributes = new Attributes();
    int schemaUrlOffset;
    int schemaUrlLength;
    int encodedBytes;
    int generation;
    int offset;
    int length;

    Resource() {}

    public Attributes attributes() {
      return attributes;
    }

    /**
     * Returns the value of the attribute {@code service.name}; null if there is none.
     *
     * @param bytes the array that the offsets of the resource refer to
     */
    public @Nullable AnyValue serviceName(byte[] bytes) {
      for (int i = 0; i < attributes.size(); i++) {
        int offset = attributes.keyOffset(i);
        if (attributes.keyLength(i) == SERVICE_NAME.length
            && Arrays.equals(
                bytes,
                offset,
                offset + SERVICE_NAME.length,
                SERVICE_NAME,
                0,
                SERVICE_NAME.length)) {
          return attributes.value(i);
        }
      }
      return null;
    }

    /**
     * Returns the offset of the encoded resource, including its tag and length, so that equal bytes
     * have equal attributes. If the resource was sent in parts, the range spans from the first to
     * the last part.
     */
    public int offset() {
      return offset;
    }

    /** Returns the length of the encoded resource in bytes; 0 if none was sent. */
    public int length() {
      return length;
    }

    public int schemaUrlOffset() {
      return schemaUrlOffset;
    }

    public int schemaUrlLength() {
      return schemaUrlLength;
    }

    /** Returns a number that changes with each resource that the walker enters, in any walk. */
    public int generation() {
      return generation;
    }
  }

  /** The scope that the records of one {@code ScopeLogs} share. */
  public static final class Scope {
    final Attributes attributes = new Attributes();
    int nameOffset;
    int nameLength;
    int versionOffset;
    int versionLength;
    int schemaUrlOffset;
    int schemaUrlLength;
    int encodedBytes;
    int generation;

    Scope() {}

    public Attributes attributes() {
      return attributes;
    }

    public int nameOffset() {
      return nameOffset;
    }

    public int nameLength() {
      return nameLength;
    }

    public int versionOffset() {
      return versionOffset;
    }

    public int versionLength() {
      return versionLength;
    }

    public int schemaUrlOffset() {
      return schemaUrlOffset;
    }

    public int schemaUrlLength() {
      return schemaUrlLength;
    }

    /** Returns a number that changes with each scope that the walker enters, in any walk. */
    public int generation() {
      return generation;
    }
  }

  void clear() {
    timeNanos = 0;
    observedNanos = 0;
    severityNumber = 0;
    severityTextOffset = 0;
    severityTextLength = 0;
    flags = 0;
    droppedAttributes = 0;
    traceIdOffset = 0;
    traceIdLength = 0;
    spanIdOffset = 0;
    spanIdLength = 0;
    eventNameOffset = 0;
    eventNameLength = 0;
    body.clear();
    attributes.clear();
  }

  /** Returns the array that all offsets refer to. */
  public byte[] bytes() {
    return bytes;
  }

  /** Returns the index among all records of the walk, including rejected records, from 0. */
  public int ordinal() {
    return ordinal;
  }

  /** Returns the encoded size of the record with its resource and scope, in bytes. */
  public int expandedBytes() {
    return encodedBytes + resource.encodedBytes + scope.encodedBytes;
  }

  /** Returns the event time in nanoseconds since 1970; 0 if not sent. */
  public long timeNanos() {
    return timeNanos;
  }

  /** Returns the observed time in nanoseconds since 1970; 0 if not sent. */
  public long observedNanos() {
    return observedNanos;
  }

  /** Returns the severity number, 1 to 24; 0 if not sent. */
  public int severityNumber() {
    return severityNumber;
  }

  public int severityTextOffset() {
    return severityTextOffset;
  }

  public int severityTextLength() {
    return severityTextLength;
  }

  /** Returns all 32 bits of the flags; the lowest eight are the W3C trace flags. */
  public int flags() {
    return flags;
  }

  /** Returns the count of dropped attributes, an unsigned 32-bit number. */
  public int droppedAttributes() {
    return droppedAttributes;
  }

  public int traceIdOffset() {
    return traceIdOffset;
  }

  /** Returns 16; 0 if no trace id was sent. */
  public int traceIdLength() {
    return traceIdLength;
  }

  public int spanIdOffset() {
    return spanIdOffset;
  }

  /** Returns 8; 0 if no span id was sent. */
  public int spanIdLength() {
    return spanIdLength;
  }

  public int eventNameOffset() {
    return eventNameOffset;
  }

  public int eventNameLength() {
    return eventNameLength;
  }

  public AnyValue body() {
    return body;
  }

  public Attributes attributes() {
    return attributes;
  }

  public Resource resource() {
    return resource;
  }

  public Scope scope() {
    return scope;
  }
}

package dev.sluice.core.otlp;

/**
 * One log record as places in the bytes being walked: a view that {@link OtlpWalker} fills anew for
 * each record and that is valid only until the sink returns.
 *
 * <p>Texts are offset and length pairs of valid UTF-8; length 0 means not sent. Everything in it
 * has passed the walker's limits.
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

  /** What the records of one {@code ResourceLogs} share. */
  public static final class Resource {
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
     * Where it is in the bytes, tag and length included, so that equal bytes have equal attributes.
     * From the first to the last part of one that was sent in parts.
     */
    public int offset() {
      return offset;
    }

    /** 0 when none was sent. */
    public int length() {
      return length;
    }

    public int schemaUrlOffset() {
      return schemaUrlOffset;
    }

    public int schemaUrlLength() {
      return schemaUrlLength;
    }

    /** Changes whenever the walker enters another resource, also in another walk. */
    public int generation() {
      return generation;
    }
  }

  /** What the records of one {@code ScopeLogs} share. */
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

    /** Changes whenever the walker enters another scope, also in another walk. */
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

  /** The array all offsets point into. */
  public byte[] bytes() {
    return bytes;
  }

  /** Position among all records of the walk, refused ones included, from 0. */
  public int ordinal() {
    return ordinal;
  }

  /** Its size with its resource and scope. */
  public int expandedBytes() {
    return encodedBytes + resource.encodedBytes + scope.encodedBytes;
  }

  /** When it happened, nanoseconds since 1970; 0 when not sent. */
  public long timeNanos() {
    return timeNanos;
  }

  /** When it was first observed, nanoseconds since 1970; 0 when not sent. */
  public long observedNanos() {
    return observedNanos;
  }

  /** 0 (not sent) to 24. */
  public int severityNumber() {
    return severityNumber;
  }

  public int severityTextOffset() {
    return severityTextOffset;
  }

  public int severityTextLength() {
    return severityTextLength;
  }

  /** All 32 bits; the lowest eight are W3C trace flags. */
  public int flags() {
    return flags;
  }

  /** Unsigned. */
  public int droppedAttributes() {
    return droppedAttributes;
  }

  public int traceIdOffset() {
    return traceIdOffset;
  }

  /** 0 or 16. */
  public int traceIdLength() {
    return traceIdLength;
  }

  public int spanIdOffset() {
    return spanIdOffset;
  }

  /** 0 or 8. */
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

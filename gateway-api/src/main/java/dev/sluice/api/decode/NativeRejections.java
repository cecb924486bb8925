package dev.sluice.api.decode;

import dev.sluice.core.domain.Rejection;
import java.util.List;

/** Maps rejections to the field names of native logs; the walker reports OTLP field names. */
public final class NativeRejections {
  private static final String OTLP_RESOURCE = "resource.attributes";

  private NativeRejections() {}

  /**
   * Returns the rejections with native field names: OTLP's {@code resource.attributes.x} is {@code
   * resource.x} in a native log.
   */
  public static List<Rejection> of(List<Rejection> rejected) {
    return rejected.stream()
        .map(
            rejection ->
                rejection.field().startsWith(OTLP_RESOURCE)
                    ? new Rejection(
                        rejection.index(),
                        "resource" + rejection.field().substring(OTLP_RESOURCE.length()),
                        rejection.reason())
                    : rejection)
        .toList();
  }

  /** Returns the error message for a request without any accepted log. */
  public static String acceptedNoneMessage(int rejected) {
    return rejected == 0 ? "no logs in the request" : "all " + rejected + " logs were rejected";
  }
}

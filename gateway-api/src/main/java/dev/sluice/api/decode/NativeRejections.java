package dev.sluice.api.decode;

import dev.sluice.core.domain.Rejection;
import java.util.List;

/** Verdicts in the words of native logs: the walker, who speaks OTLP, gives most of them. */
public final class NativeRejections {
  private static final String OTLP_RESOURCE = "resource.attributes";

  private NativeRejections() {}

  /** In OTLP a resource has attributes; in a native log it is its attributes. */
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

  /** What to say of a request in which no log was good. */
  public static String acceptedNoneMessage(int rejected) {
    return rejected == 0 ? "no logs in the request" : "all " + rejected + " logs were rejected";
  }
}

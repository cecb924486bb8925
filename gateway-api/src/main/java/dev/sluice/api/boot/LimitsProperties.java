package dev.sluice.api.boot;

import dev.sluice.core.domain.Limits;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The one table of limits; it rules every entrance and the OpenAPI document.
 *
 * @param maxRequest one request, on the wire and again after decompression
 * @param maxRecords log records in one request
 * @param maxExpanded all records of one request, each counted with its resource and scope
 * @param maxBody the body of one record
 * @param maxAttributes attributes of one record, resource or scope
 * @param maxKey an attribute's key
 * @param maxValue an attribute's value
 * @param maxName scope, event and severity names and schema URLs; service and host are attributes
 * @param maxNesting depth of lists and maps in a body or an attribute, at most 64
 */
@ConfigurationProperties("sluice.limits")
record LimitsProperties(
    @DefaultValue("64MB") DataSize maxRequest,
    @DefaultValue("200000") int maxRecords,
    @DefaultValue("256MB") DataSize maxExpanded,
    @DefaultValue("1MB") DataSize maxBody,
    @DefaultValue("256") int maxAttributes,
    @DefaultValue("256B") DataSize maxKey,
    @DefaultValue("64KB") DataSize maxValue,
    @DefaultValue("1KB") DataSize maxName,
    @DefaultValue("32") int maxNesting) {

  /** What a spool entry can hold. */
  private static final DataSize MAX_REQUEST = DataSize.ofMegabytes(512);

  LimitsProperties {
    if (maxRequest.compareTo(MAX_REQUEST) > 0) {
      throw new IllegalArgumentException(
          "sluice.limits.max-request must be at most 512MB, is " + maxRequest);
    }
    PropertyChecks.requirePositive("sluice.limits.max-records", maxRecords);
    PropertyChecks.requirePositive("sluice.limits.max-attributes", maxAttributes);
    PropertyChecks.requirePositive("sluice.limits.max-nesting", maxNesting);
  }

  Limits limits() {
    return new Limits(
        PropertyChecks.toArraySize("sluice.limits.max-request", maxRequest),
        maxRecords,
        PropertyChecks.toArraySize("sluice.limits.max-expanded", maxExpanded),
        PropertyChecks.toArraySize("sluice.limits.max-body", maxBody),
        maxAttributes,
        PropertyChecks.toArraySize("sluice.limits.max-key", maxKey),
        PropertyChecks.toArraySize("sluice.limits.max-value", maxValue),
        PropertyChecks.toArraySize("sluice.limits.max-name", maxName),
        maxNesting);
  }
}

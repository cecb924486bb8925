package dev.sluice.api.config;

import dev.sluice.core.domain.Limits;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Limits of requests and log records, for all protocols and for the OpenAPI document. A request
 * above a limit is rejected with 413; a record above a limit is rejected alone.
 *
 * @param maxRequest size of one request, on the wire and again after decompression, at most 512MB;
 *     a larger request is rejected
 * @param maxRecords log records in one request; a request with more is rejected
 * @param maxExpanded size of all records of one request, each counted with its resource and scope;
 *     a larger request is rejected
 * @param maxBody size of the body of one record; a record with a larger one is rejected
 * @param maxAttributes attributes of one record, resource or scope, repeated keys included, at most
 *     1024; a record with more is rejected
 * @param maxKey size of an attribute key; a record with a larger one is rejected
 * @param maxValue size of an attribute value; a record with a larger one is rejected
 * @param maxName size of a scope, event or severity name and of a schema URL; a record with a
 *     larger one is rejected; service and host names are attributes
 * @param maxNesting depth of lists and maps in a body or an attribute, at most 64; a record with
 *     more is rejected
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

  /** The capacity of a spool entry. */
  private static final DataSize MAX_REQUEST = DataSize.ofMegabytes(512);

  LimitsProperties {
    if (maxRequest.compareTo(MAX_REQUEST) > 0) {
      throw new IllegalArgumentException(
          "sluice.limits.max-request is " + maxRequest + ", must be at most 512MB");
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

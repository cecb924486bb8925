/**
 * Command-line clients of a running gateway: {@link Demo} for {@code make demo} and {@link
 * TemplateEvaluation} for {@code make eval}. They use the HTTP and OTLP interfaces only and depend
 * on no module of the gateway.
 */
@NullMarked
package dev.sluice.tools;

import org.jspecify.annotations.NullMarked;

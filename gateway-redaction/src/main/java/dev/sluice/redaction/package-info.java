/**
 * Redaction: detectors of sensitive values, the rules of a file, and the {@link
 * dev.sluice.core.port.Redactor} that applies them.
 */
@NullMarked
package dev.sluice.redaction;

import org.jspecify.annotations.NullMarked;

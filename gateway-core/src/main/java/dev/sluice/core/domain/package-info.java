/** What a log is: batches, identities, severities, limits. Knows nobody. */
@NullMarked
package dev.sluice.core.domain;

import org.jspecify.annotations.NullMarked;

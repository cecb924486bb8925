/** Two spools that are one: the second takes what the first cannot, and gives it back. */
@NullMarked
package dev.sluice.core.failover;

import org.jspecify.annotations.NullMarked;

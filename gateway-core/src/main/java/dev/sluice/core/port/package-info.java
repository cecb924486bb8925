/** What the core needs from outside, in the core's words. */
@NullMarked
package dev.sluice.core.port;

import org.jspecify.annotations.NullMarked;

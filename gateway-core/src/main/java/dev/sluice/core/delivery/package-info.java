/** The way out, from safe in the spool to stored. */
@NullMarked
package dev.sluice.core.delivery;

import org.jspecify.annotations.NullMarked;

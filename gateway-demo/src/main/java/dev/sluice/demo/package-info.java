/** Sends real lines to a running gateway as any client would, and reads them back. */
@NullMarked
package dev.sluice.demo;

import org.jspecify.annotations.NullMarked;

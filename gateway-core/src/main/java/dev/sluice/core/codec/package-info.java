/**
 * The encoding of a batch in a spool that keeps it as bytes. It needs LZ4 on the class path; the
 * other packages of the core do not.
 */
@NullMarked
package dev.sluice.core.codec;

import org.jspecify.annotations.NullMarked;

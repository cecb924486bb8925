/**
 * The log model: batches, log ids, severities, limits and rejections. {@link LogBatch} is the unit
 * of the spool; {@link Limits} holds the limits of all protocols. Every package may use it; it
 * depends on no other package.
 */
@NullMarked
package dev.sluice.core.domain;

import org.jspecify.annotations.NullMarked;

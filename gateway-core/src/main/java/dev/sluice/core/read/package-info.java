/** The way back: how stored logs are read without harm to the way in. */
@NullMarked
package dev.sluice.core.read;

import org.jspecify.annotations.NullMarked;

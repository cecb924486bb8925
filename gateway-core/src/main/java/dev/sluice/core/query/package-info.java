/** What can be asked of stored logs, in the words of no protocol and no database. */
@NullMarked
package dev.sluice.core.query;

import org.jspecify.annotations.NullMarked;

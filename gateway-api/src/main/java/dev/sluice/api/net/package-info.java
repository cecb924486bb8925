/** Limits and timeouts of connections, for the servers of all ports. */
@NullMarked
package dev.sluice.api.net;

import org.jspecify.annotations.NullMarked;

/** TLS of all ports: certificates that are renewed without a restart, safe versions and suites. */
@NullMarked
package dev.sluice.api.tls;

import org.jspecify.annotations.NullMarked;

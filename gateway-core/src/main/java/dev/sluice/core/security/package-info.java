/**
 * The identity of clients: API keys, principals and their scopes. It knows no protocol; {@code
 * gateway-api} finds the credential of a request and applies the result.
 */
@NullMarked
package dev.sluice.core.security;

import org.jspecify.annotations.NullMarked;

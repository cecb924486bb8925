/**
 * The command line {@code bin/sluice}: {@link SluiceCommand} is the program, and each subcommand a
 * class. They use the HTTP and OTLP interfaces and the files of the write-ahead log only, and
 * depend on no module of the gateway.
 */
@NullMarked
package dev.sluice.tools;

import org.jspecify.annotations.NullMarked;

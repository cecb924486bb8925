/** Wiring: settings, engines, adapters, life cycle. The only package that names adapters. */
@NullMarked
package dev.sluice.api.boot;

import org.jspecify.annotations.NullMarked;

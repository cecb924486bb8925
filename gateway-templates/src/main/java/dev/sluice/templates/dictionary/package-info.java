/**
 * Caches of the dictionary, which avoid a write for every known text. {@link SharedDictionaryCache}
 * belongs to a process, {@link WorkerDictionaryCache} to one delivery worker. Delivery, templates,
 * readers and the ClickHouse adapter use it. Only this package may use hash4j.
 */
@NullMarked
package dev.sluice.templates.dictionary;

import org.jspecify.annotations.NullMarked;

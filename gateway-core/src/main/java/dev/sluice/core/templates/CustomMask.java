package dev.sluice.core.templates;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A value that somebody knows to be one: what the pattern matches in the masked form of a message
 * becomes {@code <*>}.
 *
 * @param name for counters and messages
 * @param service the service whose messages it is for, {@code null} for those of all
 * @param pattern found anywhere in the masked form, not in the original
 */
public record CustomMask(String name, @Nullable String service, Pattern pattern) {}

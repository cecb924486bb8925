package dev.sluice.templates;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A mask that the operator configures: each match of the pattern in the masked form of a message is
 * replaced by {@code <*>}.
 *
 * @param name the name in messages
 * @param service the service whose messages are masked; {@code null} for all services
 * @param pattern the pattern, searched anywhere in the masked form, not in the original message
 */
public record CustomMask(String name, @Nullable String service, Pattern pattern) {}

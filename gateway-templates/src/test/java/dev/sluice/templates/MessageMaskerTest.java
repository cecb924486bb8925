package dev.sluice.templates;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MessageMaskerTest {
  private final MessageMasker masker = new MessageMasker();

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      quoteCharacter = '`',
      value = {
        "took 17 -> took <*>",
        "took -1.5e9 -> took <*>",
        "id 0x7fed806eb5d -> id <*>",
        "id 3f2c1a9e-12ab-4cde-9f00-aabbccddeeff -> id <*>",
        "id a64f992 -> id <*>",
        "id nW3kq9Zx -> id <*>",
        "block blk_38865049064139660 -> block blk_<*>",
        "block blk_-16089996 -> block blk_<*>",
        "lost eth0 -> lost eth<*>",
        "done.........0 -> done.........<*>",
        "started in 3.4. Next -> started in <*>. Next",
        "HTTP/1.1 over TLSv1.3 -> HTTP/<*> over TLSv<*>",
      })
  void apply_numbersAndIdentifiers_keepsTheirPrefix(String body, String expected) {
    assertThat(masked(body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      quoteCharacter = '`',
      value = {
        "from 10.0.0.1 -> from <*>",
        "from 10.0.0.1:80 -> from <*>",
        "from 2001:db8::ff00:42:8329 -> from <*>",
        "from fe80::1%eth0 -> from <*>",
        "from 5c:50:15:4c:18:13 -> from <*>",
        "from aa:bb:cc:dd:ee:ff -> from <*>",
        "from adsl-70-242.dsl.ksc2mo.swbell.net -> from <*>",
        "from proxy.example.edu:5070 -> from <*>",
        "from shop.example.com -> from shop.example.com",
        "from bob@example.com -> from <*>",
        "at http://example.com:80/a?b=c,d -> at <*>",
        "at [http://example.com/a] -> at [<*>]",
        "at /var/log/x.log: gone -> at <*>: gone",
        "at C:\\Windows\\x.dll -> at <*>",
        "at ./run.sh, again -> at <*>, again",
        "at src/main/x.c -> at <*>",
        "load/store of Input/output -> load/store of Input/output",
        "at Main.java:42 -> at Main.java:<*>",
      })
  void apply_addressesAndPaths_areValues(String body, String expected) {
    assertThat(masked(body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      quoteCharacter = '`',
      value = {
        "at 2024-10-10T13:55:36.123Z -> at <*>",
        "at 2024-10-10 13:55:36,123 -> at <*>",
        "at Fri Jun 17 07:07:00 2005 -> at <*>",
        "at 10/Oct/2024:13:55:36 +0000 -> at <*>",
        "at 07:15 PM UTC -> at <*>",
        "took 5 ms -> took <*>",
        "took 5ms -> took <*>",
        "took <1 sec -> took <*>",
        "used 1.5 GB of 64 KiB -> used <*> of <*>",
        "ms is a unit -> ms is a unit",
        "is true or null -> is <*> or <*>",
      })
  void apply_timesSizesAndConstants_areValues(String body, String expected) {
    assertThat(masked(body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      quoteCharacter = '`',
      value = {
        "ids 1, 2, 3 -> ids <*>",
        "ids 1 2 3 -> ids <*>",
        "ids blk_1 blk_2, blk_3 -> ids blk_<*>",
        "ids [1,2] [3] -> ids [<*>] [<*>]",
        "of 1 (2) -> of <*> (<*>)",
        "host () -> host (<*>)",
        "call() -> call()",
      })
  void apply_lists_becomeOneValue(String body, String expected) {
    assertThat(masked(body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiterString = " -> ",
      quoteCharacter = '`',
      value = {
        "level=info msg=\"it is up\" user=bob -> level=info msg=\"it is up\" user=<*>",
        "it is up user=bob -> it is up user=bob",
        "it is up tag=\"View Lock\" -> it is up tag=<*>",
        "{\"msg\":\"up\",\"user\":\"bob\"} -> {\"msg\":\"up\",\"user\":<*>}",
        "{\"msg\": \"a \\\"b\\\" 1\", \"n\": 1} -> {\"msg\": \"a \\\"b\\\" <*>\", \"n\": <*>}",
        "{\"tags\":[\"a\",\"b\"],\"x\":{\"y\":true}} -> {\"tags\":<*>,\"x\":{\"y\":<*>}}",
        "where id = 5 and name = 'bob' -> where id = <*> and name = <*>",
        "can't do \"this\" -> can't do \"this\"",
        "\"GET /x HTTP/1.1\" 200 \"-\" -> \"GET <*> HTTP/<*>\" <*> \"<*>\"",
        "by \"Mozilla/5.0 (X11; a)\" -> by \"<*>\"",
        "user=\"bob -> user=<*>",
      })
  void apply_pairsAndQuotes_keepsKeysAndMessages(String body, String expected) {
    assertThat(masked(body)).isEqualTo(expected);
  }

  @Test
  void apply_stackTrace_keepsTheExceptionMessages() {
    String body =
        """
        Order 17 failed
        a.OrderException: no card 4
        \tat a.Order.pay(Order.java:42)
        Caused by: java.io.IOException: Broken pipe
        \tat a.Net.send(Net.java:7)
        \t... 12 more
        """;

    assertThat(masked(body))
        .isEqualTo(
            """
            Order <*> failed
            a.OrderException: no card <*>
            Caused by: java.io.IOException: Broken pipe""");
  }

  @Test
  void apply_manyLines_keepsTheFirst() {
    assertThat(masked("a\nb\n\nc\nd\ne\nf")).isEqualTo("a\nb\nc\nd");
  }

  @Test
  void apply_documentOfSeveralLines_keepsIndentedLines() {
    assertThat(masked("{\n  \"a\": 1,\n  \"b\": 2\n}")).isEqualTo("{\n\"a\": <*>,\n\"b\": <*>\n}");
  }

  @Test
  void apply_whiteSpace_becomesOneSpace() {
    assertThat(masked("  a \t b\r\n")).isEqualTo("a b");
    assertThat(masked("")).isEmpty();
    assertThat(masked(" \n ")).isEmpty();
  }

  @Test
  void apply_longBody_isTruncatedAndEndsInAPlaceholder() {
    String words = "word ".repeat(1000);

    assertThat(masked(words)).hasSizeLessThanOrEqualTo(MessageMasker.MAX_OUTPUT).endsWith(" <*>");
    assertThat(masked(words + "other")).isEqualTo(masked(words + "another"));
  }

  @Test
  void apply_rangeOfAnArray_readsOnlyThatRange() {
    byte[] whole = "12 abc 34".getBytes(UTF_8);

    masker.apply(whole, 3, 3);

    assertThat(masker.text()).isEqualTo("abc");
  }

  @Property(tries = 5_000)
  void apply_anyBytes_staysInBoundsAndIsDeterministic(
      @ForAll("bodies") byte[] body, @ForAll("trailing") byte[] trailing) {
    masker.apply(body, 0, body.length);
    byte[] first = Arrays.copyOf(masker.bytes(), masker.length());
    byte[] moved = new byte[5 + body.length + trailing.length];
    System.arraycopy(body, 0, moved, 5, body.length);
    System.arraycopy(trailing, 0, moved, 5 + body.length, trailing.length);
    Arrays.fill(moved, 0, 5, (byte) '1');
    var other = new MessageMasker();
    other.apply(moved, 5, body.length);

    assertThat(first).hasSizeLessThanOrEqualTo(MessageMasker.MAX_OUTPUT);
    assertThat(Arrays.copyOf(other.bytes(), other.length())).isEqualTo(first);
  }

  @Property(tries = 20_000)
  void apply_anyBytes_equalsTheSlowPath(@ForAll("bodies") byte[] body) {
    var slow = new MessageMasker(true);
    slow.apply(body, 0, body.length);

    masker.apply(body, 0, body.length);

    assertThat(masker.text()).isEqualTo(slow.text());
  }

  /** Each unit is tested without a value before it and after a value. */
  @ParameterizedTest
  @ValueSource(strings = {"ms", "MST", "MDT", "MiB", "TiB", "AM", "s", "minutes", "hours"})
  void apply_unit_isMaskedOnlyAfterAValue(String unit) {
    assertThat(masked(unit)).isEqualTo(unit);
    assertThat(masked("  " + unit + " of it all")).isEqualTo(unit + " of it all");
    assertThat(masked("took the " + unit + " of it")).isEqualTo("took the " + unit + " of it");
    assertThat(masked("took 15 " + unit + " of it all")).isEqualTo("took <*> of it all");
  }

  @Provide
  Arbitrary<byte[]> trailing() {
    return Arbitraries.strings()
        .withChars("a1 =:\".-]")
        .ofMinLength(1)
        .ofMaxLength(64)
        .map(text -> text.getBytes(UTF_8));
  }

  @Provide
  Arbitrary<byte[]> bodies() {
    var piece =
        Arbitraries.of(
            "a",
            "bob",
            "nothing",
            "services",
            "neighbour",
            "reconfiguration",
            "reconfigurations",
            " ",
            "  ",
            "=",
            "\"",
            "'",
            "/",
            ":",
            ".",
            "-",
            "_",
            "<",
            ">",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ",",
            "\n",
            "\t",
            "17",
            "1234567.",
            "12345678",
            "123456789012345",
            "1234-567890123456",
            "0x1f",
            "ff:",
            "ms",
            "MST",
            "TiB",
            "minutes",
            "seconds",
            "true",
            "False",
            "null",
            "level",
            "severity",
            "nearly eight",
            "x ".repeat(1_000),
            "Jun",
            "<*>",
            "msg",
            "@",
            "\\",
            "\u00e4",
            "\uFFFF",
            "\0",
            "http://",
            "word".repeat(300),
            "9".repeat(1500));
    var text = piece.list().ofMaxSize(60).map(pieces -> String.join("", pieces).getBytes(UTF_8));
    var bytes = Arbitraries.bytes().array(byte[].class).ofMaxSize(200);
    return Arbitraries.oneOf(text, bytes);
  }

  @Test
  void apply_repeated_allocatesNothing() {
    var random = new Random(7);
    byte[][] bodies = new byte[64][];
    for (int i = 0; i < bodies.length; i++) {
      bodies[i] =
          ("user u" + random.nextInt() + "=\"x y\" took " + i + " ms at /a/b " + "w ".repeat(i))
              .getBytes(UTF_8);
    }
    var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    maskAll(bodies);
    long before = threads.getCurrentThreadAllocatedBytes();

    for (int i = 0; i < 1000; i++) {
      maskAll(bodies);
    }

    // the measurement itself may allocate; one byte per message would be 64,000 bytes
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(4096);
  }

  private void maskAll(byte[][] bodies) {
    for (byte[] body : bodies) {
      masker.apply(body, 0, body.length);
    }
  }

  private String masked(String body) {
    byte[] bytes = body.getBytes(UTF_8);
    masker.apply(bytes, 0, bytes.length);
    return masker.text();
  }
}

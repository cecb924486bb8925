package dev.sluice.templates;

/**
 * The class of a byte: the event of the tokenizer's state diagram, by the byte at which a token may
 * begin. The bits of {@link #bits} classify the bytes inside a token.
 */
enum TokenClass {
  /** Begins or continues a token. */
  TOKEN,
  SPACE,
  LINE_END,
  QUOTE,
  /** A byte between tokens, which is copied. */
  DELIMITER;

  static final int LETTER = 1;
  static final int HEX = 1 << 1;
  static final int DIGIT = 1 << 2;
  static final int DOT = 1 << 3;
  static final int SLASH = 1 << 4;
  static final int AT = 1 << 5;

  /** Occurs inside tokens and has no meaning. */
  static final int CONNECTOR = 1 << 6;

  static final int COLON = 1 << 7;
  static final int WHITE_SPACE = 1 << 8;

  /** Ends a token; a colon and white space do too. */
  static final int PUNCTUATION = 1 << 9;

  /** Ends a token that is copied without analysis. */
  static final int COPIED = 1 << 10;

  /** Between two values, it may join them. */
  static final int SEPARATOR = 1 << 11;

  static final int LIST_SEPARATOR = 1 << 12;

  /** Before a digit, it belongs to the number. */
  static final int SIGN = 1 << 13;

  /** Before {@code <} and a number, which is a value then. */
  static final int OPENING = 1 << 14;

  /** Ends an unquoted value of a key. */
  static final int PAIR_END = 1 << 15;

  static final int TOKEN_END = PUNCTUATION | COLON | WHITE_SPACE;
  static final int ANY_LETTER = LETTER | HEX;

  /** Keywords that are values, such as the name of a day. */
  static final int VALUE = 1;

  /** Keywords that belong to the number before them. */
  static final int UNIT = 2;

  /** Keys whose value is the message or its level. */
  static final int MESSAGE_KEY = 3;

  private static final int[] BITS = new int[256];
  private static final TokenClass[] CLASSES = new TokenClass[256];

  private static final int KEYWORD_SLOTS = 512;
  private static final long[] KEYWORDS = new long[KEYWORD_SLOTS];
  private static final byte[] KEYWORD_KINDS = new byte[KEYWORD_SLOTS];

  /** By kind and length of a keyword: bit i is set if one begins with the letter 'A' + i. */
  private static final long[] INITIALS = new long[(MESSAGE_KEY + 1) << 4];

  static {
    addBits(DIGIT, "0123456789");
    addBits(HEX, "abcdefABCDEF");
    addBits(LETTER, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ");
    addBits(DOT, ".");
    addBits(SLASH, "/\\");
    addBits(AT, "@");
    addBits(COLON, ":");
    addBits(PUNCTUATION, "\"'=()[]{}!?,;|<>");
    addBits(COPIED, " =()[]{}!?,;|<>");
    addBits(SEPARATOR, "/:,;|<>-");
    addBits(LIST_SEPARATOR, "/:,;|-");
    addBits(SIGN, "-+~.$@");
    addBits(OPENING, " ([\n");
    addBits(PAIR_END, ",;})");
    for (int c = 0; c < BITS.length; c++) {
      if (c >= 0x80) {
        BITS[c] = LETTER;
      } else if (c <= ' ' || c == 0x7F) {
        BITS[c] |= WHITE_SPACE | PAIR_END;
      } else if ((BITS[c] & (ANY_LETTER | DIGIT | DOT | SLASH | AT | TOKEN_END)) == 0) {
        BITS[c] |= CONNECTOR;
      }
      CLASSES[c] =
          (BITS[c] & TOKEN_END) == 0
              ? TOKEN
              : switch (c) {
                case '\n' -> LINE_END;
                case '"', '\'' -> QUOTE;
                default -> (BITS[c] & WHITE_SPACE) != 0 ? SPACE : DELIMITER;
              };
    }
    addKeywords(VALUE, "true false null nil None True False NULL");
    addKeywords(VALUE, "Mon Tue Wed Thu Fri Sat Sun");
    addKeywords(VALUE, "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec");
    addKeywords(
        UNIT, "ns us ms s sec secs second seconds min mins minute minutes h hr hrs hour hours");
    addKeywords(UNIT, "d day days B KB kB MB GB TB PB KiB MiB GiB TiB K M G");
    addKeywords(UNIT, "AM PM am pm UTC GMT EST EDT CST CDT MST MDT PST PDT CET CEST");
    addKeywords(MESSAGE_KEY, "msg message event level lvl severity Message MESSAGE");
  }

  private static void addBits(int bits, String bytes) {
    for (int i = 0; i < bytes.length(); i++) {
      BITS[bytes.charAt(i)] |= bits;
    }
  }

  private static void addKeywords(int kind, String list) {
    for (String word : list.split(" ", -1)) {
      long packed = 0;
      for (int i = word.length() - 1; i >= 0; i--) {
        packed = packed << 8 | word.charAt(i);
      }
      int slot = slot(packed);
      while (KEYWORDS[slot] != 0) {
        slot = slot + 1 & KEYWORD_SLOTS - 1;
      }
      KEYWORDS[slot] = packed;
      KEYWORD_KINDS[slot] = (byte) kind;
      INITIALS[kind << 4 | word.length()] |= 1L << word.charAt(0) - 'A';
    }
  }

  private static int slot(long packed) {
    return (int) (packed * 0x9E3779B97F4A7C15L >>> 55);
  }

  static TokenClass of(byte c) {
    return CLASSES[c & 0xFF];
  }

  static int bits(byte c) {
    return BITS[c & 0xFF];
  }

  /** Whether the byte has one of the bits. */
  static boolean is(byte c, int bits) {
    return (BITS[c & 0xFF] & bits) != 0;
  }

  /**
   * Whether a word may be a keyword, by its first letter, which excludes most words.
   *
   * @param length from 1 to 8
   */
  static boolean mayBeKeyword(int kind, byte initial, int length) {
    return (INITIALS[kind << 4 | length] >>> initial - 'A' & 1) != 0;
  }

  /** Returns the kind of the keyword, which has one to eight bytes; 0 if it is none. */
  static int keywordKind(byte[] in, int from, int length) {
    if (from <= in.length - Long.BYTES) {
      return keywordKind(SwarAscii.firstBytes((long) SwarAscii.LONG.get(in, from), length));
    }
    long packed = 0;
    for (int i = length - 1; i >= 0; i--) {
      packed = packed << 8 | in[from + i] & 0xFF;
    }
    return keywordKind(packed);
  }

  /**
   * @param packed the bytes of the word; the first is the lowest
   */
  static int keywordKind(long packed) {
    int slot = slot(packed);
    while (KEYWORDS[slot] != 0) {
      if (KEYWORDS[slot] == packed) {
        return KEYWORD_KINDS[slot];
      }
      slot = slot + 1 & KEYWORD_SLOTS - 1;
    }
    return 0;
  }
}

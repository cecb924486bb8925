package dev.sluice.core.search;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Embedder;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class RecipeTest {
  /** Vectors of before would be taken for those of today. */
  @Test
  void name_whatGoesIntoVectors_isOfTheVersion() throws Exception {
    var passage =
        new Passage("web", "http.NoRouteToHost", "connect to <*> timed out: ENOSPC", "connect");
    var digest = MessageDigest.getInstance("SHA-256");
    try (var in = Glossary.class.getResourceAsStream("glossary.tsv")) {
      digest.update(Objects.requireNonNull(in).readAllBytes());
    }
    for (var text :
        List.of(passage.asWritten(), passage.inWords(), passage.jargon(), passage.words())) {
      digest.update(text.getBytes(UTF_8));
    }

    var recipe = new Recipe(new NoEmbedder(), Glossary.bundled());

    assertThat(recipe.name()).isEqualTo("none/3/1");
    assertThat(HexFormat.of().formatHex(digest.digest(), 0, 8))
        .as("what goes into vectors has changed: Recipe.VERSION has to, and then this")
        .isEqualTo("243d563522a33842");
  }

  private static final class NoEmbedder implements Embedder {
    @Override
    public Model model() {
      return new Model("none", 3);
    }

    @Override
    public List<Embedding> embed(List<String> texts) {
      throw new Unavailable("there is none");
    }
  }
}

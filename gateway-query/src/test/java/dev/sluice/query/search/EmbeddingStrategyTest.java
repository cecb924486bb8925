package dev.sluice.query.search;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import dev.sluice.query.search.EmbeddingStrategy.EmbeddedQuery;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class EmbeddingStrategyTest {
  private static final float[] X = {1, 0, 0};
  private static final float[] Y = {0, 1, 0};

  /** Without a new version, vectors of changed texts would be compared with older vectors. */
  @Test
  void name_embeddedTexts_belongToTheVersion() throws Exception {
    var templateDocument =
        new TemplateDocument(
            "web", "http.NoRouteToHost", "connect to <*> timed out: ENOSPC", "connect");
    var digest = MessageDigest.getInstance("SHA-256");
    try (var in = Glossary.class.getResourceAsStream("glossary.tsv")) {
      digest.update(Objects.requireNonNull(in).readAllBytes());
    }
    for (var text :
        List.of(
            templateDocument.originalText(),
            templateDocument.plainText(),
            templateDocument.glossaryKey(),
            templateDocument.words())) {
      digest.update(text.getBytes(UTF_8));
    }

    var embeddingStrategy = new EmbeddingStrategy(new UnavailableEmbedder(), Glossary.bundled());

    assertThat(embeddingStrategy.name()).isEqualTo("none/3/1");
    assertThat(HexFormat.of().formatHex(digest.digest(), 0, 8))
        .as("the embedded texts changed: change EmbeddingStrategy.VERSION, and then this hash")
        .isEqualTo("243d563522a33842");
  }

  @Test
  void scores_queryTokensInATemplate_outweighASlightlyCloserSentenceVector() {
    var embeddingStrategy = new EmbeddingStrategy(new UnavailableEmbedder(), Glossary.bundled());
    var matchingTokens = MaxSim.pack(List.of(new float[] {0, 0, 1}, X));
    var otherTokens = MaxSim.pack(List.of(Y, Y));
    var closer = new Vectors(new UUID(1, 1), new float[] {0.8f, 0.6f, 0}, otherTokens);
    var meant = new Vectors(new UUID(1, 2), new float[] {0.6f, 0.8f, 0}, matchingTokens);

    var bySentence =
        embeddingStrategy.scores(
            new EmbeddedQuery(X, new byte[0], List.of()), List.of(closer, meant));
    var bySentenceAndTokens =
        embeddingStrategy.scores(
            new EmbeddedQuery(X, MaxSim.pack(List.of(X)), List.of()), List.of(closer, meant));

    assertThat(bySentence[0]).isGreaterThan(bySentence[1]);
    assertThat(bySentenceAndTokens[0]).isLessThan(bySentenceAndTokens[1]);
  }

  /** The case until all templates are embedded by a model that provides token vectors. */
  @Test
  void scores_templateWithoutTokens_usesTheSentenceVector() {
    var embeddingStrategy = new EmbeddingStrategy(new UnavailableEmbedder(), Glossary.bundled());
    var template = new Vectors(new UUID(1, 1), new float[] {0.6f, 0.8f, 0}, new byte[0]);

    assertThat(
            embeddingStrategy.scores(
                new EmbeddedQuery(X, MaxSim.pack(List.of(X, Y)), List.of()), List.of(template)))
        .containsExactly(new double[] {0.6}, within(1e-6));
  }

  @Test
  void scores_modelWithoutTokens_usesTheSentenceVector() throws Exception {
    var embeddingStrategy = new EmbeddingStrategy(new SentenceEmbedder(), Glossary.bundled());

    var embeddedQuery = embeddingStrategy.embedQuery("disk");
    var documents = Map.of(new UUID(1, 1), new TemplateDocument("web", "", "enospc", ""));
    var template = embeddingStrategy.embeddingsOf(documents).getFirst();

    assertThat(embeddedQuery.tokens()).isEmpty();
    assertThat(template.tokenVectors()).isEmpty();
    assertThat(embeddingStrategy.scores(embeddedQuery, List.of(template)))
        .containsExactly(new double[] {1}, within(1e-6));
  }

  @Test
  void embedQuery_wordsSplitIntoSubwords_areOutOfVocabulary() throws Exception {
    var embeddingStrategy =
        new EmbeddingStrategy(
            new SubwordEmbedder("who", "is", "dead", "##bee", "##f", "?", "7", "##f", "muller"),
            Glossary.bundled());

    assertThat(embeddingStrategy.embedQuery("who is Deadbeef? 7f Müller").outOfVocabulary())
        .containsExactly("deadbeef", "müller");
    assertThat(
            new EmbeddingStrategy(new SentenceEmbedder(), Glossary.bundled())
                .embedQuery("deadbeef")
                .outOfVocabulary())
        .isEmpty();
  }

  /**
   * An embedder that returns the same tokens for each text.
   *
   * @param subwords the tokens of each text
   */
  private record SubwordEmbedder(String... subwords) implements Embedder {
    @Override
    public Model model() {
      return new Model("subwords", 3);
    }

    @Override
    public List<Embedding> embed(List<String> texts) {
      var tokens = Stream.of(subwords).map(subword -> new Token(subword, X)).toList();
      return texts.stream().map(_ -> new Embedding(X.clone(), tokens)).toList();
    }
  }

  /** An embedder without token vectors, as an endpoint is; all texts have the same vector. */
  private static final class SentenceEmbedder implements Embedder {
    @Override
    public Model model() {
      return new Model("sentence", 3);
    }

    @Override
    public List<Embedding> embed(List<String> texts) {
      return texts.stream().map(_ -> new Embedding(X.clone(), List.of())).toList();
    }
  }

  private static final class UnavailableEmbedder implements Embedder {
    @Override
    public Model model() {
      return new Model("none", 3);
    }

    @Override
    public List<Embedding> embed(List<String> texts) {
      throw new EmbedderUnavailableException("no model");
    }
  }
}

package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TextNormalizerTest {

  @Test
  void withoutValues_template_hasSpacesForPlaceholders() {
    assertThat(TextNormalizer.withoutValues("user <*> from <*>:<*>")).isEqualTo("user from :");
    assertThat(TextNormalizer.withoutValues("<*>")).isEmpty();
  }

  @Test
  void toPlainWords_identifiers_areSplit() {
    assertThat(TextNormalizer.toPlainWords("NoRouteToHostException"))
        .isEqualTo("no route to host exception");
    assertThat(TextNormalizer.toPlainWords("dfs.DataNode$PacketResponder"))
        .isEqualTo("dfs data node packet responder");
    assertThat(TextNormalizer.toPlainWords("HTTPServer_error-CODE=7"))
        .isEqualTo("http server error code 7");
    assertThat(TextNormalizer.toPlainWords("...")).isEmpty();
  }

  @Test
  void component_loggersName_isItsLastPart() {
    assertThat(TextNormalizer.component("org.apache.hadoop.v2.app.MRAppMaster"))
        .isEqualTo("mr app master");
    assertThat(TextNormalizer.component("2931:sshd(pam_unix)")).isEqualTo("sshd pam unix");
    assertThat(TextNormalizer.component("")).isEmpty();
  }

  @Test
  void words_anyText_areLettersAndDigitsOnce() {
    assertThat(TextNormalizer.words("Größe: 0x80070001, größe — α_β"))
        .containsExactly("größe", "0x80070001", "α", "β");
    assertThat(TextNormalizer.words("?!")).isEmpty();
  }

  @Test
  void significantWords_query_omitsStopWords() {
    assertThat(TextNormalizer.significantWords("was the disk of it full"))
        .containsExactly("disk", "full");
    assertThat(TextNormalizer.significantWords("to be or is it"))
        .containsExactly("to", "be", "or", "is", "it");
    assertThat(TextNormalizer.significantWords("")).isEmpty();
  }

  @Test
  void values_query_areItsIdentifiersAndCodes() {
    assertThat(TextNormalizer.values("what became of blk_38865049064139660 on 10.250.14.224?"))
        .containsExactly("blk_38865049064139660", "10.250.14.224");
    assertThat(TextNormalizer.values("error 0x80070001 in /var/log, please"))
        .containsExactly("0x80070001", "/var/log");
    assertThat(TextNormalizer.values("guest file-transfer access without credentials")).isEmpty();
    assertThat(TextNormalizer.values("v2 of it")).isEmpty();
    assertThat(TextNormalizer.values("who is user=root, request_id=7f3a?"))
        .containsExactly("root", "7f3a");
    assertThat(TextNormalizer.values("a= b! =c=")).isEmpty();
    assertThat(
            TextNormalizer.values("/api/orders?id=42 pid=7 MTIzNDU2== https://h/p?a=1&token=abc"))
        .containsExactly("/api/orders?id=42", "pid=7", "MTIzNDU2", "https://h/p?a=1&token=abc");
    assertThat(TextNormalizer.values("path=/var/log, user='root'"))
        .containsExactly("/var/log", "root");
    assertThat(TextNormalizer.values("who is \"deadbeef\" and why \"no route\" to user=\"fztu\"?"))
        .containsExactly("deadbeef", "no route", "fztu");
    assertThat(TextNormalizer.values("\"\" \"!\" five\"")).isEmpty();
  }
}

package dev.sluice.core.search;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WordingTest {

  @Test
  void withoutValues_template_hasSpacesInTheirPlaces() {
    assertThat(Wording.withoutValues("user <*> from <*>:<*>")).isEqualTo("user from :");
    assertThat(Wording.withoutValues("<*>")).isEmpty();
  }

  @Test
  void plain_identifiers_areTakenApart() {
    assertThat(Wording.plain("NoRouteToHostException")).isEqualTo("no route to host exception");
    assertThat(Wording.plain("dfs.DataNode$PacketResponder"))
        .isEqualTo("dfs data node packet responder");
    assertThat(Wording.plain("HTTPServer_error-CODE=7")).isEqualTo("http server error code 7");
    assertThat(Wording.plain("...")).isEmpty();
  }

  @Test
  void component_loggersName_isItsLastPart() {
    assertThat(Wording.component("org.apache.hadoop.v2.app.MRAppMaster"))
        .isEqualTo("mr app master");
    assertThat(Wording.component("2931:sshd(pam_unix)")).isEqualTo("sshd pam unix");
    assertThat(Wording.component("")).isEmpty();
  }

  @Test
  void words_anyText_areLettersAndDigitsOnce() {
    assertThat(Wording.words("Größe: 0x80070001, größe — α_β"))
        .containsExactly("größe", "0x80070001", "α", "β");
    assertThat(Wording.words("?!")).isEmpty();
  }

  @Test
  void telling_question_isWithoutStopWords() {
    assertThat(Wording.telling("was the disk of it full")).containsExactly("disk", "full");
    assertThat(Wording.telling("to be or is it")).containsExactly("to", "be", "or", "is", "it");
    assertThat(Wording.telling("")).isEmpty();
  }

  @Test
  void values_question_areWhatNoLanguageHas() {
    assertThat(Wording.values("what became of blk_38865049064139660 on 10.250.14.224?"))
        .containsExactly("blk_38865049064139660", "10.250.14.224");
    assertThat(Wording.values("error 0x80070001 in /var/log, please"))
        .containsExactly("0x80070001", "/var/log");
    assertThat(Wording.values("guest file-transfer access without credentials")).isEmpty();
    assertThat(Wording.values("v2 of it")).isEmpty();
    assertThat(Wording.values("who is user=root, request_id=7f3a?"))
        .containsExactly("root", "7f3a");
    assertThat(Wording.values("a= b! =c=")).isEmpty();
    assertThat(Wording.values("/api/orders?id=42 pid=7 MTIzNDU2== https://h/p?a=1&token=abc"))
        .containsExactly("/api/orders?id=42", "pid=7", "MTIzNDU2", "https://h/p?a=1&token=abc");
    assertThat(Wording.values("path=/var/log, user='root'")).containsExactly("/var/log", "root");
    assertThat(Wording.values("who is \"deadbeef\" and why \"no route\" to user=\"fztu\"?"))
        .containsExactly("deadbeef", "no route", "fztu");
    assertThat(Wording.values("\"\" \"!\" five\"")).isEmpty();
  }
}

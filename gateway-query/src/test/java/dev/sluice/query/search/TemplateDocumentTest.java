package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TemplateDocumentTest {

  @Test
  void texts_templateOfAComponent_areItsRepresentations() {
    var templateDocument =
        new TemplateDocument(
            "hdfs",
            "dfs.DataNode$PacketResponder",
            "PacketResponder <*> for block <*> terminating",
            "PacketResponder 1 for block blk_38 terminating");

    assertThat(templateDocument.originalText())
        .isEqualTo("hdfs data node packet responder: PacketResponder for block terminating");
    assertThat(templateDocument.plainText())
        .isEqualTo("hdfs: packet responder for block terminating");
    assertThat(templateDocument.glossaryKey())
        .isEqualTo("data node packet responder packet responder for block terminating");
    assertThat(templateDocument.words().split(" "))
        .contains("hdfs", "packetresponder", "node", "block", "38", "terminating")
        .doesNotHaveDuplicates();
  }

  @Test
  void texts_originUnknown_areTheTemplate() {
    var templateDocument = new TemplateDocument("", "", "disk full", "");

    assertThat(templateDocument.originalText()).isEqualTo("disk full");
    assertThat(templateDocument.plainText()).isEqualTo("disk full");
    assertThat(templateDocument.words()).isEqualTo("disk full");
  }
}

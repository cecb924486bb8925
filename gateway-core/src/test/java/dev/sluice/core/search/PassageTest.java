package dev.sluice.core.search;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PassageTest {

  @Test
  void texts_templateOfAComponent_areItsViews() {
    var passage =
        new Passage(
            "hdfs",
            "dfs.DataNode$PacketResponder",
            "PacketResponder <*> for block <*> terminating",
            "PacketResponder 1 for block blk_38 terminating");

    assertThat(passage.asWritten())
        .isEqualTo("hdfs data node packet responder: PacketResponder for block terminating");
    assertThat(passage.inWords()).isEqualTo("hdfs: packet responder for block terminating");
    assertThat(passage.jargon())
        .isEqualTo("data node packet responder packet responder for block terminating");
    assertThat(passage.words().split(" "))
        .contains("hdfs", "packetresponder", "node", "block", "38", "terminating")
        .doesNotHaveDuplicates();
  }

  @Test
  void texts_nothingKnownOfWhereItComesFrom_areTheTemplate() {
    var passage = new Passage("", "", "disk full", "");

    assertThat(passage.asWritten()).isEqualTo("disk full");
    assertThat(passage.inWords()).isEqualTo("disk full");
    assertThat(passage.words()).isEqualTo("disk full");
  }
}

package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.LineChart.Line;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;

class LineChartTest {
  private static final Pattern CIRCLE = Pattern.compile("cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");

  private static String svg(boolean logarithmic, List<Double> x, Line... lines) {
    return new LineChart("a < b", "rows", "µs", logarithmic, x, List.of(lines)).svg();
  }

  /** Returns the coordinates of the dots. */
  private static List<double[]> dots(String svg) {
    var dots = new ArrayList<double[]>();
    var found = CIRCLE.matcher(svg);
    while (found.find()) {
      dots.add(
          new double[] {Double.parseDouble(found.group(1)), Double.parseDouble(found.group(2))});
    }
    return dots;
  }

  @Test
  void svg_anyLines_isXmlWithTitleAxesAndUnits() throws Exception {
    var svg = svg(true, List.of(1.0, 10.0), new Line("gateway", List.of(0.5, 1.0)));

    var text =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)))
            .getDocumentElement()
            .getTextContent();
    assertThat(text).contains("a < b", "rows", "µs", "gateway");
    assertThat(svg).contains("fill=\"#ffffff\""); // its own background
  }

  @Test
  void svg_logarithmic_equalFactorsHaveEqualDistances() {
    var dots = dots(svg(true, List.of(1.0, 10.0, 100.0), new Line("", List.of(1.0, 1.0, 1.0))));

    assertThat(dots.get(1)[0] - dots.get(0)[0]).isEqualTo(dots.get(2)[0] - dots.get(1)[0]);
  }

  @Test
  void svg_logarithmicFromZero_isOneStepBeforeTheSmallestValue() {
    var svg = svg(true, List.of(0.0, 1e7, 1e8), new Line("", List.of(1.0, 1.0, 1.0)));

    var dots = dots(svg);
    assertThat(dots.get(1)[0] - dots.get(0)[0]).isEqualTo(dots.get(2)[0] - dots.get(1)[0]);
    assertThat(svg).contains(">0</text>", ">10M</text>", ">100M</text>");
  }

  @Test
  void svg_values_riseFromZero() {
    var dots = dots(svg(false, List.of(1.0, 2.0, 3.0), new Line("", List.of(0.0, 2.0, 4.0))));

    assertThat(dots.get(0)[1]).isEqualTo(300);
    assertThat(dots.get(0)[1] - dots.get(1)[1]).isEqualTo(dots.get(1)[1] - dots.get(2)[1]);
    assertThat(dots.get(2)[1]).isEqualTo(66); // the top, because 4 is a grid line
  }

  @Test
  void svg_noValue_noDot() {
    var dots = dots(svg(false, List.of(1.0, 2.0), new Line("", Arrays.asList(Double.NaN, 2.0))));

    assertThat(dots).hasSize(1);
  }

  @Test
  void svg_onlyZeros_isDrawn() {
    var svg = svg(true, List.of(0.0), new Line("", List.of(0.0)));

    assertThat(svg).doesNotContain("NaN", "Infinity");
    assertThat(dots(svg)).hasSize(1);
  }
}

package dev.sluice.api.faults;

import java.time.Duration;
import java.util.Random;

/**
 * A row of the suite.
 *
 * @param name by which it is chosen and under which docs/failures.md tells of it
 * @param rounds how often it happens
 * @param plan of the site on which all its rounds happen
 * @param patience how long the gateway may take to recover from it
 * @param script what is done to the site while logs are sent
 */
record Fault(String name, int rounds, Site.Plan plan, Duration patience, Script script) {
  static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Makes the fault happen and takes it away again. */
  interface Script {
    /**
     * @return what proves that it happened
     * @throws Exception when it did not, or could not be taken away
     */
    String run(Round round) throws Exception;
  }

  /** One time that a fault happens: who it happens to, under which load, by which chance. */
  record Round(Site site, Load load, Random random) {
    /** Lets up to so many logs be acknowledged: a random moment. */
    void awaitMoment(int logs) {
      load.awaitAcknowledged(1 + random.nextInt(logs));
    }

    /** From now on the gateway may recover. */
    void over() {
      load.mark();
    }

    /** Fails the round unless the fault was seen. */
    static void proven(boolean seen, String what) {
      if (!seen) {
        throw new IllegalStateException("the fault did not happen: " + what);
      }
    }
  }

  static Fault of(String name, int rounds, Site.Plan plan, Script script) {
    return new Fault(name, rounds, plan, PATIENCE, script);
  }
}

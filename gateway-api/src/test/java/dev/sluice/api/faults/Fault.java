package dev.sluice.api.faults;

import java.time.Duration;
import java.util.Random;

/**
 * A row of the suite.
 *
 * @param name by which it is chosen and under which docs/failures.md tells of it
 * @param rounds how often it happens
 * @param plan of the site on which all its rounds happen
 * @param recoveryTimeout how long the gateway may take to recover from it
 * @param injection what is done to the site while logs are sent
 */
record Fault(
    String name,
    int rounds,
    TestSite.SitePlan plan,
    Duration recoveryTimeout,
    FaultInjection injection) {
  static final Duration DEFAULT_RECOVERY_TIMEOUT = Duration.ofSeconds(60);

  /** Makes the fault happen and takes it away again. */
  interface FaultInjection {
    /**
     * @return what proves that it happened
     * @throws Exception when it did not, or could not be taken away
     */
    String run(Round round) throws Exception;
  }

  /** One time that a fault happens: who it happens to, under which load, by which chance. */
  record Round(TestSite site, Workload workload, Random random) {
    /** Lets up to so many logs be acknowledged: a random moment. */
    void awaitRandomProgress(int logs) {
      workload.awaitAcknowledged(1 + random.nextInt(logs));
    }

    /** From now on the gateway may recover. */
    void markFaultEnd() {
      workload.mark();
    }

    /** Fails the round unless the fault was seen. */
    static void verify(boolean seen, String what) {
      if (!seen) {
        throw new IllegalStateException("the fault did not happen: " + what);
      }
    }
  }

  static Fault of(String name, int rounds, TestSite.SitePlan plan, FaultInjection faultInjection) {
    return new Fault(name, rounds, plan, DEFAULT_RECOVERY_TIMEOUT, faultInjection);
  }
}

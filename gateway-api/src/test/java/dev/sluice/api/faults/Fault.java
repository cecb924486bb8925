package dev.sluice.api.faults;

import java.time.Duration;
import java.util.Random;

/**
 * A fault of the suite.
 *
 * @param name the name on the command line and in docs/failures.md
 * @param rounds the number of times that the fault is injected
 * @param plan the test site of all rounds
 * @param recoveryTimeout the maximum time until the gateway has recovered
 * @param injection the action on the site while logs are sent
 */
record Fault(
    String name,
    int rounds,
    TestSite.SitePlan plan,
    Duration recoveryTimeout,
    FaultInjection injection) {
  static final Duration DEFAULT_RECOVERY_TIMEOUT = Duration.ofSeconds(60);

  /** Injects the fault and ends it. */
  interface FaultInjection {
    /**
     * Injects the fault once.
     *
     * @return the evidence that the fault happened
     * @throws Exception when the fault did not happen, or could not be ended
     */
    String run(Round round) throws Exception;
  }

  /** One injection of a fault: its site, its workload, and its random moments. */
  record Round(TestSite site, Workload workload, Random random) {
    /** Waits for a random number of acknowledged logs, at most {@code logs}. */
    void awaitRandomProgress(int logs) {
      workload.awaitAcknowledged(1 + random.nextInt(logs));
    }

    /** Marks the moment from which the gateway can recover. */
    void markFaultEnd() {
      workload.mark();
    }

    /** Fails the round unless the fault was observed. */
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

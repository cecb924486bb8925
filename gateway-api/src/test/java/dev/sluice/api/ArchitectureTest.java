package dev.sluice.api;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may know whom; Maven forbids most of it first. Each rule was broken once to see it red. */
@AnalyzeClasses(packages = "dev.sluice", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule coreDependsOnlyOnTheJdk =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core..")
          .and()
          .resideOutsideOfPackage("dev.sluice.core.dictionary..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages("java..", "org.jspecify..", "dev.sluice.core..")
          .because("the core must run, and be tested, with nothing on the class path");

  @ArchTest
  static final ArchRule dictionaryMayAlsoDependOnHash4j =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.dictionary..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages(
              "java..",
              "org.jspecify..",
              "com.dynatrace.hash4j.hashing..",
              "dev.sluice.core.dictionary..",
              "dev.sluice.core.port..");

  @ArchTest
  static final ArchRule domainDependsOnNoOtherPackage =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.domain..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages("java..", "org.jspecify..", "dev.sluice.core.domain..");

  @ArchTest
  static final ArchRule deliveryDoesNotDependOnIngest =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.delivery..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.sluice.core.ingest..");

  @ArchTest
  static final ArchRule onlyBootDependsOnAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api..")
          .and()
          .resideOutsideOfPackage("dev.sluice.api.boot..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.sluice.redis..",
              "dev.sluice.wal..",
              "dev.sluice.clickhouse..",
              "dev.sluice.embeddings..",
              "dev.sluice.engines..");

  @ArchTest
  static final ArchRule httpDoesNotDependOnGrpc =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.http..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.api.grpc..", "io.grpc..");

  @ArchTest
  static final ArchRule grpcDoesNotDependOnHttp =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.grpc..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.api.http..", "org.springframework.http..");

  @ArchTest
  static final ArchRule decodersDoNotDependOnProtocols =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.decode..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.sluice.api.http..",
              "dev.sluice.api.grpc..",
              "io.grpc..",
              "org.springframework..",
              "reactor..");

  @ArchTest
  static final ArchRule redisDoesNotDependOnOtherAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.redis..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.wal..", "dev.sluice.clickhouse..", "dev.sluice.api..");

  @ArchTest
  static final ArchRule embeddingsDoNotDependOnOtherAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.embeddings..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.sluice.wal..",
              "dev.sluice.redis..",
              "dev.sluice.clickhouse..",
              "dev.sluice.api..");

  @ArchTest
  static final ArchRule walDoesNotDependOnOtherAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.wal..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.redis..", "dev.sluice.clickhouse..", "dev.sluice.api..");

  @ArchTest
  static final ArchRule clickHouseDoesNotDependOnOtherAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.clickhouse..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.redis..", "dev.sluice.wal..", "dev.sluice.api..");

  @ArchTest
  static final ArchRule failoverDependsOnNeitherIngestNorDelivery =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.failover..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.core.ingest..", "dev.sluice.core.delivery..");
}

package dev.sluice.api;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import dev.sluice.api.grpc.RequestContextInterceptor;
import dev.sluice.api.http.RequestContextFilter;
import dev.sluice.api.protocol.ProtocolRegistration;
import dev.sluice.core.ingest.RequestContext;
import java.util.regex.Pattern;

/**
 * Which packages may depend on which, and how types are named. Maven forbids most dependencies
 * first.
 */
@AnalyzeClasses(
    packages = "dev.sluice",
    importOptions = {DoNotIncludeTests.class, ArchitectureTest.DoNotIncludeTestJars.class})
class ArchitectureTest {
  /** Excludes the test-jars of the modules, from which other tests take fixtures. */
  static final class DoNotIncludeTestJars implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("-tests.jar");
    }
  }

  private static final String ENGINES_CONFIGURATION = "dev.sluice.api.config.EnginesConfiguration";

  @ArchTest
  static final ArchRule coreDependsOnlyOnTheJdk =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core..")
          .and()
          .resideOutsideOfPackage("dev.sluice.core.codec..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages("java..", "org.jspecify..", "dev.sluice.core..")
          .because("the core must run, and be tested, with nothing on the class path");

  @ArchTest
  static final ArchRule codecDependsOnlyOnLz4 =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.codec..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages(
              "java..", "org.jspecify..", "net.jpountz..", "dev.sluice.core..");

  @ArchTest
  static final ArchRule theCoreDoesNotDependOnItsCodec =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core..")
          .and()
          .resideOutsideOfPackage("dev.sluice.core.codec..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.sluice.core.codec..")
          .because("only the module of a spool needs LZ4");

  @ArchTest
  static final ArchRule templatesDependOnlyOnTheCoreAndHash4j =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.templates..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages(
              "java..",
              "org.jspecify..",
              "com.dynatrace.hash4j.hashing..",
              "dev.sluice.core..",
              "dev.sluice.templates..");

  @ArchTest
  static final ArchRule queriesDependOnlyOnTheCoreAndTheTemplates =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.query..")
          .should()
          .dependOnClassesThat()
          .resideOutsideOfPackages(
              "java..",
              "org.jspecify..",
              "dev.sluice.core..",
              "dev.sluice.templates..",
              "dev.sluice.query..");

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
  static final ArchRule onlyConfigDependsOnAdapters =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api..")
          .and()
          .resideOutsideOfPackage("dev.sluice.api.config..")
          .should()
          .dependOnClassesThat(
              resideInAPackage("dev.sluice..")
                  .and(
                      not(
                          resideInAnyPackage(
                              "dev.sluice.api..",
                              "dev.sluice.core..",
                              "dev.sluice.templates..",
                              "dev.sluice.query..",
                              "dev.sluice.proto.."))));

  @ArchTest
  static final ArchRule onlyOneConfigurationKnowsTheEngines =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api..")
          .and()
          .doNotHaveFullyQualifiedName(ENGINES_CONFIGURATION)
          .and()
          .haveNameNotMatching(Pattern.quote(ENGINES_CONFIGURATION) + "\\$.*")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.sluice.engines..")
          .because("gateway-engines is optional, and the gateway must run without it");

  @ArchTest
  static final ArchRule httpDoesNotDependOnGrpc =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.http..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.api.grpc..", "io.grpc..", "dev.sluice.api.protocol..");

  @ArchTest
  static final ArchRule grpcDoesNotDependOnHttp =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.grpc..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.sluice.api.http..", "org.springframework.http..", "dev.sluice.api.protocol..");

  @ArchTest
  static final ArchRule decodersDoNotDependOnProtocols =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.api.decode..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.sluice.api.protocol..",
              "dev.sluice.api.http..",
              "dev.sluice.api.grpc..",
              "io.grpc..",
              "org.springframework..",
              "reactor..");

  @ArchTest
  static final ArchRule protocolsDoNotDependOnEachOther =
      slices().matching("dev.sluice.api.protocol.(*)..").should().notDependOnEachOther();

  @ArchTest
  static final ArchRule aProtocolHasOnePublicType =
      classes()
          .that()
          .resideInAPackage("dev.sluice.api.protocol.*..")
          .and()
          .arePublic()
          .should()
          .implement(ProtocolRegistration.class)
          .because("the wiring knows a protocol by its registration alone");

  @ArchTest
  static final ArchRule onlyTheTransportsCreateRequestContexts =
      noClasses()
          .that()
          .doNotBelongToAnyOf(
              RequestContext.class, RequestContextFilter.class, RequestContextInterceptor.class)
          .should()
          .callMethodWhere(
              target(owner(type(RequestContext.class))).and(target(nameMatching("of"))))
          .orShould()
          .callConstructorWhere(target(owner(type(RequestContext.class))))
          .because("a request gets its tenant in one place for each transport");

  /**
   * An adapter is a package directly below dev.sluice that is not one of those shared. A new
   * adapter is matched without a change here.
   */
  @ArchTest
  static final ArchRule adaptersDoNotDependOnEachOther =
      slices()
          .matching("dev.sluice.(*)..")
          .should()
          .notDependOnEachOther()
          .ignoreDependency(
              resideInAnyPackage("dev.sluice.api..", "dev.sluice.testkit.."), alwaysTrue())
          .ignoreDependency(
              alwaysTrue(),
              resideInAnyPackage(
                  "dev.sluice.core..",
                  "dev.sluice.templates..",
                  "dev.sluice.query..",
                  "dev.sluice.proto.."));

  @ArchTest
  static final ArchRule failoverDependsOnNeitherIngestNorDelivery =
      noClasses()
          .that()
          .resideInAPackage("dev.sluice.core.failover..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("dev.sluice.core.ingest..", "dev.sluice.core.delivery..");

  @ArchTest
  static final ArchRule exceptionsEndInException =
      classes()
          .that()
          .areAssignableTo(Throwable.class)
          .should()
          .haveSimpleNameEndingWith("Exception");

  @ArchTest
  static final ArchRule typesAreNamedByWhatTheyAre =
      noClasses()
          .should()
          .haveNameMatching(".*(Impl|Utils?|Manager|Helper|Dto|DTO)")
          .because("such a name does not say what the class is");

  @ArchTest
  static final ArchRule limitsAreMaxOrMin =
      noFields().should().haveNameMatching("(MOST|LEAST|LONGEST|SHORTEST)_.*|.*_(MOST|LEAST)");
}

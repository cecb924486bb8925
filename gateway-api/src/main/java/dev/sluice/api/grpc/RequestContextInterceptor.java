package dev.sluice.api.grpc;

import dev.sluice.api.security.AccessControl;
import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.api.security.AccessDecision.Granted;
import dev.sluice.api.security.AccessRule;
import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.read.QueryClient;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The interceptor that authenticates the client of every gRPC call and creates the {@link
 * RequestContext}. No other class of gRPC creates one. It rejects a call that access control
 * denies, and an ingest call that is invalid or not admitted, before the first message is read.
 */
public final class RequestContextInterceptor implements ServerInterceptor {
  private static final Context.Key<RequestContext> CONTEXT = Context.key("sluice-request-context");
  private static final Context.Key<String> QUERY_CLIENT =
      Context.keyWithDefault("sluice-query-client", "");
  private static final Metadata.Key<String> ACK = IngestServerCall.ascii(RequestContext.ACK_HEADER);
  private static final Metadata.Key<String> KEY =
      IngestServerCall.ascii(RequestContext.IDEMPOTENCY_KEY_HEADER);
  private static final Metadata.Key<String> AUTHORIZATION = IngestServerCall.ascii("authorization");
  private static final String QUERY_PROTOCOL = "grpc-query";

  private final AccessControl access;
  private final Map<String, AccessRule> rules;
  private final Map<String, String> ingestMethods;
  private final @Nullable IngestPipeline pipeline;

  /**
   * @param access decides about each call
   * @param rules the access rules of the other methods, by full name; a method without a rule is
   *     denied
   * @param ingestMethods the full names of the methods that receive logs, each with the name of its
   *     protocol
   * @param pipeline the ingest path; null in a process without the role ingest
   */
  public RequestContextInterceptor(
      AccessControl access,
      Map<String, AccessRule> rules,
      Map<String, String> ingestMethods,
      @Nullable IngestPipeline pipeline) {
    this.access = access;
    this.rules = Map.copyOf(rules);
    this.ingestMethods = Map.copyOf(ingestMethods);
    this.pipeline = pipeline;
  }

  /** Returns the name of the client of the current call, for its queries. */
  static String queryClientOfCall() {
    return QUERY_CLIENT.get();
  }

  /** Returns the context of the current call. */
  public static RequestContext contextOfCall() {
    return CONTEXT.get();
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    var method = call.getMethodDescriptor().getFullMethodName();
    var decision =
        access.check(
            ingestMethods.containsKey(method) ? AccessRule.INGEST : rules.get(method),
            authorization(headers),
            remoteAddress(call),
            Transport.GRPC);
    return switch (decision) {
      case Denied denied -> {
        var failure = GrpcStatuses.of(denied);
        yield reject(call, failure.getStatus(), failure.getTrailers());
      }
      case Granted granted -> start(granted, call, headers, next);
    };
  }

  private static List<String> authorization(Metadata headers) {
    var values = headers.getAll(AUTHORIZATION);
    var list = new ArrayList<String>();
    if (values != null) {
      values.forEach(list::add);
    }
    return list;
  }

  private static @Nullable InetSocketAddress remoteAddress(ServerCall<?, ?> call) {
    return call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR)
            instanceof InetSocketAddress address
        ? address
        : null;
  }

  private <Q, A> ServerCall.Listener<Q> start(
      Granted granted, ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    var protocol = ingestMethods.get(call.getMethodDescriptor().getFullMethodName());
    var ingest = pipeline;
    if (protocol != null && ingest != null) {
      return interceptIngest(granted, protocol, ingest, call, headers, next);
    }
    var context = RequestContext.of(granted.tenant(), granted.principal(), QUERY_PROTOCOL);
    var address = remoteAddress(call);
    var client = QueryClient.name(granted.tenant(), address == null ? null : address.getAddress());
    return Contexts.interceptCall(
        Context.current().withValues(CONTEXT, context, QUERY_CLIENT, client), call, headers, next);
  }

  private <Q, A> ServerCall.Listener<Q> interceptIngest(
      Granted granted,
      String protocol,
      IngestPipeline ingest,
      ServerCall<Q, A> call,
      Metadata headers,
      ServerCallHandler<Q, A> next) {
    RequestContext context;
    try {
      context =
          RequestContext.of(
              granted.tenant(), granted.principal(), protocol, headers.get(ACK), headers.get(KEY));
    } catch (IllegalArgumentException e) {
      return reject(call, Status.INVALID_ARGUMENT.withDescription(e.getMessage()), null);
    }
    boolean stream = !call.getMethodDescriptor().getType().clientSendsOneMessage();
    if (stream && context.idempotencyKey() != null) {
      return reject(
          call,
          Status.INVALID_ARGUMENT.withDescription(
              RequestContext.IDEMPOTENCY_KEY_HEADER + " is only supported by unary calls"),
          null);
    }
    var unavailable = stream ? null : ingest.checkAdmission(context);
    if (unavailable != null) {
      var failure = GrpcStatuses.of(unavailable);
      return reject(call, failure.getStatus(), failure.getTrailers());
    }
    var ingestCall = IngestServerCall.start(call, context.ackLevel());
    return Contexts.interceptCall(
        IngestServerCall.withCall(Context.current().withValue(CONTEXT, context), ingestCall),
        ingestCall,
        headers,
        next);
  }

  private static <Q, A> ServerCall.Listener<Q> reject(
      ServerCall<Q, A> call, Status status, @Nullable Metadata trailers) {
    call.close(status, trailers == null ? new Metadata() : trailers);
    return new ServerCall.Listener<>() {};
  }
}

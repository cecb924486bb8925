package dev.sluice.core.otlp;

import static dev.sluice.core.otlp.ProtobufInput.BYTES;
import static dev.sluice.core.otlp.ProtobufInput.FIXED32;
import static dev.sluice.core.otlp.ProtobufInput.FIXED64;
import static dev.sluice.core.otlp.ProtobufInput.VARINT;

/**
 * Field numbers and wire tags of the OTLP log messages, from opentelemetry-proto 1.x ({@code
 * opentelemetry/proto/{collector/logs,logs,resource,common}/v1}).
 *
 * <p>A constant is named after its message and its field: {@code LOG_RECORD_BODY} is the number of
 * {@code LogRecord.body}. A {@code _TAG} constant is the varint in front of that field on the wire,
 * {@code number << 3 | wire type}. All are compile-time constants, so that they can be {@code case}
 * labels.
 */
public final class OtlpFields {

  // ExportLogsServiceRequest
  public static final int EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS = 1;

  public static final int EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG =
      EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS << 3 | BYTES;

  // ExportLogsServiceResponse
  public static final int EXPORT_LOGS_SERVICE_RESPONSE_PARTIAL_SUCCESS = 1;

  // ExportLogsPartialSuccess
  public static final int EXPORT_LOGS_PARTIAL_SUCCESS_REJECTED_LOG_RECORDS = 1;
  public static final int EXPORT_LOGS_PARTIAL_SUCCESS_ERROR_MESSAGE = 2;

  // ResourceLogs
  public static final int RESOURCE_LOGS_RESOURCE = 1;
  public static final int RESOURCE_LOGS_SCOPE_LOGS = 2;
  public static final int RESOURCE_LOGS_SCHEMA_URL = 3;

  public static final int RESOURCE_LOGS_RESOURCE_TAG = RESOURCE_LOGS_RESOURCE << 3 | BYTES;
  public static final int RESOURCE_LOGS_SCOPE_LOGS_TAG = RESOURCE_LOGS_SCOPE_LOGS << 3 | BYTES;
  public static final int RESOURCE_LOGS_SCHEMA_URL_TAG = RESOURCE_LOGS_SCHEMA_URL << 3 | BYTES;

  // Resource
  public static final int RESOURCE_ATTRIBUTES = 1;
  public static final int RESOURCE_DROPPED_ATTRIBUTES_COUNT = 2;

  public static final int RESOURCE_ATTRIBUTES_TAG = RESOURCE_ATTRIBUTES << 3 | BYTES;
  public static final int RESOURCE_DROPPED_ATTRIBUTES_COUNT_TAG =
      RESOURCE_DROPPED_ATTRIBUTES_COUNT << 3 | VARINT;

  // ScopeLogs
  public static final int SCOPE_LOGS_SCOPE = 1;
  public static final int SCOPE_LOGS_LOG_RECORDS = 2;
  public static final int SCOPE_LOGS_SCHEMA_URL = 3;

  public static final int SCOPE_LOGS_SCOPE_TAG = SCOPE_LOGS_SCOPE << 3 | BYTES;
  public static final int SCOPE_LOGS_LOG_RECORDS_TAG = SCOPE_LOGS_LOG_RECORDS << 3 | BYTES;
  public static final int SCOPE_LOGS_SCHEMA_URL_TAG = SCOPE_LOGS_SCHEMA_URL << 3 | BYTES;

  // InstrumentationScope
  public static final int INSTRUMENTATION_SCOPE_NAME = 1;
  public static final int INSTRUMENTATION_SCOPE_VERSION = 2;
  public static final int INSTRUMENTATION_SCOPE_ATTRIBUTES = 3;
  public static final int INSTRUMENTATION_SCOPE_DROPPED_ATTRIBUTES_COUNT = 4;

  public static final int INSTRUMENTATION_SCOPE_NAME_TAG = INSTRUMENTATION_SCOPE_NAME << 3 | BYTES;
  public static final int INSTRUMENTATION_SCOPE_VERSION_TAG =
      INSTRUMENTATION_SCOPE_VERSION << 3 | BYTES;
  public static final int INSTRUMENTATION_SCOPE_ATTRIBUTES_TAG =
      INSTRUMENTATION_SCOPE_ATTRIBUTES << 3 | BYTES;
  public static final int INSTRUMENTATION_SCOPE_DROPPED_ATTRIBUTES_COUNT_TAG =
      INSTRUMENTATION_SCOPE_DROPPED_ATTRIBUTES_COUNT << 3 | VARINT;

  // LogRecord
  public static final int LOG_RECORD_TIME_UNIX_NANO = 1;
  public static final int LOG_RECORD_SEVERITY_NUMBER = 2;
  public static final int LOG_RECORD_SEVERITY_TEXT = 3;
  public static final int LOG_RECORD_BODY = 5;
  public static final int LOG_RECORD_ATTRIBUTES = 6;
  public static final int LOG_RECORD_DROPPED_ATTRIBUTES_COUNT = 7;
  public static final int LOG_RECORD_FLAGS = 8;
  public static final int LOG_RECORD_TRACE_ID = 9;
  public static final int LOG_RECORD_SPAN_ID = 10;
  public static final int LOG_RECORD_OBSERVED_TIME_UNIX_NANO = 11;
  public static final int LOG_RECORD_EVENT_NAME = 12;

  public static final int LOG_RECORD_TIME_UNIX_NANO_TAG = LOG_RECORD_TIME_UNIX_NANO << 3 | FIXED64;
  public static final int LOG_RECORD_SEVERITY_NUMBER_TAG = LOG_RECORD_SEVERITY_NUMBER << 3 | VARINT;
  public static final int LOG_RECORD_SEVERITY_TEXT_TAG = LOG_RECORD_SEVERITY_TEXT << 3 | BYTES;
  public static final int LOG_RECORD_BODY_TAG = LOG_RECORD_BODY << 3 | BYTES;
  public static final int LOG_RECORD_ATTRIBUTES_TAG = LOG_RECORD_ATTRIBUTES << 3 | BYTES;
  public static final int LOG_RECORD_DROPPED_ATTRIBUTES_COUNT_TAG =
      LOG_RECORD_DROPPED_ATTRIBUTES_COUNT << 3 | VARINT;
  public static final int LOG_RECORD_FLAGS_TAG = LOG_RECORD_FLAGS << 3 | FIXED32;
  public static final int LOG_RECORD_TRACE_ID_TAG = LOG_RECORD_TRACE_ID << 3 | BYTES;
  public static final int LOG_RECORD_SPAN_ID_TAG = LOG_RECORD_SPAN_ID << 3 | BYTES;
  public static final int LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG =
      LOG_RECORD_OBSERVED_TIME_UNIX_NANO << 3 | FIXED64;
  public static final int LOG_RECORD_EVENT_NAME_TAG = LOG_RECORD_EVENT_NAME << 3 | BYTES;

  // KeyValue
  public static final int KEY_VALUE_KEY = 1;
  public static final int KEY_VALUE_VALUE = 2;

  public static final int KEY_VALUE_KEY_TAG = KEY_VALUE_KEY << 3 | BYTES;
  public static final int KEY_VALUE_VALUE_TAG = KEY_VALUE_VALUE << 3 | BYTES;

  // AnyValue
  public static final int ANY_VALUE_STRING_VALUE = 1;
  public static final int ANY_VALUE_BOOL_VALUE = 2;
  public static final int ANY_VALUE_INT_VALUE = 3;
  public static final int ANY_VALUE_DOUBLE_VALUE = 4;
  public static final int ANY_VALUE_ARRAY_VALUE = 5;
  public static final int ANY_VALUE_KVLIST_VALUE = 6;
  public static final int ANY_VALUE_BYTES_VALUE = 7;

  public static final int ANY_VALUE_STRING_VALUE_TAG = ANY_VALUE_STRING_VALUE << 3 | BYTES;
  public static final int ANY_VALUE_BOOL_VALUE_TAG = ANY_VALUE_BOOL_VALUE << 3 | VARINT;
  public static final int ANY_VALUE_INT_VALUE_TAG = ANY_VALUE_INT_VALUE << 3 | VARINT;
  public static final int ANY_VALUE_DOUBLE_VALUE_TAG = ANY_VALUE_DOUBLE_VALUE << 3 | FIXED64;
  public static final int ANY_VALUE_ARRAY_VALUE_TAG = ANY_VALUE_ARRAY_VALUE << 3 | BYTES;
  public static final int ANY_VALUE_KVLIST_VALUE_TAG = ANY_VALUE_KVLIST_VALUE << 3 | BYTES;
  public static final int ANY_VALUE_BYTES_VALUE_TAG = ANY_VALUE_BYTES_VALUE << 3 | BYTES;

  // ArrayValue
  public static final int ARRAY_VALUE_VALUES = 1;

  public static final int ARRAY_VALUE_VALUES_TAG = ARRAY_VALUE_VALUES << 3 | BYTES;

  // KeyValueList
  public static final int KEY_VALUE_LIST_VALUES = 1;

  public static final int KEY_VALUE_LIST_VALUES_TAG = KEY_VALUE_LIST_VALUES << 3 | BYTES;

  private OtlpFields() {}
}

package dev.sluice.api.protocol.protobuf;

import static dev.sluice.core.otlp.ProtobufInput.BYTES;
import static dev.sluice.core.otlp.ProtobufInput.FIXED32;
import static dev.sluice.core.otlp.ProtobufInput.FIXED64;
import static dev.sluice.core.otlp.ProtobufInput.VARINT;

/**
 * Field numbers and wire tags of the messages of {@code sluice.v1} that carry logs into the
 * gateway. Names follow the rule of {@link dev.sluice.core.otlp.OtlpFields}.
 *
 * <p>A field of {@code LogRecord}, {@code Scope} or {@code Value} that OTLP also has, has the
 * number and the type of OTLP's: {@link NativeProtobufDecoder} copies its bytes unchanged.
 */
final class NativeFields {

  // IngestRequest
  static final int INGEST_REQUEST_LOGS = 1;

  static final int INGEST_REQUEST_LOGS_TAG = INGEST_REQUEST_LOGS << 3 | BYTES;

  // IngestStreamRequest
  static final int INGEST_STREAM_REQUEST_SEQUENCE = 1;
  static final int INGEST_STREAM_REQUEST_LOGS = 2;

  static final int INGEST_STREAM_REQUEST_SEQUENCE_TAG =
      INGEST_STREAM_REQUEST_SEQUENCE << 3 | VARINT;
  static final int INGEST_STREAM_REQUEST_LOGS_TAG = INGEST_STREAM_REQUEST_LOGS << 3 | BYTES;

  // LogRecord
  static final int LOG_RECORD_TIME_UNIX_NANO = 1;
  static final int LOG_RECORD_SEVERITY_NUMBER = 2;
  static final int LOG_RECORD_SEVERITY_TEXT = 3;
  static final int LOG_RECORD_BODY = 5;
  static final int LOG_RECORD_ATTRIBUTES = 6;
  static final int LOG_RECORD_DROPPED_ATTRIBUTES_COUNT = 7;
  static final int LOG_RECORD_FLAGS = 8;
  static final int LOG_RECORD_TRACE_ID = 9;
  static final int LOG_RECORD_SPAN_ID = 10;
  static final int LOG_RECORD_OBSERVED_TIME_UNIX_NANO = 11;
  static final int LOG_RECORD_EVENT_NAME = 12;
  static final int LOG_RECORD_SERVICE = 16;
  static final int LOG_RECORD_HOST = 17;
  static final int LOG_RECORD_RESOURCE = 18;
  static final int LOG_RECORD_SCOPE = 19;

  static final int LOG_RECORD_TIME_UNIX_NANO_TAG = LOG_RECORD_TIME_UNIX_NANO << 3 | FIXED64;
  static final int LOG_RECORD_SEVERITY_NUMBER_TAG = LOG_RECORD_SEVERITY_NUMBER << 3 | VARINT;
  static final int LOG_RECORD_SEVERITY_TEXT_TAG = LOG_RECORD_SEVERITY_TEXT << 3 | BYTES;
  static final int LOG_RECORD_BODY_TAG = LOG_RECORD_BODY << 3 | BYTES;
  static final int LOG_RECORD_ATTRIBUTES_TAG = LOG_RECORD_ATTRIBUTES << 3 | BYTES;
  static final int LOG_RECORD_DROPPED_ATTRIBUTES_COUNT_TAG =
      LOG_RECORD_DROPPED_ATTRIBUTES_COUNT << 3 | VARINT;
  static final int LOG_RECORD_FLAGS_TAG = LOG_RECORD_FLAGS << 3 | FIXED32;
  static final int LOG_RECORD_TRACE_ID_TAG = LOG_RECORD_TRACE_ID << 3 | BYTES;
  static final int LOG_RECORD_SPAN_ID_TAG = LOG_RECORD_SPAN_ID << 3 | BYTES;
  static final int LOG_RECORD_OBSERVED_TIME_UNIX_NANO_TAG =
      LOG_RECORD_OBSERVED_TIME_UNIX_NANO << 3 | FIXED64;
  static final int LOG_RECORD_EVENT_NAME_TAG = LOG_RECORD_EVENT_NAME << 3 | BYTES;
  static final int LOG_RECORD_SERVICE_TAG = LOG_RECORD_SERVICE << 3 | BYTES;
  static final int LOG_RECORD_HOST_TAG = LOG_RECORD_HOST << 3 | BYTES;
  static final int LOG_RECORD_RESOURCE_TAG = LOG_RECORD_RESOURCE << 3 | BYTES;
  static final int LOG_RECORD_SCOPE_TAG = LOG_RECORD_SCOPE << 3 | BYTES;

  // Scope
  static final int SCOPE_NAME = 1;
  static final int SCOPE_VERSION = 2;
  static final int SCOPE_ATTRIBUTES = 3;

  static final int SCOPE_NAME_TAG = SCOPE_NAME << 3 | BYTES;
  static final int SCOPE_VERSION_TAG = SCOPE_VERSION << 3 | BYTES;
  static final int SCOPE_ATTRIBUTES_TAG = SCOPE_ATTRIBUTES << 3 | BYTES;

  // Value
  static final int VALUE_LIST_VALUE = 5;
  static final int VALUE_MAP_VALUE = 6;

  static final int VALUE_LIST_VALUE_TAG = VALUE_LIST_VALUE << 3 | BYTES;
  static final int VALUE_MAP_VALUE_TAG = VALUE_MAP_VALUE << 3 | BYTES;

  // ListValue
  static final int LIST_VALUE_VALUES = 1;

  static final int LIST_VALUE_VALUES_TAG = LIST_VALUE_VALUES << 3 | BYTES;

  // MapValue
  static final int MAP_VALUE_VALUES = 1;

  static final int MAP_VALUE_VALUES_TAG = MAP_VALUE_VALUES << 3 | BYTES;

  // an entry of a map
  static final int MAP_ENTRY_VALUE = 2;

  static final int MAP_ENTRY_VALUE_TAG = MAP_ENTRY_VALUE << 3 | BYTES;

  private NativeFields() {}
}

package dev.sluice.api.protocol.legacy;

import static dev.sluice.core.otlp.ProtobufInput.BYTES;
import static dev.sluice.core.otlp.ProtobufInput.VARINT;

/**
 * Field numbers and wire tags of the predecessor's messages (protobuf package {@code logs}) that
 * carry logs into the gateway. Names follow the rule of {@link dev.sluice.core.otlp.OtlpFields}.
 */
final class LegacyFields {

  // LogEntryBatch
  static final int LOG_ENTRY_BATCH_ENTRIES = 1;

  static final int LOG_ENTRY_BATCH_ENTRIES_TAG = LOG_ENTRY_BATCH_ENTRIES << 3 | BYTES;

  // LogEntry
  static final int LOG_ENTRY_ID = 1;
  static final int LOG_ENTRY_APP_ID = 2;
  static final int LOG_ENTRY_TIMESTAMP = 3;
  static final int LOG_ENTRY_LEVEL = 4;
  static final int LOG_ENTRY_MESSAGE = 5;
  static final int LOG_ENTRY_SOURCE = 6;
  static final int LOG_ENTRY_ENVIRONMENT = 7;
  static final int LOG_ENTRY_METADATA = 8;
  static final int LOG_ENTRY_TRACE_ID = 9;
  static final int LOG_ENTRY_USER_ID = 10;

  static final int LOG_ENTRY_ID_TAG = LOG_ENTRY_ID << 3 | BYTES;
  static final int LOG_ENTRY_APP_ID_TAG = LOG_ENTRY_APP_ID << 3 | BYTES;
  static final int LOG_ENTRY_TIMESTAMP_TAG = LOG_ENTRY_TIMESTAMP << 3 | VARINT;
  static final int LOG_ENTRY_LEVEL_TAG = LOG_ENTRY_LEVEL << 3 | VARINT;
  static final int LOG_ENTRY_MESSAGE_TAG = LOG_ENTRY_MESSAGE << 3 | BYTES;
  static final int LOG_ENTRY_SOURCE_TAG = LOG_ENTRY_SOURCE << 3 | BYTES;
  static final int LOG_ENTRY_ENVIRONMENT_TAG = LOG_ENTRY_ENVIRONMENT << 3 | BYTES;
  static final int LOG_ENTRY_METADATA_TAG = LOG_ENTRY_METADATA << 3 | BYTES;
  static final int LOG_ENTRY_TRACE_ID_TAG = LOG_ENTRY_TRACE_ID << 3 | BYTES;
  static final int LOG_ENTRY_USER_ID_TAG = LOG_ENTRY_USER_ID << 3 | BYTES;

  // IngestLogsRequest
  static final int INGEST_LOGS_REQUEST_LOGS = 1;

  static final int INGEST_LOGS_REQUEST_LOGS_TAG = INGEST_LOGS_REQUEST_LOGS << 3 | BYTES;

  // LogEntryInput
  static final int LOG_ENTRY_INPUT_APP_ID = 1;
  static final int LOG_ENTRY_INPUT_LEVEL = 2;
  static final int LOG_ENTRY_INPUT_MESSAGE = 3;
  static final int LOG_ENTRY_INPUT_SOURCE = 4;
  static final int LOG_ENTRY_INPUT_ENVIRONMENT = 5;
  static final int LOG_ENTRY_INPUT_METADATA = 6;
  static final int LOG_ENTRY_INPUT_TRACE_ID = 7;
  static final int LOG_ENTRY_INPUT_USER_ID = 8;

  static final int LOG_ENTRY_INPUT_APP_ID_TAG = LOG_ENTRY_INPUT_APP_ID << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_LEVEL_TAG = LOG_ENTRY_INPUT_LEVEL << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_MESSAGE_TAG = LOG_ENTRY_INPUT_MESSAGE << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_SOURCE_TAG = LOG_ENTRY_INPUT_SOURCE << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_ENVIRONMENT_TAG = LOG_ENTRY_INPUT_ENVIRONMENT << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_METADATA_TAG = LOG_ENTRY_INPUT_METADATA << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_TRACE_ID_TAG = LOG_ENTRY_INPUT_TRACE_ID << 3 | BYTES;
  static final int LOG_ENTRY_INPUT_USER_ID_TAG = LOG_ENTRY_INPUT_USER_ID << 3 | BYTES;

  // an entry of a map
  static final int MAP_ENTRY_KEY = 1;
  static final int MAP_ENTRY_VALUE = 2;

  static final int MAP_ENTRY_KEY_TAG = MAP_ENTRY_KEY << 3 | BYTES;
  static final int MAP_ENTRY_VALUE_TAG = MAP_ENTRY_VALUE << 3 | BYTES;

  private LegacyFields() {}
}

#!/usr/bin/env python3
"""Reads the WAL segments of nodes by the documented format alone, and verifies every frame.

Each line of an index must describe one complete frame with its length, checksum, number of records
and times. The frames of a segment must follow each other without gaps from its start to its end.
"""

import argparse
import json
import pathlib
import re
import sys
import zlib

DAY = re.compile(r"\d{4}-\d\d-\d\d")
INDEX = ["file", "frame", "off", "len", "recs", "first_ts", "last_ts", "crc32"]
HEADER = ["v", "append", "tenant", "received", "first", "records", "bytes"]
OPTIONAL = ["again", "key", "request"]
TAIL = ["id", "resourceLogs"]


class Fault(Exception):
    pass


def expect(name, actual, expected):
    if actual != expected:
        raise Fault(f"{name} is {actual!r}, should be {expected!r}")


def unpack_zstd(frame):
    import zstandard  # imported here, so that gzip segments need only the standard library

    try:
        payload = zstandard.ZstdDecompressor().decompress(frame)
        reader = zstandard.ZstdDecompressor().decompressobj()
        reader.decompress(frame)
    except zstandard.ZstdError as e:
        raise Fault(f"invalid zstd frame: {e}") from e
    if not reader.eof or reader.unused_data:
        raise Fault("not exactly one zstd frame")
    return payload


def unpack_gzip(frame):
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        payload = reader.decompress(frame)
    except zlib.error as e:
        raise Fault(f"invalid gzip member: {e}") from e
    if not reader.eof or reader.unused_data:
        raise Fault("not exactly one gzip member")
    return payload


UNPACK = {".zst": unpack_zstd, ".gz": unpack_gzip}


def single(values, name):
    expect(f"number of {name}", len(values), 1)
    return values[0]


def record_of(line, index, first_line):
    """Returns the log record of a line, which must be complete without the other lines."""
    names = list(line)
    expect("fields", names, HEADER + [n for n in OPTIONAL if n in names] + TAIL)
    expect("version", line["v"], 1)
    header = {n: line[n] for n in names if n not in TAIL}
    expect("header", header, {n: first_line[n] for n in first_line if n not in TAIL})
    expect("id", line["id"], f"{int(line['first'], 16) + index:032x}")
    resource = single(line["resourceLogs"], "resources")
    scope = single(resource["scopeLogs"], "scopes")
    return single(scope["logRecords"], "records in a line")


def time_of(record, line):
    return (
        int(record.get("timeUnixNano", 0))
        or int(record.get("observedTimeUnixNano", 0))
        or int(line["received"])
    )


def check_payload(payload, index):
    """Verifies a payload against its index line; returns the ids of its records."""
    expect("crc32", zlib.crc32(payload), index["crc32"])
    if not payload.endswith(b"\n"):
        raise Fault("the last line has no end")
    lines = [json.loads(text) for text in payload[:-1].split(b"\n")]
    expect("number of lines", len(lines), index["recs"])
    times = []
    for number, line in enumerate(lines):
        times.append(time_of(record_of(line, number, lines[0]), line))
    expect("number of records in the header", lines[0]["records"], len(lines))
    expect("first_ts", min(times), index["first_ts"])
    expect("last_ts", max(times), index["last_ts"])
    return [line["id"] for line in lines]


class Reader:
    def __init__(self, live, ids):
        self.live = live
        self.ids = ids
        self.segments = self.frames = self.records = self.faults = 0

    def node(self, folder):
        days = [d for d in folder.iterdir() if d.is_dir() and DAY.fullmatch(d.name)]
        for day in sorted(days):
            names = {path.name.split(".wal.")[0] for path in day.glob("seg-*.wal.*")}
            for name in sorted(names):
                self.segment(day, name)

    def segment(self, day, name):
        self.segments += 1
        before = self.frames, self.records, self.faults
        try:
            self.frames_of(day, name)
        except (Fault, OSError) as e:
            self.fault(day / name, e)
        frames, records, faults = (
            now - then for now, then in zip((self.frames, self.records, self.faults), before)
        )
        verdict = "OK" if faults == 0 else f"{faults} FAULTS"
        print(f"{day / name}: {frames} frames, {records} records, {verdict}")

    def frames_of(self, day, name):
        index = day / f"{name}.wal.idx"
        # reads the index before the segment: the frames of all lines are in the segment by then
        lines = index.read_bytes().split(b"\n") if index.exists() else [b""]
        files = [f for f in (day / f"{name}.wal{suffix}" for suffix in UNPACK) if f.exists()]
        file = single(files, "files of the segment")
        if lines.pop() and not self.live:
            raise Fault("the last line of the index has no end")
        end = 0
        with file.open("rb") as segment:
            for number, text in enumerate(lines, 1):
                try:
                    end = self.frame(segment, file, number, end, text)
                except (Fault, ValueError, LookupError, TypeError, AttributeError, MemoryError) as e:
                    self.fault(f"{file} frame {number}", e)
                    end = None  # the next offset cannot be verified
        size = file.stat().st_size
        if end is not None and size != end and not (self.live and size > end):
            raise Fault(f"the segment has {size} bytes, its frames end at {end}")

    def frame(self, segment, file, number, end, text):
        index = json.loads(text)
        expect("fields of the index", list(index), INDEX)
        expect("file", index["file"], file.name)
        expect("frame", index["frame"], number)
        if end is not None:
            expect("off", index["off"], end)
        segment.seek(index["off"])
        frame = segment.read(index["len"])
        expect("number of bytes there", len(frame), index["len"])
        ids = check_payload(UNPACK[file.suffix](frame), index)
        self.frames += 1
        self.records += len(ids)
        if self.ids:
            print("\n".join(ids))
        return index["off"] + index["len"]

    def fault(self, where, reason):
        self.faults += 1
        print(f"{where}: {reason or type(reason).__name__}", file=sys.stderr)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("node", nargs="+", type=pathlib.Path, help="directory log.wal/node-<id>")
    options.add_argument("--live", action="store_true", help="a gateway may be writing to the node")
    options.add_argument("--ids", action="store_true", help="print the id of every record")
    arguments = options.parse_args()
    reader = Reader(arguments.live, arguments.ids)
    for node in arguments.node:
        reader.node(node)
    print(
        f"{reader.segments} segments, {reader.frames} frames, "
        f"{reader.records} records, {reader.faults} faults"
    )
    return 1 if reader.faults else 0


if __name__ == "__main__":
    sys.exit(main())

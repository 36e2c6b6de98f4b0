"""TensorBoard's files: the bytes of its own writer, and what Google's own parser reads in them."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from dpacct_training.cli.main import main
from dpacct_training.events import header, scalar
from tests.training.experiments import GIVEN_NOISE

WRITTEN = [
    ("accuracy", 0.1, 1, 1000.5),
    ("loss", 2.25, 1, 1000.5),
    ("epsilon", 1 / 3, 2, 1e9 + 0.25),
]
WRITTEN += [("missing", 7, 300, 1.7e9), ("accuracy", 1 / 3, 0, 5.0)]
REAL = bytes.fromhex(
    "1e00000000000000d9dc1232090000000000448f4010012a110a0f0a08616363757261637915cdcccc3dc561"
    "9db71a00000000000000129bd82d090000000000448f4010012a0d0a0b0a046c6f73731500001040858fc0f7"
    "1d00000000000000602fdf23090000200065cdcd4110022a100a0e0a07657073696c6f6e15abaaaa3e679022"
    "af1e00000000000000d9dc12320900000040fc54d94110ac022a100a0e0a076d697373696e67150000e040eb"
    "5a56331c00000000000000c8c1951d0900000000000014402a110a0f0a08616363757261637915abaaaa3e05"
    "1b170a"
)
"""The records of `WRITTEN` by torch.utils.tensorboard.SummaryWriter.add_scalar (tensorboard 2.21.0)."""


def events() -> Any:
    """Event of tensorflow's event.proto, as far as it is about scalars."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    fields = {
        "Value": [("tag", 1, kinds.TYPE_STRING, ""), ("simple_value", 2, kinds.TYPE_FLOAT, "")],
        "Summary": [("value", 1, kinds.TYPE_MESSAGE, "Value")],
        "Event": [
            ("wall_time", 1, kinds.TYPE_DOUBLE, ""),
            ("step", 2, kinds.TYPE_INT64, ""),
            ("file_version", 3, kinds.TYPE_STRING, ""),
            ("summary", 5, kinds.TYPE_MESSAGE, "Summary"),
        ],
    }
    for name, entries in fields.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in entries:
            message.field.add(
                name=field,
                number=number,
                type=kind,
                type_name=of or None,
                label=3 if of == "Value" else 1,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Event"))


def records(content: bytes) -> list[bytes]:
    contents = []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        contents.append(content[12 : 12 + length])
        content = content[16 + length :]
    return contents


def test_records_are_those_of_tensorboards_own_writer() -> None:
    assert b"".join(scalar(*each) for each in WRITTEN) == REAL
    (first,) = records(header(7.5))
    assert events().FromString(first).file_version == "brain.Event:2"


@pytest.mark.usefixtures("bare_reports")
def test_a_run_writes_its_measurements(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(GIVEN_NOISE.replace("rounds = 6", "rounds = 2"))
    out = tmp_path / "out"
    words = ["run", str(tmp_path / "small.toml"), "--out", str(out), "--quiet", "--tensorboard"]
    assert main(words) == 0
    (file,) = (out / "tensorboard").iterdir()
    read = [events().FromString(record) for record in records(file.read_bytes())[1:]]
    seen = {(e.step, v.tag): v.simple_value for e in read for v in e.summary.value}
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert len(rows) == 2 and {"accuracy", "loss", "epsilon"} < rows[0].keys()
    wanted = {
        (row["round"], name): struct.unpack("<f", struct.pack("<f", value))[0]
        for row in rows
        for name, value in row.items()
        if name not in ("round", "seconds")
    }
    assert seen == wanted

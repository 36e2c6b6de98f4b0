"""What dpacct offers to the outside, written down: `python tests/survival/dump.py` writes it.

The stored files were written by commit 2a5d979, and are what today's code is compared with
(`test_survival.py`); they are written again only to add to them. This file uses public names and
`dpacct.cli.main.main` alone, so that any version of dpacct can run it.
"""

import contextlib
import enum
import inspect
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dpacct as dp
from dpacct.cli.main import main

HERE = Path(__file__).parent
FILES = HERE / "files"
COMMANDS = (
    *("noise", "eps", "delta", "steps", "compare", "shuffle", "risk", "federated", "pate", "curve"),
    *("compose", "report", "cite", "theorems", "tables", "verify"),
)

# Every mechanism, and what may be put around it; the text is run, so constructors are kept too.
MECHANISMS = {
    "gaussian": "dp.Gaussian(sigma='1.1')",
    "gaussian-clip": "dp.Gaussian(noise_multiplier=1.1, clip='0.5')",
    "laplace": "dp.Laplace(b=3)",
    "staircase": "dp.Staircase(eps0='0.5')",
    "staircase-nu": "dp.Staircase(eps0='0.5', nu='0.3')",
    "randomized-response": "dp.RandomizedResponse(eps0=1)",
    "randomized-response-5": "dp.RandomizedResponse(eps0=1, k=5)",
    "local-randomizer": "dp.LocalRandomizer(eps0=1)",
    "discrete-laplace": "dp.DiscreteLaplace(scale=4)",
    "discrete-laplace-2": "dp.DiscreteLaplace(scale=4, sensitivity=2)",
    "discrete-gaussian": "dp.DiscreteGaussian(scale=4)",
    "discrete-gaussian-2": "dp.DiscreteGaussian(scale=4, sensitivity=2)",
    "exponential": "dp.ExponentialMechanism(eps0='0.5')",
    "pure-dp": "dp.PureDP(epsilon='0.3')",
    "approx-dp": "dp.ApproxDP(epsilon='0.3', delta='1e-7')",
    "zcdp": "dp.ZCDP(rho='0.1')",
    "custom-tables": "dp.Custom(tables=[['0.5', '0.3', '0.2'], ['0.25', '0.5', '0.25']])",
    "custom-profile": "dp.Custom(profile=[(0, '0.2'), ('0.5', '0.1'), (1, '1e-7')])",
    "custom-tradeoff": "dp.Custom(tradeoff=[(0, 1), ('0.1', '0.6'), ('0.4', '0.3'), (1, 0)])",
}
SAMPLINGS = {
    "none": "{} * 3",
    "poisson": "dp.Poisson('0.1')({}) * 3",
    "uniform": "dp.WithoutReplacement('0.1')({}) * 3",
    "held": "dp.Poisson('0.1')({} * 2) * 3",
    "participation": "dp.Participation('0.5')({} * 2)",
}
OTHERS = {
    "sum": "dp.Poisson(0.01)(dp.Gaussian(sigma=1)) * 100 + dp.Laplace(b=20)",
    "declared": "(dp.Gaussian(sigma=2) * 4).under('replace-one', unit='client')",
    "nested": "dp.Poisson(0.1)(dp.Gaussian(sigma=8) * 50) * 20",
    "client-coin": "dp.Participation(0.5)(dp.WithoutReplacement('2/75')(dp.Gaussian(sigma=1)) * 3)",
    "group": "dp.Group(dp.Gaussian(sigma=9), size=3)",
    "parallel": "dp.Parallel(dp.Gaussian(sigma=3), dp.Laplace(b=2))",
    "shuffle": "dp.Shuffle(eps0=1, clients=1000) * 2",
    "shuffle-rr": "dp.Shuffle(eps0=1, clients=1000, k=4, rate='0.5')",
    "gnmax": "dp.GNMax(sigma=25).plan(10)",
    "lnmax": "dp.LNMax(b=25).plan(10)",
    "gnmax-threshold": "dp.GNMax(sigma=25, threshold=60, threshold_sigma=40).plan(10)",
    "prifedsync": (
        "dp.federated.PriFedSync(clients=9, client_rate='0.5', batch_size=8, records=80,"
        " local_steps=4, rounds=5, sigma=2).tree()"
    ),
}


def plan_texts() -> dict[str, str]:
    """Python for each plan, by name."""
    cells = {
        f"{mechanism}/{sampling}": around.format(text)
        for mechanism, text in MECHANISMS.items()
        for sampling, around in SAMPLINGS.items()
    }
    return cells | OTHERS


def plan_row(text: str) -> dict[str, Any]:
    """What one plan is as JSON, and its epsilon at 1e-5; or the error that refuses it."""
    try:
        plan = eval(text, {"dp": dp})
    except dp.DpacctError as error:
        return {"python": text, "refused": type(error).__name__}
    row = {"python": text, "epsilon": epsilon(plan)}
    if isinstance(plan, dp.Node):
        row["json"] = json.loads(plan.to_json())
    return row


def epsilon(plan: Any) -> list[float | None] | str:
    """Lower end, value, upper end; the strongest fast method that this plan has."""
    name = ""
    methods = ("exact", "rdp") if isinstance(plan, dp.Node) else (None,)
    for method in methods:
        try:
            words = {} if method is None else {"method": method}
            answer = plan.epsilon(delta="1e-5", **words)
        except dp.DpacctError as error:
            name = type(error).__name__
        else:
            return [answer.lower, answer.value, answer.upper]
    return name


# --- names


def names() -> dict[str, Any]:
    """Each public name with the members that readers know, and the parameters of a call."""
    shown = examples()
    results = {name: described(getattr(dp, name), shown) for name in dp.__all__}
    for name in dp.federated.__all__:
        results[f"federated.{name}"] = described(getattr(dp.federated, name), shown)
    return results


def examples() -> set[str]:
    """Each name that stands behind a dot on a page or in an example of a docstring."""
    root = HERE.parents[1]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    for file in (root / "dpacct").rglob("*.py"):
        text = file.read_text(encoding="utf-8").splitlines()
        lines += [line for line in text if line.lstrip().startswith((">>> ", "... "))]
    return {name for line in lines for name in re.findall(r"\.([a-z][a-z_0-9]*)", line)}


def described(thing: Any, shown: set[str]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    if isinstance(thing, enum.EnumMeta):
        return {"members": list(thing.__members__)}
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return {"members": ["exit_code", "kind"]}
    if inspect.isclass(thing) or inspect.ismodule(thing):
        results["members"] = [member for member in dir(thing) if member in shown]
    if inspect.isclass(thing) or inspect.isfunction(thing):
        results["parameters"] = parameters(thing)
    return results


def parameters(thing: Any) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in inspect.signature(thing).parameters.values() if p.kind not in kinds]


# --- options


def options(command: str) -> list[str]:
    """Every option that `dpacct COMMAND --help` shows, and every choice behind it."""
    text = run([command, "--help"]).stdout
    text = text[: text.find("\nExamples:")]
    lines = [line for line in text.splitlines() if re.match(r"\s+-", line)]
    results = {word for line in lines for word in re.findall(r"(?<!\S)--?[a-z][a-z0-9-]*", line)}
    choices = {choice for line in lines for choice in re.findall(r"\[[a-z-]+\|[a-z|-]+\]", line)}
    return sorted(results | choices)


# --- command lines


class Ran:
    """What one command line did."""

    def __init__(self, code: int, stdout: str) -> None:
        self.code, self.stdout = code, stdout


def run(words: list[str], stdin: bytes = b"") -> Ran:
    """Run a command line in this process."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = main(words)
    finally:
        sys.stdin = before
    out.seek(0)
    return Ran(int(code), out.read())


def command_lines() -> list[str]:
    """The lines of lines.txt."""
    text = (HERE / "lines.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def observed(line: str) -> dict[str, Any]:
    """Exit code, shape of the JSON and numbers of one line, run in the current folder."""
    command, _, file = line.partition(" < ")
    ran = run(shlex.split(command), Path(file).read_bytes() if file else b"")
    row: dict[str, Any] = {"code": ran.code}
    words = command.split()
    if "--json" in words:
        data = json.loads(ran.stdout)
        row["shape"] = shape(data)
        row["numbers"] = numbers(data)
        if "error" in data and isinstance(data, dict) and isinstance(data["error"], dict):
            row["error"] = [data["error"]["kind"], data["error"].get("argument")]
    elif {"--quiet", "-q"} & set(words):
        with contextlib.suppress(ValueError):
            row["number"] = float(ran.stdout)
    return row


def shape(data: Any) -> list[str]:
    """Each path of keys with the type of what stands there; list items share a path."""
    distinct: set[str] = set()

    def walk(item: Any, path: str) -> None:
        if isinstance(item, dict):
            distinct.add(f"{path}: object")
            for key, value in item.items():
                walk(value, f"{path}.{key}")
        elif isinstance(item, list):
            distinct.add(f"{path}: list")
            for value in item:
                walk(value, path + "[]")
        elif item is None:
            distinct.add(f"{path}: null")
        elif isinstance(item, bool):
            distinct.add(f"{path}: boolean")
        else:
            distinct.add(f"{path}: {'text' if isinstance(item, str) else 'number'}")

    walk(data, "")
    return sorted(distinct)


def numbers(data: Any) -> dict[str, list[Any]]:
    """Each answer in it: lower, value and upper end, by where it stands."""
    results: dict[str, list[Any]] = {}

    def walk(item: Any, path: str) -> None:
        if isinstance(item, dict):
            is_answer = {"lower", "upper", "value", "side"} <= set(item)
            if is_answer and not isinstance(item["value"], str):
                results[path] = [item["lower"], item["value"], item["upper"], item["strength"]]
            for key, value in item.items():
                # by its method, as the order of a list and what else is in it may change
                walk(value, f"{path}.{key}")
        elif isinstance(item, list):
            for at, value in enumerate(item):
                label = str(at)
                if isinstance(value, dict):
                    label = str(value.get("method") or value.get("name") or at)
                walk(value, f"{path}[{label}]")

    walk(data, "")
    return results


@contextlib.contextmanager
def folder_of_files() -> Iterator[Path]:
    """The current folder is a copy of files/ until the end of this."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(FILES, Path(folder, "files")))
        os.chdir(copy)
        try:
            yield copy
        finally:
            os.chdir(before)


# --- files that people keep


CERTIFICATES = {
    "gaussian": "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5",
    "uniform": "eps --sigma 2 --sampling uniform --rate 0.05 --steps 200 --delta 1e-6",
    "laplace": "eps --mechanism laplace --b 10 --steps 30 --delta 1e-6",
    "delta": "delta --sigma 1 --rate 0.01 --steps 1000 --eps 2",
    "noise": "noise --eps 1 --delta 1e-5",
    "steps": "steps --sigma 20 --eps 1 --delta 1e-6",
}


def write_certificates(folder: Path) -> None:
    """One of each kind, and one with a digit changed."""
    for name, line in CERTIFICATES.items():
        run([*line.split(), "--certificate", str(folder / f"{name}.certificate.json"), "-q"])
    text = (folder / "gaussian.certificate.json").read_text(encoding="utf-8")
    upper = json.loads(text)["upper"]
    smaller = upper.replace("1.5", "1.4", 1)  # claims more than is true
    (folder / "edited.certificate.json").write_text(text.replace(upper, smaller), encoding="utf-8")


def write_plans(folder: Path) -> None:
    plan = eval(OTHERS["sum"], {"dp": dp})
    (folder / "saved.json").write_text(plan.to_json() + "\n", encoding="utf-8")
    nested = eval(OTHERS["nested"], {"dp": dp})
    (folder / "saved_nested.json").write_text(nested.to_json() + "\n", encoding="utf-8")


# --- all of it


def write(name: str, data: Any) -> None:
    """As JSON with one line for each entry, so that a difference can be read."""
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
    (HERE / name).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def dump_lines() -> None:
    rows, shapes = {}, {}
    with folder_of_files():
        for line in command_lines():
            began = time.process_time()
            row = observed(line)
            row["cpu"] = round(time.process_time() - began, 2)
            if "shape" in row:  # many lines share one
                row["shape"] = shapes.setdefault(json.dumps(row["shape"]), len(shapes))
            rows[line] = row
            print(row["code"], row["cpu"], line, flush=True)
    write("lines.json", rows)
    write("shapes.json", {str(at): json.loads(text) for text, at in shapes.items()})


def dump() -> None:
    write_plans(FILES)
    write_certificates(FILES)
    write("names.json", names())
    write("options.json", {command: options(command) for command in COMMANDS})
    plans = {}
    for name, text in plan_texts().items():
        began = time.process_time()
        plans[name] = plan_row(text)
        print(name, round(time.process_time() - began, 2), plans[name].get("epsilon"), flush=True)
    write("plans.json", plans)
    dump_lines()


if __name__ == "__main__":
    dump()

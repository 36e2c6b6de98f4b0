"""Where today's dpacct differs from the stored one on purpose; each with its reason.

The key says where: `("code", LINE)`, `("error", LINE)`, `("key", PATH)` for a JSON key that is
gone, `("number", LINE)` for an answer that is another one, `("option", COMMAND)`, `("name", NAME)`,
`("plan", NAME)`. The value is what holds today, and why. An entry that no longer differs fails.
"""

from typing import Any

_PROVED = "the note 'not proven' stood beside answers of discrete plans, which are proved now"

_DECIMALS = "the decimals of the data-independent proof stood beside two other answers"

DELIBERATE: dict[tuple[str, str], tuple[Any, str]] = {
    **{
        ("key", f".{answer}.{end}_decimal"): (None, _DECIMALS)
        for answer in ("data_dependent", "exact", "methods[].epsilon")
        for end in ("lower", "upper")
    },
    ("key", ".notes"): (None, _PROVED),
    ("key", ".notes[]"): (None, _PROVED),
    ("error", "federated keyboard.toml --json"): (
        ["usage", "PLAN"],
        "a plan of steps was refused for the first of its keys, and not called what it is",
    ),
    ("code", "report dp_fedsam.toml --quiet"): (
        0,
        "a report of a plan in which the clients add the noise died of a KeyError",
    ),
    (
        "number",
        "eps --noise-multiplier 0.8 --batch-size 256 --dataset-size 60000 --epochs 60"
        " --delta 1e-5 --json",
    ): (
        None,
        "an epoch is the ceil(N / B) batches that a data loader takes: 14100 steps, it was 14063",
    ),
    (
        "number",
        "noise --eps 2 --delta 1e-6 --batch-size 256 --dataset-size 60000 --epochs 60 --json",
    ): (None, "epochs as above: 14100 steps, it was 14063"),
    (
        "number",
        "noise --eps 8 --delta 1e-5 --batch-size 256 --dataset-size 50000 --epochs 20 --quiet",
    ): (
        0.579375919367,
        "epochs as above: 3920 steps, it was 3907",
    ),
    (
        "number",
        "noise --eps 8 --delta 1e-5 --batch-size 256 --dataset-size 50000 --epochs 20"
        " --sampling uniform --quiet",
    ): (
        1.21531373784,
        "what --quiet prints is the noise multiplier, twice sigma here; epochs as above",
    ),
    ("code", "eps --sigma 1 --delta 0 --json"): (
        4,
        "delta 0 was refused: pure mechanisms answer it, and of Gaussian noise no epsilon holds",
    ),
    ("error", "eps --mechanism randomized-response --eps0 1 --k 1 --delta 1e-5 --json"): (
        ["invalid-argument", "--k"],
        "the option is named as it was typed",
    ),
    (
        "number",
        "noise --eps 7 --delta 1000^-1.1 --rate 0.05 --steps 30 --sampling uniform --clip 0.3"
        " --method dp_fed_ls.theorem1 --quiet",
    ): (2.21216633463, "what --quiet prints is the noise multiplier, twice sigma here"),
    ("key", ".plan.of.of.clip"): (
        None,
        "a noise multiplier without a clip stays one: a clip of 1 was put into the plan",
    ),
    ("error", "theorems eval dp_fed_ls.eq15 nu2=4 --json"): (
        ["unsupported", "--as-printed"],
        "the option is named as it is typed",
    ),
    **{
        ("option", command): (["[poisson|uniform|none]"], "two samplings more have words")
        for command in ("noise", "eps", "delta", "steps", "compare", "risk", "curve")
    },
    **{
        ("name", name): (False, "a page's pictures are made by the one Chart: dpacct.plots.Chart")
        for name in ("ReportChart", "ReportLine")
    },
    ("name", "federated members"): (
        ["harmonizer"],
        "a private module, of a word that examples have: its clients are in the file of UDP-FL",
    ),
}

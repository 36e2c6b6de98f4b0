"""Search for statements by words and numbered places as the PDF prints them.

Nothing is stored: the pages are read and indexed on each search (some 40 ms).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches

from dpacct.papers.page import SECTIONS, Statement
from dpacct.papers.registry import UnknownName, get, ids, papers, statements

_KINDS = (
    *("theorem", "lemma", "proposition", "definition", "corollary", "remark", "algorithm", "eq"),
    *("table", "section", "assumption"),
)
_SHORT = {
    "thm": "theorem",
    "lem": "lemma",
    "prop": "proposition",
    "def": "definition",
    "cor": "corollary",
    "alg": "algorithm",
    "eqn": "eq",
    "equation": "eq",
    "tab": "table",
}
_NAMES = "|".join(sorted((*_KINDS, *_SHORT), key=len, reverse=True))
_NUMBER = r"\d+(?:\.\d+)?"
_PLACE = re.compile(rf"\b({_NAMES})s?[. ]*\(?({_NUMBER})\)?((?:(?:, | and |-)\(?{_NUMBER}\)?)*)")
_WORD = re.compile(r"[a-z0-9]+(?:[.][0-9]+)*")
_SUFFIX = re.compile(
    "(?:isations?|izations?|ations?|ings?|ised|ized|ises|izes|ions?|ers?|ors?|ed|es|s|e)$"
)
_STOP = (
    " a an and are as at by for from in is it of on or that the this to was we with which be if then our"
    " under only after most least not no than "
)
_LONG = {
    "dp": "differential privacy",
    "rdp": "renyi differential privacy",
    "gdp": "gaussian differential privacy",
    "clt": "central limit",
    "fl": "federated learning",
    "sgd": "gradient descent",
    "rr": "randomised response",
}
_CORRECTED = 0.9  # of what matches equally well, the printed statement comes first
_NEAR = 0.95  # a score within this share of the best may be meant as well


@dataclass(frozen=True)
class Hit:
    """A statement that a query finds, and how well."""

    statement: Statement
    score: float


def tokens(text: str) -> list[str]:
    """Stems of the words, and each numbered place as one token: `lemma:2`.

    >>> tokens("Lemma 2 of UDP-FL, Eq. (17): Renyi divergences")
    ['lemma:2', 'eq:17', 'udp', 'fl', 'federat', 'learn', 'renyi', 'divergenc']
    """
    plain = _plain(text)
    places = []
    for match in _PLACE.finditer(plain):
        kind = _SHORT.get(match[1], match[1])
        numbers = [match[2], *re.findall(_NUMBER, match[3])]
        places += [f"{kind}:{number}" for number in numbers]
    words = [w for w in _WORD.findall(_PLACE.sub(" ", plain)) if f" {w} " not in _STOP]
    return places + [_stem(w) for word in words for w in (word, *_LONG.get(word, "").split())]


def search(query: str, limit: int = 10) -> list[Hit]:
    """The statements that match best; those that match equally well stand in the order of their papers."""
    plain = _plain(query)
    pieces = [match[0] for match in _PLACE.finditer(plain)]
    pieces += _WORD.findall(_PLACE.sub(" ", plain))
    wanted = [group for group in map(tokens, dict.fromkeys(pieces)) if group]
    weights = [(statement, _weights(statement)) for statement in statements()]
    seen = Counter(word for _, held in weights for word in held)
    wanted = [[_nearest(word, seen) for word in group] for group in wanted]
    hits = []
    for statement, held in weights:
        # a word counts by itself, or by what it is short for
        worth = [
            [held.get(w, 0.0) * (1.0 + math.log(len(weights) / max(1, seen[w]))) for w in group]
            for group in wanted
        ]
        best = [max(group[0], sum(group[1:]) / max(1, len(group) - 1)) for group in worth]
        matched = sum(b > 0.0 for b in best) / max(1, len(best))
        score = sum(best) * matched * (_CORRECTED if statement.evidence == "corrected" else 1.0)
        if score:
            hits.append(Hit(statement, score))
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def meant(words: str) -> Statement:
    """The statement of that id, or the one that these words find; raises `UnknownName` with the candidates.

    >>> meant("UDP-FL lemma 2").id
    'udp_fl.lemma2'
    """
    if words in ids() or not re.search(r"[\s-]|^[a-z]+\d+$", words):
        return get(words)
    several = _of_place(words) or _of_paper(words)
    if several:
        raise _several(words, several)
    hits = search(words)
    if not hits:
        return get(words)
    # lemma2 rather than lemma2_corrected, unless the words say so
    printed = [hit for hit in hits if not hit.statement.name.partition("_")[2].strip("0123456789_")]
    if hits[0] not in printed:
        printed = hits
    near = [hit.statement for hit in printed if hit.score > _NEAR * printed[0].score]
    if len(near) == 1:
        return near[0]
    raise _several(words, tuple(s.id for s in near[:6]))


def _several(words: str, candidates: tuple[str, ...]) -> UnknownName:
    message = f"{words[:40]!r} may mean several statements: {', '.join(candidates)}"
    return UnknownName(message, candidates)


def _of_place(words: str) -> tuple[str, ...]:
    """All statements at a place, where the words name one and no paper: `theorem2`, `Lemma 1`; else none."""
    plain = re.sub(r"[\s-]+", " ", _plain(words)).strip()
    place = re.fullmatch(rf"({_NAMES})[ .]*({_NUMBER})", plain)
    if not place:
        return ()
    name = f"{_SHORT.get(place[1], place[1])}{place[2].replace('.', '_')}"
    found = tuple(id for id in ids() if id.partition(".")[2] == name)
    return found if len(found) > 1 else ()


def _of_paper(words: str) -> tuple[str, ...]:
    """The statements of a paper, where the words are its name and nothing else; else none."""
    wanted = _letters(words)
    keys = [p.key for p in papers().values() if wanted in map(_letters, (p.key, *p.names))]
    return tuple(id for id in ids() if id.partition(".")[0] in keys)


def _letters(words: str) -> str:
    return re.sub(r"[^a-z0-9]", "", _plain(words))


def _weights(statement: Statement) -> dict[str, float]:
    """The weight of each word of a page."""
    paper = papers()[statement.paper]
    body = [statement.section(name) for name in SECTIONS]
    body += [f"{a.name} {a.meaning}" for a in statement.arguments]
    sums: dict[str, float] = {}
    for worth, words in (
        (8.0, f"{statement.locus} {statement.also_called}"),
        (7.0, " ".join([paper.key.replace("_", " "), *paper.names, paper.venue])),
        (6.0, _own_place(statement.name)),
        (4.0, f"{paper.title} {paper.authors} {paper.year}"),
        (4.0, f"{statement.claim} {statement.quantity}"),
        (1.0, " ".join(body)),
    ):
        for word in set(tokens(words)):
            sums[word] = sums.get(word, 0.0) + worth
    return sums


def _own_place(name: str) -> str:
    """`lemma 2` for lemma2, the page of the statement itself; the other words for lemma2_corrected."""
    place, _, rest = name.partition("_")
    number = re.fullmatch(r"([a-z]+)(\d+)", place)
    if number and (not rest or rest.isdigit()):
        return f"{number[1]} {number[2]}{'.' + rest if rest else ''}"
    return (rest if number else name).replace("_", " ")


def _nearest(word: str, words: Counter[str]) -> str:
    """The word, or the known word closest to a misspelling."""
    misspelt = word.isalpha() and word not in words
    return next(iter(get_close_matches(word, words, 1, 0.8)), word) if misspelt else word


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def _stem(word: str) -> str:
    """The word without its ending, so that sampling, sampled and sample are one."""
    short = _SUFFIX.sub("", word.replace("z", "s")) if len(word) > 4 else word
    return short if len(short) >= 4 else word

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

_SHORT = {
    "thm": "theorem",
    "lem": "lemma",
    "prop": "proposition",
    "def": "definition",
    "tab": "table",
    "cor": "corollary",
    "alg": "algorithm",
    "eqn": "eq",
    "equation": "eq",
}
_NAMES = "|".join(["theorem|proposition|definition|corollary|remark|section|assumption", *_SHORT])
_NAMES += "|algorithm|lemma|table|eq"
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
_LONG = {"dp": "differential privacy", "clt": "central limit", "rr": "randomised"}
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
    ['lemma:2', 'eq:17', 'udp', 'fl', 'renyi', 'divergenc']
    """
    plain = _plain(text)
    places = [
        f"{_SHORT.get(kind, kind)}:{number}"
        for kind, first, more in _PLACE.findall(plain)
        for number in (first, *re.findall(_NUMBER, more))
    ]
    words = [w for w in _WORD.findall(_PLACE.sub(" ", plain)) if f" {w} " not in _STOP]
    return places + [_stem(w) for word in words for w in _LONG.get(word, word).split()]


def search(query: str, limit: int = 10) -> list[Hit]:
    """The statements that match best; those that match equally well stand in the order of their papers."""
    weights = [(statement, _weights(statement)) for statement in statements()]
    seen = Counter(word for _, held in weights for word in held)
    wanted = [_nearest(word, seen) for word in dict.fromkeys(tokens(query))]
    hits = []
    for statement, held in weights:
        worth = [
            held.get(w, 0.0) * (1.0 + math.log(len(weights) / max(1, seen[w]))) for w in wanted
        ]
        matched = sum(w > 0.0 for w in worth) / max(1, len(worth))
        score = sum(worth) * matched * (_CORRECTED if statement.evidence == "corrected" else 1.0)
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
    # lemma2 rather than lemma2_corrected, unless the words say so
    printed = [hit for hit in hits if not hit.statement.name.partition("_")[2].strip("0123456789_")]
    best = printed if hits[:1] == printed[:1] else hits
    near = [hit.statement for hit in best if hit.score > _NEAR * best[0].score]
    if len(near) > 1:
        raise _several(words, tuple(s.id for s in near[:6]))
    return near[0] if near else get(words)


def _several(words: str, candidates: tuple[str, ...]) -> UnknownName:
    message = f"{words[:40]!r} may mean several statements: {', '.join(candidates)}"
    return UnknownName(message, candidates)


def _of_place(words: str) -> tuple[str, ...]:
    """All statements at a place, where the words name one and no paper: `theorem2`, `Lemma 1`; else none."""
    place = re.fullmatch(rf"({_NAMES})[ .-]*({_NUMBER})", _plain(words).strip())
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


def _weights(statement: Statement) -> Counter[str]:
    """The weight of each word of a page."""
    paper = papers()[statement.paper]
    body = [statement.section(name) for name in SECTIONS]
    body += [f"{a.name} {a.meaning}" for a in statement.arguments]
    # `lemma 2` for lemma2, the page of the statement itself; the other words for lemma2_corrected
    name = re.sub(r"^[a-z]+\d+_(?=[a-z])", "", statement.name)
    name = re.sub(r"^([a-z]+)(\d+)(?:_(\d+))?$", r"\1 \2.\3", name).replace("_", " ")
    sums: Counter[str] = Counter()
    for worth, words in (
        (8, f"{statement.locus} {statement.also_called}"),
        (7, " ".join([paper.key.replace("_", " "), *paper.names, paper.venue])),
        (6, name),
        (4, f"{paper.title} {paper.authors} {paper.year}"),
        (4, f"{statement.claim} {statement.quantity}"),
        (1, " ".join(body)),
    ):
        sums.update(dict.fromkeys(tokens(words), worth))
    return sums


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

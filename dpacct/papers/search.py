"""Search for statements by words and numbered places as the PDF prints them: the pages are read each time."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import get_close_matches
from math import log

from dpacct.papers.page import Statement
from dpacct.papers.registry import UnknownName, get, ids, papers, statements

_SHORT = {"thm": "theorem", "lem": "lemma", "prop": "proposition", "def": "definition"}
_SHORT |= {"cor": "corollary", "alg": "algorithm", "eqn": "eq", "equation": "eq", "tab": "table"}
_KINDS = "|".join({*_SHORT, *_SHORT.values(), "remark", "section", "assumption"})
_PLACE = re.compile(rf"\b({_KINDS})s?[ .(_]*(\d+(?:\.\d+)?)")
_LONG = {"dp": "differential privacy", "clt": "central limit"}
_STOP = " a an and are as at by for from in is it of on or that the this to was we with "
_STEM = 6  # letters of a word that count: sampled, sampling and sample are near enough
_NEAR = 0.95  # a score within this share of the best may be meant as well


def tokens(text: str) -> list[str]:
    """The first letters of each word; a numbered place is one word.

    >>> tokens("Lemma 2 of UDP-FL, Eq. (17): Renyi divergences")
    ['lemma2', 'udp', 'fl', 'eq17', 'renyi', 'diverg']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    plain = _PLACE.sub(lambda at: f" {_SHORT.get(at[1], at[1])}{at[2]} ", plain.replace("_", " "))
    words = re.findall(r"[a-z]+(?:\d+(?:\.\d+)?)?", plain)
    words = [part for word in words for part in _LONG.get(word, word).split()]
    return [w if w[-1].isdigit() else w[:_STEM] for w in words if f" {w} " not in _STOP]


def _weights(statement: Statement) -> Counter[str]:
    """The weight of each word of a page: titles and names more than the text."""
    paper = papers()[statement.paper]
    weights: Counter[str] = Counter()
    for weight, text in (
        (8, f"{statement.locus} {statement.also_called}"),
        (8, statement.name),
        (6, f"{paper.key} {' '.join(paper.names)}"),
        (4, f"{paper.title} {paper.authors} {statement.claim} {statement.quantity}"),
        (1, statement.text),
    ):
        for word in set(tokens(text)):
            weights[word] += weight
    return weights


def search(query: str, limit: int = 10) -> list[Statement]:
    """The statements that match best; those that match equally well stand in the order of their papers."""
    return [statement for _, statement in _scored(query)[:limit]]


def _scored(query: str) -> list[tuple[float, Statement]]:
    pages = [(statement, _weights(statement)) for statement in statements()]
    known = Counter(word for _, weights in pages for word in weights)
    wanted = [
        next(iter(get_close_matches(w, known, 1, 0.75) if w.isalpha() else ()), w)
        for w in dict.fromkeys(tokens(query))
    ]
    hits = []
    for statement, weights in pages:
        worth = [weights[w] * (1.0 + log(len(pages) / known[w])) for w in wanted if weights[w]]
        # lemma2 rather than lemma2_corrected, unless the words say so
        score = sum(worth) * len(worth) * (0.8 if re.search("_[a-z]", statement.name) else 1.0)
        if score:
            hits.append((score, statement))
    return sorted(hits, key=lambda hit: -hit[0])


def meant(words: str) -> Statement:
    """The statement of that id, or the one that these words find; raises `UnknownName` with the candidates.

    >>> meant("UDP-FL lemma 2").id
    'udp_fl.lemma2'
    """
    if words in ids() or not re.search(r"[\s-]|^[a-z]+\d+$", words):
        return get(words)
    place = "".join(tokens(words)).replace(".", "_")
    several = [id for id in ids() if id.partition(".")[2] == place] or _of_paper(words)
    if len(several) < 2:
        hits = _scored(words)
        near = [s for score, s in hits if score > _NEAR * hits[0][0]]
        if len(near) < 2:
            return near[0] if near else get(words)
        several = [s.id for s in near[:6]]
    message = f"{words[:40]!r} may mean several statements: {', '.join(several)}"
    raise UnknownName(message, tuple(several))


def _of_paper(words: str) -> list[str]:
    """The statements of a paper, where the words are its name and nothing else; else none."""
    wanted = tokens(words)
    keys = [p.key for p in papers().values() if wanted in map(tokens, (p.key, *p.names))]
    return [id for id in ids() if id.partition(".")[0] in keys]

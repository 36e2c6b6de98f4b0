"""The works that answers cite, with what a bibliography needs.

Papers of the theorem registry bring themselves; here are the others, and the fuller form of some. A
work is recognised in a citation by its authors, or by its title.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpacct.papers.registry import Paper


@dataclass(frozen=True)
class Work:
    """One entry of a bibliography.

    Attributes:
        key: its name in BibTeX.
        authors: "Given Family" of each.
        title: its title.
        year: when it appeared.
        venue: journal or proceedings; "" for a book or software.
        kind: the BibTeX type.
        more: further fields, such as volume or url.
        paper: the key of the same paper in the theorem registry, if it is there.
        told: phrases by which a citation of this work is recognised, besides its title.
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: int
    venue: str = ""
    kind: str = "inproceedings"
    more: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    told: tuple[str, ...] = ()

    @property
    def families(self) -> str:
        """The authors' family names: "Dong, Roth, Su"."""
        return ", ".join(author.rpartition(" ")[2] for author in self.authors)

    def line(self) -> str:
        """Authors, title, venue and year on one line."""
        where = f" {self.venue}," if self.venue else ""
        return f"{self.families}. {self.title}.{where} {self.year}."

    def meant_by(self, citation: str) -> bool:
        """Whether a citation is of this work."""
        return self.title in citation or any(words in citation for words in self.told)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(";"))


# A mechanism of somebody else's cites in this form.
_FULL = re.compile(
    r"(?P<authors>[^.:]+)\. (?P<title>.{8,}?)\.? (?P<venue>[^.]{2,}) (?P<year>(19|20)\d\d)\b"
)

WORKS: tuple[Work, ...] = (
    Work(
        "alghamdi2023saddle",
        _names(
            "Wael Alghamdi; Juan Felipe Gomez; Shahab Asoodeh; Flavio P. Calmon; Oliver Kosut;"
            " Lalitha Sankar"
        ),
        "The Saddle-Point Method in Differential Privacy",
        2023,
        "ICML",
        told=("Alghamdi et al. 2023",),
    ),
    Work(
        "balle2018improving",
        _names("Borja Balle; Yu-Xiang Wang"),
        "Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and"
        " Optimal Denoising",
        2018,
        "ICML",
        paper="balle_wang",
        told=("Balle, Wang",),
    ),
    Work(
        "bu2020deep",
        _names("Zhiqi Bu; Jinshuo Dong; Qi Long; Weijie J. Su"),
        "Deep Learning with Gaussian Differential Privacy",
        2020,
        "Harvard Data Science Review",
        "article",
        told=("Bu, Dong, Long, Su 2020",),
    ),
    Work(
        "bun2016concentrated",
        _names("Mark Bun; Thomas Steinke"),
        "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
        2016,
        "TCC",
        told=("Bun, Steinke",),
    ),
    Work(
        "canonne2020discrete",
        _names("Clément L. Canonne; Gautam Kamath; Thomas Steinke"),
        "The Discrete Gaussian for Differential Privacy",
        2020,
        "NeurIPS",
        paper="canonne2020",
        told=("Canonne, Kamath, Steinke",),
    ),
    Work(
        "cesar2021bounding",
        _names("Mark Cesar; Ryan Rogers"),
        "Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition for Data"
        " Analytics",
        2021,
        "ALT",
        told=("Cesar, Rogers",),
    ),
    Work(
        "dong2020optimal",
        _names("Jinshuo Dong; David Durfee; Ryan Rogers"),
        "Optimal Differential Privacy Composition for Exponential Mechanisms",
        2020,
        "ICML",
        told=("Dong, Durfee, Rogers",),
    ),
    Work(
        "dong2022gaussian",
        _names("Jinshuo Dong; Aaron Roth; Weijie J. Su"),
        "Gaussian Differential Privacy",
        2022,
        "Journal of the Royal Statistical Society: Series B",
        "article",
        (("volume", "84"), ("number", "1"), ("pages", "3--37")),
        paper="dong2019",
        told=("Dong, Roth, Su",),
    ),
    Work(
        "doroshenko2022connect",
        _names("Vadym Doroshenko; Badih Ghazi; Pritish Kamath; Ravi Kumar; Pasin Manurangsi"),
        "Connect the Dots: Tighter Discrete Approximations of Privacy Loss Distributions",
        2022,
        "Proceedings on Privacy Enhancing Technologies",
        "article",
        told=("Doroshenko, Ghazi",),
    ),
    Work(
        "dwork2006calibrating",
        _names("Cynthia Dwork; Frank McSherry; Kobbi Nissim; Adam Smith"),
        "Calibrating Noise to Sensitivity in Private Data Analysis",
        2006,
        "TCC",
        told=("Dwork, McSherry, Nissim, Smith",),
    ),
    Work(
        "dwork2014algorithmic",
        _names("Cynthia Dwork; Aaron Roth"),
        "The Algorithmic Foundations of Differential Privacy",
        2014,
        "Foundations and Trends in Theoretical Computer Science",
        "article",
        (("volume", "9"),),
        told=("Dwork, Roth",),
    ),
    Work(
        "feldman2021individual",
        _names("Vitaly Feldman; Tijana Zrnic"),
        "Individual Privacy Accounting via a Rényi Filter",
        2021,
        "NeurIPS",
        told=("Feldman, Zrnic",),
    ),
    Work(
        "geng2014optimal",
        _names("Quan Geng; Pramod Viswanath"),
        "The Optimal Mechanism in Differential Privacy",
        2014,
        "ISIT",
        paper="geng2014",
        told=("Geng, Viswanath",),
    ),
    Work(
        "geng2015staircase",
        _names("Quan Geng; Peter Kairouz; Sewoong Oh; Pramod Viswanath"),
        "The Staircase Mechanism in Differential Privacy",
        2015,
        "IEEE Journal of Selected Topics in Signal Processing",
        "article",
    ),
    Work(
        "ghosh2009universally",
        _names("Arpita Ghosh; Tim Roughgarden; Mukund Sundararajan"),
        "Universally Utility-Maximizing Privacy Mechanisms",
        2009,
        "STOC",
    ),
    Work(
        "hayes2023bounding",
        _names("Jamie Hayes; Saeed Mahloujifar; Borja Balle"),
        "Bounding Training Data Reconstruction in DP-SGD",
        2023,
        "NeurIPS",
        told=("Hayes, Mahloujifar, Balle",),
    ),
    Work(
        "johansson2017arb",
        _names("Fredrik Johansson"),
        "Arb: Efficient Arbitrary-Precision Midpoint-Radius Interval Arithmetic",
        2017,
        "IEEE Transactions on Computers",
        "article",
        (("volume", "66"), ("number", "8")),
        told=("enclosed in balls",),
    ),
    Work(
        "kairouz2015composition",
        _names("Peter Kairouz; Sewoong Oh; Pramod Viswanath"),
        "The Composition Theorem for Differential Privacy",
        2015,
        "ICML",
        paper="kairouz2015",
        told=("Kairouz, Oh, Viswanath",),
    ),
    Work(
        "kairouz2016discrete",
        _names("Peter Kairouz; Keith Bonawitz; Daniel Ramage"),
        "Discrete Distribution Estimation under Local Privacy",
        2016,
        "ICML",
        told=("Kairouz, Bonawitz, Ramage",),
    ),
    Work(
        "kasiviswanathan2008what",
        _names(
            "Shiva Prasad Kasiviswanathan; Homin K. Lee; Kobbi Nissim; Sofya Raskhodnikova; Adam"
            " Smith"
        ),
        "What Can We Learn Privately?",
        2008,
        "FOCS",
    ),
    Work(
        "mcsherry2007mechanism",
        _names("Frank McSherry; Kunal Talwar"),
        "Mechanism Design via Differential Privacy",
        2007,
        "FOCS",
        told=("McSherry, Talwar",),
    ),
    Work(
        "mcsherry2009privacy",
        _names("Frank McSherry"),
        "Privacy Integrated Queries",
        2009,
        "SIGMOD",
    ),
    Work(
        "mironov2012significance",
        _names("Ilya Mironov"),
        "On Significance of the Least Significant Bits for Differential Privacy",
        2012,
        "CCS",
        told=("Mironov 2012", "Mironov (2012)"),
    ),
    Work(
        "mironov2017renyi",
        _names("Ilya Mironov"),
        "Rényi Differential Privacy",
        2017,
        "CSF",
        paper="mironov2017",
        told=("Mironov 2017",),
    ),
    Work(
        "warner1965randomized",
        _names("Stanley L. Warner"),
        "Randomized Response: A Survey Technique for Eliminating Evasive Answer Bias",
        1965,
        "Journal of the American Statistical Association",
        "article",
    ),
    Work(
        "zhu2022optimal",
        _names("Yuqing Zhu; Jinshuo Dong; Yu-Xiang Wang"),
        "Optimal Accounting of Differential Privacy via Characteristic Function",
        2022,
        "AISTATS",
        told=("Zhu, Dong, Wang",),
    ),
)


def of_paper(paper: Paper) -> Work:
    """The work of a registry's paper: the fuller form above where there is one."""
    for work in WORKS:
        if work.paper == paper.key:
            return work
    venue, _, number = paper.venue.partition("arXiv:")
    venue, number = venue.strip(" ,;"), number.partition(",")[0].partition(";")[0]
    preprint = (("eprint", number), ("archiveprefix", "arXiv")) if number else ()
    kind = "inproceedings" if venue else "misc"
    authors = tuple(paper.authors.split(", "))
    return Work(paper.key, authors, paper.title, paper.year, venue, kind, preprint, paper=paper.key)


def find(citation: str) -> tuple[Work, ...]:
    """The works that a citation names: of the list above, and of the theorem registry.

    >>> [work.key for work in find("Balle, Wang 2018, Theorem 8")]
    ['balle2018improving']
    """
    from dpacct.papers.registry import papers

    matching = [work for work in WORKS if work.meant_by(citation)]
    for paper in papers().values():
        work = of_paper(paper)
        named = paper.title in citation or f"{paper.authors} {paper.year}" in citation
        if named and work not in matching:
            matching.append(work)
    return tuple(matching) or _spelt_out(citation)


def _spelt_out(citation: str) -> tuple[Work, ...]:
    """The work that a citation spells out: "Authors. Title. Venue Year"."""
    match = _FULL.match(citation)
    if match is None:
        return ()
    authors = tuple(match["authors"].split(", "))
    key = re.sub(r"\W", "", authors[0].lower()) + match["year"]
    return (Work(key, authors, match["title"], int(match["year"]), match["venue"].strip()),)

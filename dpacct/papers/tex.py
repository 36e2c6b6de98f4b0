"""LaTeX as a line of Unicode for a terminal: the 90 commands that the pages use.

A command that is not known raises, and a test renders every formula of every page; so a page can't
show a backslash.
"""

from __future__ import annotations

import re
from typing import TypeAlias

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_&']|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
Piece: TypeAlias = tuple[str, str]
"""The text, and what it is: ord, name, rel, bin, open, close, punct, space, frac or text."""


def _signs(kind: str, names: str, signs: str) -> dict[str, Piece]:
    """Commands, or signs that are typed as they are, with what they become."""
    pairs = zip(names.split(), signs.split(), strict=True)
    typed = "=<>:+-*()[]"
    return {name if name in typed else f"\\{name}": (sign, kind) for name, sign in pairs}


_NAMES = "log ln exp min max arg tanh cosh sinh cos sin inf sup lim det"
_SIGNS: dict[str, Piece] = {
    **_signs(
        "ord",
        "alpha beta gamma delta epsilon varepsilon eta theta lambda mu nu pi rho sigma tau phi varphi xi psi"
        " omega kappa zeta chi ell Delta Phi Sigma Psi Omega Gamma Lambda nabla infty partial dots ldots"
        " cdots emptyset | _",
        "α β γ δ ε ε η θ λ μ ν π ρ σ τ φ φ ξ ψ ω κ ζ χ ℓ Δ Φ Σ Ψ Ω Γ Λ ∇ ∞ ∂ … … ⋯ ∅ ‖ _",
    ),
    **_signs("name", f"sum prod int Pr {_NAMES}", f"Σ Π ∫ Pr {_NAMES}"),
    **_signs(
        "rel",
        "= < > : le ge leq geq ne neq in sim approx iff to mid subset equiv",
        "= < > : ≤ ≥ ≤ ≥ ≠ ≠ ∈ ∼ ≈ ⇔ → | ⊂ ≡",
    ),
    **_signs(
        "bin", "+ - * pm otimes circ bmod times cdot setminus cup cap", "+ − * ± ⊗ ∘ mod × · ∖ ∪ ∩"
    ),
    **_signs("open", "( [ { lceil lfloor langle", "( [ { ⌈ ⌊ ⟨"),
    **_signs("close", ") ] } rceil rfloor rangle", ") ] } ⌉ ⌋ ⟩"),
    **dict.fromkeys(("\\ ", "&"), (" ", "space")),
    **dict.fromkeys(("\\quad", "\\qquad"), ("  ", "space")),
    "\\\\": ("; ", "space"),
    **{sign: (sign, "punct") for sign in ",;"},
    "'": ("′", "ord"),
}
_SIZES = " left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle limits "
_FONTS = " mathcal mathbf mathrm mathsf mathit operatorname texttt text mathbb "
_BLACKBOARD = dict(zip("CENPRZ", "ℂ𝔼ℕℙℝℤ", strict=True))
_ACCENTS = {"tilde": "\u0303", "hat": "\u0302", "bar": "\u0304", "dot": "\u0307"}
_ACCENTS["overline"] = _ACCENTS["bar"]
_UP = dict(zip("0123456789+−()nitTKNkmdjabcx*'", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱᵗᵀᴷᴺᵏᵐᵈʲᵃᵇᶜˣ*′", strict=True))
_DOWN = dict(
    zip("0123456789+−()aehijklmnoprstuvxβγρφ", "₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩ", strict=True)
)
_ATOM = re.compile(
    r"∞|[^\W_]\u0303?|[\d.]+|[^\W\d_][⁰¹²³⁴⁵⁶⁷⁸⁹ⁿᵏ₀-₉ₐ-ₜᵢⱼ′\u0300-\u0304]*|√\w", re.UNICODE
)

# e^ε and √2 end where the next factor begins: e^ε δ, √2 c
_LOOSE = re.compile(r"(?:\^[^\W\d_][₀-₉ᵢⱼₖ]*|√\w)$")


def unicode(latex: str) -> str:
    r"""One line of Unicode; raises `ValueError` for a command that pages may not use.

    >>> unicode(r"\rho+\log\left(1-\tfrac1\alpha\right)-\frac{\log\delta+\log\alpha}{\alpha-1}")
    'ρ + log(1 − 1/α) − (log δ + log α)/(α − 1)'
    """
    return _join(_Reader(_TOKEN.findall(latex)).row()).strip()


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.place = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def row(self) -> list[Piece]:
        pieces: list[Piece] = []
        while self.peek() and self.peek() != "}":
            token = self.take()
            if token in "^_":
                self.script(token, pieces)
            else:
                pieces += self.pieces_of(token)
        return pieces

    def argument(self) -> list[Piece]:
        """A group in braces, or the next token alone."""
        while self.peek().isspace():
            self.take()
        if self.peek() == "{":
            self.take()
            pieces = self.row()
            self.take()
            return pieces
        if len(self.peek()) > 1 and self.peek().isdigit():  # \frac12 is 1/2
            first, rest = self.peek()[0], self.peek()[1:]
            self.tokens[self.place] = rest
            return [(first, "ord")]
        return self.pieces_of(self.take())

    def raw(self) -> str:
        """A group in braces as it was typed."""
        self.take()
        depth, text = 1, ""
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
            text += token if depth else ""
        return text

    def pieces_of(self, token: str) -> list[Piece]:
        """The Unicode of a token and its arguments."""
        if token in _SIGNS:
            return [_SIGNS[token]]
        if token.isspace() or token in ("\\,", "\\!", "\\;"):
            return []
        if token == "{":
            self.place -= 1
            return [(_join(self.argument()), "ord")]
        if not token.startswith("\\"):
            return [(token, "ord")]
        name = token[1:]
        if f" {name} " in _SIZES:
            if self.peek() == ".":
                self.take()
            return []
        if name in ("frac", "tfrac", "dfrac"):
            top, bottom = _join(self.argument()), _join(self.argument())
            return [(f"{_wrapped(top, product=True)}/{_wrapped(bottom)}", "frac")]
        if name in ("binom", "tbinom"):
            return [(f"C({_join(self.argument())}, {_join(self.argument())})", "name")]
        if name == "sqrt":
            return [("√" + _wrapped(_join(self.argument())), "ord")]
        if name in _ACCENTS:
            inner = _join(self.argument())
            return [(inner + _ACCENTS[name] if len(inner) == 1 else f"{name}({inner})", "ord")]
        if f" {name} " in _FONTS and self.peek() == "{":
            text = self.raw()
            if name in ("text", "texttt"):
                parts = text.replace("\\_", "_").split("$")
                return [("".join(unicode(p) if i % 2 else p for i, p in enumerate(parts)), "text")]
            if name == "mathbb":
                return [("".join(_BLACKBOARD.get(c, c) for c in text), "ord")]
            return [(unicode(text), "name" if name == "operatorname" or len(text) > 1 else "ord")]
        if f" {name} " in _FONTS:
            inner = _join(self.argument())
            return [(_BLACKBOARD.get(inner, inner) if name == "mathbb" else inner, "ord")]
        if name in ("begin", "end"):
            cases = self.raw() == "cases"
            brace = ("{ ", "open") if name == "begin" else (" }", "close")
            return [brace] if cases else []
        raise ValueError(f"{token} is not a command that pages may use")

    def script(self, sign: str, pieces: list[Piece]) -> None:
        """An exponent or an index after its base."""
        inner = _join(self.argument(), tight=True)
        table, short = (_UP, 3) if sign == "^" else (_DOWN, 4)
        if inner and all(c in table for c in inner) and len(inner) <= short:
            text = "".join(table[c] for c in inner)
        else:
            text = sign + (inner if _ATOM.fullmatch(inner) else f"({inner})")
        if pieces and pieces[-1][1] == "frac":
            pieces[-1] = (f"({pieces[-1][0]}){text}", "ord")
        elif pieces:
            pieces[-1] = (pieces[-1][0] + text, pieces[-1][1])
        else:
            pieces.append((text, "ord"))


def _wrapped(text: str, product: bool = False) -> str:
    """Put parentheses around anything but a single factor (or a product, above the bar)."""
    if _ATOM.fullmatch(text) or (product and not re.search(r"[ +−/,]", text)):
        return text
    depth = 0
    for place, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and place < len(text) - 1:
            return f"({text})"
    return text if text[0] == "(" else f"({text})"


def _join(pieces: list[Piece], tight: bool = False) -> str:
    text, before = "", "start"
    for index, (piece, kind) in enumerate(pieces):
        after = pieces[index + 1][1] if index + 1 < len(pieces) else "end"
        beside = after in ("ord", "name", "open", "frac", "text") or before == "name"
        if kind == "frac" and beside:
            piece = f"({piece})"
        unary = kind == "bin" and before in ("start", "open", "rel", "bin", "punct", "space")
        spaced = kind in ("rel", "bin") and not unary and not (tight and piece not in ("∈", "mod"))
        if spaced and piece != "·":
            text = text.rstrip(" ") + f" {piece} "
        else:
            # min_λ (a/b): the fraction is not an argument of the index
            named = (kind in ("ord", "name") and not text.endswith(" ")) or (
                kind == "frac" and not text[-1:].isascii()
            )
            product = kind in ("name", "frac") and before in ("ord", "close", "frac")
            loose = kind in ("ord", "open", "frac", "text") and piece[0] not in "′,/"
            air = (
                (before == "name" and named)
                or (product and text[-1:] not in "(‖|/")
                or (before == "frac" and kind in ("ord", "open"))
                or (loose and _LOOSE.search(text))
            )
            text += (" " if air and text else "") + piece
            text += " " if kind == "punct" and not tight else ""
        before = "start" if unary else kind
    return text

"""Units and suffixes: the text of a number -> its value in base units and its dimension."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from . import codes
from .diagnostics import Fix, Span, nearest, replaced
from .evaluation.spellings import JOINS
from .report import wrong

#: Base units, in the order in which a dimension spells them. Work is counted in FLOP, energy in joule.
AXES = ("token", "sequence", "B", "FLOP", "J", "$", "s")


@dataclass(frozen=True, slots=True)
class Dimension:
    """Powers of the base units, one per axis. `str` spells it: `B/s`, `1/s`, `1`."""

    powers: tuple[int, ...] = (0,) * len(AXES)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a + b for a, b in zip(self.powers, other.powers, strict=True)))

    def __truediv__(self, other: Dimension) -> Dimension:
        return Dimension(tuple(a - b for a, b in zip(self.powers, other.powers, strict=True)))

    def __str__(self) -> str:
        above = [_power(axis, n) for axis, n in zip(AXES, self.powers, strict=True) if n > 0]
        below = [_power(axis, -n) for axis, n in zip(AXES, self.powers, strict=True) if n < 0]
        return "/".join(["*".join(above) or "1", *below])

    @property
    def bare(self) -> bool:
        return not any(self.powers)

    def without_counts(self) -> Dimension:
        """The dimension with tokens and sequences, which are counts, taken as bare numbers."""
        return Dimension((0, 0, *self.powers[2:]))


def _power(axis: str, power: int) -> str:
    return axis if power == 1 else f"{axis}^{power}"


NUMBER = Dimension()


def dimension(spelled: str) -> Dimension:
    """The dimension that the metadata of a field spells, such as `B/s`, `1/s` or `token`."""
    above, *below = spelled.split("/")
    result = _axis(above)
    for axis in below:
        result = result / _axis(axis)
    return result


def _axis(name: str) -> Dimension:
    if name == "1":
        return NUMBER
    return Dimension(tuple(int(axis == name) for axis in AXES))


_IN_WORDS = {
    "1": "a bare number", "token": "tokens", "sequence": "sequences", "B": "bytes", "s": "a time",
    "B/s": "a bandwidth (bytes per time)", "FLOP/s": "a compute rate (FLOP per time)",
    "FLOP": "work (FLOP)", "J": "energy", "J/s": "power", "$": "money", "$/s": "a price (money per time)",
    "1/s": "a rate (per time)", "token/s": "tokens per time",
}  # fmt: skip

_EXAMPLES = {
    "B": "80 GiB", "B/s": "450 GB/s", "s": "48 h", "FLOP/s": "989 TFLOP/s", "J/s": "700 W", "$/s": "2.5 $/h",
    "$": "100 K$", "J": "5 MWh", "1": "64", "token": "4Mi tokens", "sequence": "1024", "1/s": "1M tokens/s",
}  # fmt: skip


def in_words(measured: Dimension) -> str:
    """A dimension in words."""
    return _IN_WORDS.get(str(measured), f"a value in {measured}")


def example(wanted: Dimension) -> str | None:
    """Help text that shows how a value of a dimension is written."""
    text = _EXAMPLES.get(str(wanted))
    return f"write it like `{text}`" if text else None


def fits(given: Dimension, wanted: Dimension) -> bool:
    """Whether a value may be used where a dimension is wanted: a bare number may for tokens or sequences."""
    return given == wanted or (given.bare and wanted.without_counts().bare)


def alike(left: Dimension, right: Dimension) -> bool:
    """Whether two values may be added or compared; a bare number may be combined with tokens or sequences."""
    if left == right:
        return True
    counted = left.powers[:2], right.powers[:2]
    return left.without_counts() == right.without_counts() and (0, 0) in counted


_DECIMAL = {"K": 10**3, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {f"{letter}i": 1024**n for n, letter in enumerate("KMGTPE", 1)}
_PREFIXES = _DECIMAL | _BINARY

_Unit = tuple[Fraction, Dimension]


def _units() -> dict[str, _Unit]:
    byte, flop, joule, dollar, second = (_axis(name) for name in ("B", "FLOP", "J", "$", "s"))
    units = {prefix: (Fraction(scale), NUMBER) for prefix, scale in _PREFIXES.items()}
    for name, factor, measured, prefixes in (
        ("B", Fraction(1), byte, _PREFIXES),
        ("b", Fraction(1, 8), byte, _PREFIXES),
        ("FLOP", Fraction(1), flop, _DECIMAL),
        ("J", Fraction(1), joule, _DECIMAL),
        ("Wh", Fraction(3600), joule, _DECIMAL),
        ("W", Fraction(1), joule / second, _DECIMAL),
        ("$", Fraction(1), dollar, _DECIMAL),
        ("s", Fraction(1), second, {letter: Fraction(1, 1000**n) for n, letter in enumerate("mun", 1)}),
    ):  # fmt: skip
        units[name] = (factor, measured)
        units |= {
            f"{prefix}{name}": (factor * scale, measured) for prefix, scale in prefixes.items()
        }
    units |= {"\u00b5s": units["us"], "min": (Fraction(60), second), "h": (Fraction(3600), second)}
    units |= {"d": (Fraction(86400), second), "token": (Fraction(1), _axis("token"))}
    units |= {"tokens": units["token"], "sequence": (Fraction(1), _axis("sequence"))}
    return units | {"sequences": units["sequence"]}


#: Every unit and suffix by its spelling. `K` and `Ki` alone are plain multipliers.
UNITS: dict[str, _Unit] = _units()

#: Units long enough for "did you mean"; a single letter is similar to too much.
_LONG = tuple(unit for unit in UNITS if len(unit) > 1)

#: What people write instead.
_ALIASES = {
    "sec": "s", "secs": "s", "second": "s",
    "seconds": "s", "m": "min", "mins": "min", "minute": "min", "minutes": "min", "hr": "h", "hrs": "h",
    "hour": "h", "hours": "h", "day": "d", "days": "d", "USD": "$", "usd": "$", "dollars": "$",
    "gpuh": "h", "gpuhour": "h", "tok": "tokens", "seqs": "sequences", "samples": "sequences",
    "watt": "W", "thousand": "K",
    "percent": "%", "trillion": "T", "billion": "G", "million": "M", "bn": "G", "tn": "T", "mi": "Mi",
    "ki": "Ki",
}  # fmt: skip

#: The same behind a prefix: `Gbit`, `TFLOPS`, `MBps`, `kW` and what follows a `$`.
_STEMS = {
    "bytes": "B", "byte": "B", "bits": "b", "bit": "b", "flops": "FLOP/s", "FLOPS": "FLOP/s",
    "FLOPs": "FLOP/s", "Flops": "FLOP/s", "Flop": "FLOP", "flop": "FLOP", "Bps": "B/s", "bps": "b/s",
    "USD": "$", "watts": "W", "watt": "W",
}  # fmt: skip
_PREFIX_WORDS = {"kilo": "K", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}
#: Times that are no unit, in days.
_DAYS = {"w": 7, "wk": 7, "week": 7, "weeks": 7, "year": 365, "years": 365}

#: Watt-hours in two words, or in one that is written out.
_ENERGY = re.compile(
    r"(kilo|mega|giga|tera|[kMGT])?(?:W[ \t]+h(?:ours?|rs?)?|watts?[ \t]*h(?:ours?|rs?))",
    re.IGNORECASE,
)

#: What a price is of anyway.
_OF_ONE = ("gpu", "gpus", "card", "device")

#: What settings count, each without a unit.
_NOUNS = ("step", "iteration", "iter", "node", "gpu", "layer", "head", "expert", "core", "cpu")

_NUMBER = re.compile(r"([0-9_]+(?:\.[0-9_]+)?)(?:[eE]([+-]?[0-9]+))?(?![0-9_])")
_WORD = re.compile(r"[^\s]+")
#: Digits and powers of ten beyond these are refused before they cost time.
_MAX_DIGITS, _MAX_EXPONENT = 60, 100


@dataclass(frozen=True, slots=True)
class Measure:
    """A number in base units. `share` marks a percentage, which may mean a share of another value."""

    value: int | float
    dimension: Dimension = NUMBER
    share: bool = False

    @property
    def zero(self) -> bool:
        """A bare zero, which has every unit."""
        return self.value == 0 and self.dimension.bare


def measure(text: str, span: Span) -> Measure:
    """Reads `80 GiB`, `15T`, `4Mi tokens`, `92%`; raises `JobError` at a unit that it does not know."""
    number = _NUMBER.match(text)
    assert number, text
    value = _digits(number, span)
    rest = text[number.end() :]
    if not rest:
        return Measure(exact(value))
    if (known := UNITS.get(rest.strip(" \t"))) is not None:
        factor, unit = known
        return Measure(exact(value * factor), unit)
    if rest.strip() == "%":
        return Measure(exact(value / 100), share=True)
    if re.search(r"[A-Za-z]\d", rest) and (time := duration(text)):
        message, whole = f"`{text}` is a time of several parts", replaced(span, time)
        raise wrong(codes.UNKNOWN_UNIT, message, span, f"write `{time}`", fix=whole)
    if each := re.search(
        r"(?<![ \t])[ \t]+(?:per[ \t]+|/[ \t]*)(?:gpu|card|device)s?$", rest, re.IGNORECASE
    ):
        whole = replaced(span, text[: number.end() + each.start()])
        message, help = f"unknown unit `{each[0].strip()}`", "it is of one GPU as it stands"
        raise wrong(codes.UNKNOWN_UNIT, message, span, help, fix=whole)
    if (per := re.sub(r"(?<![ \t])[ \t]+per[ \t]+", "/", rest)) != rest:
        rate = f"{number[0]}{per}"
        whole = replaced(span, rate)
        help = f"a rate is written with `/`: `{rate}`"
        raise wrong(codes.UNKNOWN_UNIT, "unknown unit `per`", span, help, fix=whole)
    if times := re.fullmatch(r"[ \t]*x[ \t]*(\d.*)", rest):
        product = f"{number[0]} * {times[1]}"
        whole = replaced(span, product)
        raise wrong(codes.UNKNOWN_UNIT, "unknown unit `x`", span, f"write `{product}`", fix=whole)
    if (energy := _ENERGY.fullmatch(rest.strip())) is not None:
        prefix = (energy[1] or "")[:1].upper().replace("K", "k")
        whole = replaced(span, f"{number[0]} {prefix}Wh")
        message, help = f"unknown unit `{energy[0]}`", f"write `{number[0]} {prefix}Wh`"
        raise wrong(codes.UNKNOWN_UNIT, message, span, help, fix=whole)
    measured = NUMBER
    for count, word in enumerate(_WORD.finditer(rest)):
        place = Span(span.source, *(span.start + number.end() + at for at in word.span()))
        if (days := _DAYS.get(word[0])) is not None and not count:
            message, time = f"unknown unit `{word[0]}`", f"{exact(value * days)} d"
            raise wrong(
                codes.UNKNOWN_UNIT, message, place, f"write `{time}`", fix=replaced(span, time)
            )
        factor, unit = _unit(word[0], place)
        if not measured.bare or (count and unit.bare):
            message = f"`{word[0]}` follows a unit or suffix"
            help = "a rate is written with `/`: `GB/s`"
            fix: Fix | None = None
            first = place.start - len(rest[: word.start()].lstrip())
            if (prefix := rest.split()[0].removesuffix("B")) in _PREFIXES and word[0] in UNITS:
                help = f"a count has no bytes: write `{prefix} {word[0]}`"
                fix = replaced(Span(span.source, first, first + len(prefix) + 1), prefix)
            if rest.split()[0] == "B":
                help = f"B is bytes; 10^9 is G: write `G {word[0]}`"
                fix = replaced(Span(span.source, first, first + 1), "G")
            raise wrong(codes.UNKNOWN_UNIT, message, place, help, fix=fix)
        value, measured = value * factor, unit
    return Measure(exact(value), measured)


def _digits(number: re.Match[str], span: Span) -> Fraction:
    digits, exponent = number[1].replace("_", ""), number[2] or "0"
    if len(digits) > _MAX_DIGITS or len(exponent) > 6 or abs(int(exponent)) > _MAX_EXPONENT:
        message = f"a number of {len(digits)} digits and exponent {exponent[:12]} is out of range"
        raise wrong(codes.ARITHMETIC, message, span)
    if exponent == "0" and digits.isdecimal():
        return Fraction(int(digits))
    return Fraction(digits) * Fraction(10) ** int(exponent)


def exact(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _unit(text: str, span: Span) -> _Unit:
    above, *below = text.split("/")
    if text.startswith("/") or text.endswith("/"):
        raise _unknown(text, text, span)
    factor, measured = _known(above, text, span)
    for name in below:
        scale, divisor = _known(name, text, span)
        factor, measured = factor / scale, measured / divisor
    return factor, measured


def _known(name: str, text: str, span: Span) -> _Unit:
    if name not in UNITS:
        raise _unknown(name, text, span)
    return UNITS[name]


def _usual(name: str) -> str | None:
    """The unit that people write as `Gbit`, `tflops` or `$k`."""
    if name.startswith("$") and name[1:] in _DECIMAL:
        return f"{name[1:]}$"
    if name in _ALIASES:
        return _ALIASES[name]
    spelt = next((word for word in _PREFIX_WORDS if name.lower().startswith(word)), None)
    if spelt is not None:
        name = f"{_PREFIX_WORDS[spelt]}{name[len(spelt) :]}"
    for prefix in ("", *sorted(_PREFIXES, key=len, reverse=True)):
        stem = _STEMS.get(name[len(prefix) :])
        if stem and name[: len(prefix)].lower() == prefix.lower():
            return f"{prefix}{stem}"
    return None


def _unknown(name: str, text: str, span: Span) -> Exception:
    start = span.start + text.find(name)
    place = Span(span.source, start, start + len(name))
    alias = _usual(name)
    if alias and alias.endswith("/s") and text.startswith((f"{name}/s", f"{name}/S")):
        alias = alias.removesuffix("/s")
    same = [unit for unit in UNITS if unit.lower() == name.lower()]
    near = alias or (same[0] if same else nearest(name, _LONG))
    if near is None and name in JOINS:
        joined = f"conditions are joined by `and`, `or` and `not`: `{JOINS[name]}`"
        return wrong(codes.UNKNOWN_UNIT, f"unknown word `{name}`", span, joined)
    help = None if near is None else f"write `{near}`" if alias else f"did you mean `{near}`?"
    if name.lower() in _OF_ONE and f"/{name}" in text:
        help, place = "prices are of one GPU: `$/h`", Span(place.source, place.start - 1, place.end)
        return wrong(
            codes.UNKNOWN_UNIT, f"unknown unit `{name}`", span, help, fix=replaced(place, "")
        )
    if name.lower().rstrip("s") in _NOUNS and name == text:
        before = span.source.text[: span.start].rstrip(" \t")
        help, gone = "a count has no unit", replaced(Span(span.source, len(before), span.end), "")
        return wrong(codes.UNKNOWN_UNIT, f"unknown unit `{name}`", span, help, fix=gone)
    if not help and name != text:
        help = "to divide by a name, put spaces around `/`"
    fix = replaced(place, near, safe=bool(alias) or len(same) == 1) if near else None
    return wrong(codes.UNKNOWN_UNIT, f"unknown unit `{name}`", span, help, fix=fix)


#: More digits than any time has are not read as one.
_COUNT = r"\d{1,9}"
_PARTS = re.compile(
    rf"(?:({_COUNT}) ?d(?:ays?)?)? ?(?:({_COUNT}) ?h(?:ours?|rs?)?)? ?"
    rf"(?:({_COUNT}) ?m(?:in(?:utes?|s)?)?)? ?(?:({_COUNT}) ?s)?"
)
_CLOCK = re.compile(rf"(?:({_COUNT})-)?({_COUNT}):(\d\d)(?::(\d\d))?")


def duration(text: str) -> str | None:
    """A time as sbatch takes it, `D-HH:MM[:SS]`, `HH:MM:SS` or `MM:SS`, or as `1h 30m`, in a unit; None for
    other text."""
    clock = _CLOCK.fullmatch(text)
    found = clock or _PARTS.fullmatch(text)
    if found is None or (clock is None and sum(map(bool, found.groups())) < 2):
        return None
    days, *parts = (int(part or 0) for part in found.groups())
    if clock is not None and clock[4] is None and clock[1] is None:
        parts = [0, parts[0], parts[1]]
    seconds = ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]
    unit, length = next((u, n) for u, n in (("h", 3600), ("min", 60), ("s", 1)) if seconds % n == 0)
    return f"{seconds // length} {unit}"

"""A value of a job -> the text that stands for exactly this value in a `.par` file."""

from fractions import Fraction

from ..dsl.schema import SettingType
from ..dsl.syntax.quoting import quoted
from ..dsl.units import UNITS, exact

#: What a setting of a GPU or a cluster may be; numbers in base units.
SettingValue = bool | str | float | tuple[str, ...] | None
#: Units to try for each dimension; the first in which the value has few digits is used.
UNITS_TO_TRY: dict[str, tuple[str, ...]] = {
    "B": ("GiB", "MiB", "GB", "KiB", "B"),
    "B/s": ("TB/s", "GB/s", "Gb/s", "MB/s"),
    "FLOP/s": ("TFLOP/s", "GFLOP/s"),
    "s": ("s", "ms", "us", "ns"),
    "J/s": ("W",),
    "$/s": ("$/h", "$/d"),
}
#: Characters of a number with few digits.
SHORT = 7
#: No number in a job's units is smaller, or larger than one over it.
LEAST = 1e-30


def setting_text(field: SettingType, value: SettingValue) -> str:
    """Text that the language reads back to the same value; `none` for a setting that is left out."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(quoted, value))}]"
    if isinstance(value, str):
        return quoted(value) if field.kind == "text" else value
    return quantity_text(str(field.dimension), value)


def quantity_text(dimension: str, value: float) -> str:
    """A number in base units, in the unit in which it is shortest and exact; else in base units."""
    if dimension not in UNITS_TO_TRY:
        return _digits(value)
    texts = [
        (f"{_digits(number)}", unit)
        for unit in UNITS_TO_TRY[dimension]
        if (number := _in(unit, value))
    ]
    texts.sort(key=lambda pair: float(pair[0]) < 1)
    good = [pair for pair in texts if len(pair[0]) <= SHORT and _reads(*pair, value)]
    base = (_digits(value), dimension.replace("J/s", "W"))
    digits, unit = min(good or [base], key=lambda pair: len(pair[0]))
    return f"{digits} {unit}"


def read_back(digits: str, unit: str | None) -> float:
    """The value in base units of what `setting_text` gives of a number. Raises ValueError for digits that are
    none, or of no size that a setting has, and KeyError for an unknown unit."""
    if digits.strip("0.") and not LEAST < float(digits) < 1 / LEAST:
        raise ValueError(digits)
    return float(exact(Fraction(digits) * (_factor(unit) if unit else 1)))


def _factor(unit: str) -> Fraction:
    above, *below = unit.split("/")
    factor = UNITS[above][0]
    for name in below:
        factor /= UNITS[name][0]
    return factor


def _in(unit: str, value: float) -> float:
    """The value in a unit, rounded to nine significant digits."""
    return float(f"{float(Fraction(value) / _factor(unit)):.9g}")


def _reads(digits: str, unit: str, value: float) -> bool:
    return float(exact(Fraction(digits) * _factor(unit))) == float(value)


def _digits(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))

"""numpy, loaded by the first array and not by the first import; choices in numbers and in arrays.

Half of the time of a short command would be numpy's, and what only reads and checks a job makes no array.
Modules that such commands load write `from ..arrays import np` in place of `import numpy as np`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["at_least", "choose", "np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """numpy's attributes, each looked up once."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()


def choose(condition: Any, one: Any, other: Any) -> Any:
    """`one` where a condition holds, else `other`: of arrays an array, of a plain bool what it chooses."""
    if isinstance(condition, bool):
        return one if condition else other
    return np.where(condition, one, other)


def at_least(value: Any, least: int) -> Any:
    """`value`, and `least` where it is smaller: of an array an array, of a plain number a number."""
    return max(value, least) if isinstance(value, int) else np.maximum(value, least)

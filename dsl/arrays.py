"""numpy, loaded by the first array and not by the first import.

Half of the time of a short command would be numpy's, and what only reads and checks a job makes no array.
Modules that such commands load write `from ..arrays import np` in place of `import numpy as np`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

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

"""Options of SLURM, in `#SBATCH` lines above all, that it does not read as they are meant."""

from . import (
    container_directive,
    container_environment,
    late_directive,
    misspelt_directive,
    prose_in_directive,
    repeated_directive,
    unknown_directive,
    variable_in_directive,
)

MODULES = (
    late_directive,
    misspelt_directive,
    variable_in_directive,
    prose_in_directive,
    container_directive,
    unknown_directive,
    repeated_directive,
    container_environment,
)

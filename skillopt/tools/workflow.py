"""Where the workflow's own files lie: in the checkout, or inside the installed package."""

from pathlib import Path

import skillopt
from skillopt.errors import ConfigError


def workflow_root() -> Path:
    """Return the folder that holds the Snakefile, its rules, profiles, configuration and sample data."""
    package = Path(skillopt.__file__).parent
    for folder in (package / "_workflow", package.parent):
        if (folder / "Snakefile").is_file() and (folder / "rules").is_dir():
            return folder
    raise ConfigError(
        f"expected the workflow beside or inside {package}, found none: install the package again"
    )

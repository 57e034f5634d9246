"""Where pages, pictures, scenarios and data lie."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
FIGURES: Final = DOCS / "figures"
SCENARIOS: Final = ROOT / "scenarios"
NOTEBOOKS: Final = ROOT / "notebooks"
#: Published logs, which are not part of the project; they may be missing.
SHARED: Final = ROOT.parent / "shared" / "data"

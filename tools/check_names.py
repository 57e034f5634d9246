"""No two public classes of the package share a name."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "cprsim"


def shared_names(package: Path) -> list[str]:
    """A line for each name of several public classes: the name and where these are."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        where = path.relative_to(package.parent).as_posix()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{where}:{node.lineno}")
    return [
        f"{name}: {' and '.join(found)} share it; rename all but one"
        for name, found in sorted(places.items())
        if len(found) > 1
    ]


if __name__ == "__main__":
    sys.exit("\n".join(shared_names(PACKAGE)) or None)

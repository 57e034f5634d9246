"""The words by which readers know what columns, states and reasons mean: words.toml, by table."""

import tomllib
from importlib.resources import files
from typing import Any, Final

_TEXT: Final = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
WORDS: Final[dict[str, dict[str, Any]]] = tomllib.loads(_TEXT)

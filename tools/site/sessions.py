"""Commands and what they print: only lines that begin with `$` are a shell's.

Pygments takes `#`, with which comments of TOML begin, for a prompt as well.
"""

import re

from pygments.lexers.shell import BashSessionLexer


class Sessions(BashSessionLexer):
    """For blocks of ```` ```console ````."""

    _ps1rgx = re.compile(r"^(\$\s*)(.*\n?)")

"""The command `cprsim app`: the what-if page, until Ctrl-C."""

import os
import sys
from contextlib import suppress
from typing import Any

import typer

from cprsim.cli import options as opt
from cprsim.cli import paths

_DEFAULT = "quickstart.toml"
#: For what computes when the page ends, s.
_PATIENCE_S = 2.0


@opt.options(
    scenario=opt.argument(
        f"A scenario file; by default {_DEFAULT}.", "[SCENARIO]", paths.scenario_file, optional=True
    ),
    port=opt.option("Port on this machine; 0: a free one.", kind=int, default=0),
    browser=opt.flag("Open the page in the browser.", "--browser/--no-browser", default=True),
)
def app(asked: Any) -> None:
    """Open a page on this machine that moves a scenario and shows what follows; Ctrl-C ends it."""
    from cprsim.app.answers import Answering
    from cprsim.app.page_model import PageModel
    from cprsim.app.server import AppServer, opened
    from cprsim.basics.shipped import shipped

    path = shipped(_DEFAULT) if asked.scenario is None else asked.scenario
    answers = Answering(PageModel.read(path))
    with AppServer(answers, asked.port) as server, suppress(KeyboardInterrupt):
        typer.echo(server.address)
        typer.echo(f"cprsim: the page is about {answers.subject.path}; Ctrl-C ends it", err=True)
        sys.stdout.flush()
        server.warm_up(answers.warm_up)
        with opened(server.address, wanted=asked.browser):
            server.serve_forever()
    if not server.tabs.close(_PATIENCE_S):
        os._exit(0)  # Python can't end while compiled code runs: it would abort

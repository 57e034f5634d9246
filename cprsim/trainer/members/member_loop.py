"""The loop of every member: receive what the controller asks for, and do it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from cprsim.errors import CprsimError
from cprsim.runs.workers import end_with_parent
from cprsim.trainer.members.wire import Link, Message, Op, PeerLostError


def run_member(make: Callable[[], Callable[[Link, Message], None]], control: socket.socket) -> None:
    """Be a member of the cluster until the controller has gone.

    `make` makes the member, and returns what it does about a message. An error of its own ends the
    job: to start the member again would bring the same.
    """
    end_with_parent()
    torch.set_num_threads(1)  # more would spin for cores that other members use
    link = Link(control, deadline_s=None)
    try:
        with errors_reported(link):
            act = make()
            link.send(Op.READY)
            while True:
                act(link, link.receive())
    except PeerLostError:
        return


@contextmanager
def errors_reported(link: Link) -> Iterator[None]:
    """Tell the controller of errors in this block that are the member's own; then it ends."""
    try:
        yield
    except PeerLostError:
        raise
    except Exception as error:
        link.tell(Op.FAILED, 0, {"error": _said(error)})
        if not isinstance(error, OSError | CprsimError):  # a defect: where it is helps
            raise


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:  # a full disk, and which
        return f"{error.filename}: {error.strerror}"
    return str(error) if isinstance(error, CprsimError) else repr(error)

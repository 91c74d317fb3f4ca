"""What tests share."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def hears_control_c() -> Iterator[None]:
    """Ctrl-C as in a terminal: shells start what runs in the background deaf to it, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

"""A real Chromium for tests of the HTML form, as a person would use it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


MINUTES = 600_000
"""Milliseconds that anything may take on a loaded machine: what is waited for comes by itself, or never."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's own Chromium, with a profile of its own and no window; a test that needs it is skipped without."""
    found = next(filter(None, map(shutil.which, (os.environ.get("CHROMIUM", ""), *_NAMES))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: install it, or name it in the variable CHROMIUM")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=MINUTES)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, headless=True, args=_FLAGS, timeout=MINUTES)
        browser.on("context", lambda one: one.set_default_timeout(MINUTES))
        try:
            yield browser
        finally:
            browser.close()

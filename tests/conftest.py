"""Shared by all tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Run the calibration studies at their full size.")


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the calibration studies run at full size."""
    return bool(request.config.getoption("--full"))

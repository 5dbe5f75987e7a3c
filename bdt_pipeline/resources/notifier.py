"""Telling somebody: mail, chat, webhook and many more, through apprise."""

from __future__ import annotations

from bdt_core.errors import SpecError
from bdt_core.table.environment import expanded


def require_apprise() -> None:
    """Say how to install apprise where it is missing.

    Raises
    ------
    SpecError
        It is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("apprise") is None:
        raise SpecError('"notify" needs the package apprise. Install it with: pip install "bdt-pipeline[notify]"')


def tell(address: str, title: str, text: str) -> bool:
    """Send one message; False when it could not be sent.

    Parameters
    ----------
    address : str
        An apprise URL, in which ``${NAME}`` stands for an environment variable.
    title, text : str
    """
    import apprise

    try:
        one = apprise.Apprise()
        return bool(one.add(expanded(address, "notify"))) and bool(
            one.notify(title=title, body=text, body_format=apprise.NotifyFormat.TEXT)
        )
    except Exception:  # whatever a service's plugin may raise: its message could quote the address
        return False


def without_secrets(address: str) -> str:
    """The address as far as it may stand in a log: its kind, and names of variables.

    Examples
    --------
    >>> without_secrets("slack://token/channel"), without_secrets("${SLACK}")
    ('slack://...', '${SLACK}')
    """
    return address if address.startswith("${") else address.split("://", 1)[0] + "://..."

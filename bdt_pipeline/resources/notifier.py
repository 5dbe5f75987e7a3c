"""Telling somebody: mail, chat, webhook and many more, through apprise."""

from __future__ import annotations

from typing import Any, Literal

from bdt_core.table.environment import expanded

Tone = Literal["failure", "warning", "success"]
Incidents = Literal["none", "one", "each"]


def cannot_tell() -> str | None:
    """Why nobody can be told, and what to install; None where apprise is there."""
    import importlib.util

    if importlib.util.find_spec("apprise") is not None:
        return None
    return (
        '"notify" needs the package apprise, and nobody is told of problems without it. Install it where Dagster runs, '
        'with: pip install "bdt-pipeline[notify]"'
    )


def incidents_of(address: str) -> Incidents:
    """Whether a service keeps incidents, which are opened and resolved (PagerDuty).

    Returns
    -------
    {"none", "one", "each"}
        one: the address names an incident for everything (``dedup=...``); each: every problem has one of its own.
    """
    try:
        services = [one for one in _services(address) if hasattr(one, "dedup")]
    except Exception:  # as in `tell`
        return "none"
    return "none" if not services else "one" if services[0].dedup else "each"


def tell(address: str, title: str, text: str, *, tone: Tone = "warning", incident: str | None = None) -> bool:
    """Send one message; False when it could not be sent.

    Parameters
    ----------
    address : str
        An apprise URL, in which ``${NAME}`` stands for an environment variable.
    title, text : str
    tone : {"failure", "warning", "success"}
        success resolves the incident, where the service keeps incidents; the others open it, or add to it.
    incident : str, optional
        Its key, unless the address names one.
    """
    import apprise

    try:
        services = _services(address)
        for service in services:
            if hasattr(service, "dedup"):
                service.dedup, service.action = service.dedup or incident, "map"
        return bool(len(services)) and bool(
            services.notify(
                title=title,
                body=text,
                body_format=apprise.NotifyFormat.TEXT,
                notify_type=apprise.NotifyType(tone),
            )
        )
    except Exception:  # whatever a service's plugin may raise: its message could quote the address
        return False


def _services(address: str) -> Any:
    import apprise

    services = apprise.Apprise()
    services.add(expanded(address, "notify"))
    return services


def without_secrets(address: str) -> str:
    """The address as far as it may stand in a log: its kind, and names of variables.

    Examples
    --------
    >>> without_secrets("slack://token/channel"), without_secrets("${SLACK}")
    ('slack://...', '${SLACK}')
    """
    return address if address.startswith("${") else address.split("://", 1)[0] + "://..."

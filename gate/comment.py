"""Writes what the gate says as a comment of the pull request: once, and then updated.

Needs nothing installed. What goes wrong here is a warning: the gate is judged by its exit code, not by a comment.
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PER_PAGE = 100
SECONDS = 30


class NotWrittenError(Exception):
    """There is no comment; says why."""


def main() -> None:
    """Write the comment, or say in one line why there is none."""
    try:
        print(written(os.environ))
    except NotWrittenError as error:
        print(f"::warning title=Bias gate::No comment was written: {error}")


def written(given: Any) -> str:
    """Write or update the comment that belongs to the audit, and say where it is.

    Parameters
    ----------
    given : mapping
        The runner's environment: GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH, and by the action TOKEN, SPEC,
        BODY (the file with the comment, empty when the audit did not come to its end) and SENTENCE (why it did not).

    Raises
    ------
    NotWrittenError
        This is no pull request, the token may not write, or the server did not answer.
    """
    number = pull_request(given["GITHUB_EVENT_PATH"])
    body = body_of(given)
    marker = body.splitlines()[0]
    issues = f"{given['GITHUB_API_URL']}/repos/{given['GITHUB_REPOSITORY']}/issues"
    token = given["TOKEN"]
    mine = own_comment(f"{issues}/{number}/comments", marker, token)
    if mine is None:
        sent = asked("POST", f"{issues}/{number}/comments", token, {"body": body})
    else:
        sent = asked("PATCH", f"{issues}/comments/{mine}", token, {"body": body})
    return f"Comment: {sent['html_url']}"


def pull_request(event: str) -> int:
    """The number of the pull request that the workflow runs for."""
    told = json.loads(Path(event).read_text(encoding="utf-8"))
    if "pull_request" not in told:
        raise NotWrittenError("this run belongs to no pull request.")
    return int(told["pull_request"]["number"])


def body_of(given: Any) -> str:
    """The gate's own words; or, in place of an earlier verdict that no longer holds, why there are none."""
    if given["BODY"]:
        return Path(given["BODY"]).read_text(encoding="utf-8")
    name = re.search(r"""(?m)^\s*name:\s*["']?([A-Za-z0-9_]+)["']?\s*(?:#.*)?$""", text_of(Path(given["SPEC"])))
    if name is None:
        raise NotWrittenError(f"the audit did not run, and {given['SPEC']} does not say its name.")
    return f"<!-- bdt-gate:{name[1]} -->\n\n## Not audited: bias gate {name[1]}\n\n{given['SENTENCE']}\n"


def text_of(path: Path) -> str:
    """What a file holds; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def own_comment(address: str, marker: str, token: str) -> int | None:
    """The comment that an earlier run wrote: by a bot, and with the audit's marker as its first line."""
    page = 1
    while True:
        there = asked("GET", f"{address}?per_page={PER_PAGE}&page={page}", token)
        for one in there:
            if one["user"]["type"] == "Bot" and (one["body"] or "").splitlines()[:1] == [marker]:
                return int(one["id"])
        if len(there) < PER_PAGE:
            return None
        page += 1


def asked(method: str, address: str, token: str, sent: dict[str, str] | None = None) -> Any:
    """One request to the server, and its answer."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    request = urllib.request.Request(
        address, None if sent is None else json.dumps(sent).encode(), headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        hint = " Give the job pull-requests: write; a fork's token may not." if error.code in (401, 403, 404) else ""
        raise NotWrittenError(f"the server answered {error.code} to {method}.{hint}") from None
    except (OSError, ValueError) as error:
        raise NotWrittenError(f"the server did not answer ({type(error).__name__}).") from None


if __name__ == "__main__":
    main()

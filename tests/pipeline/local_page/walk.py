"""Through ``bdt open`` as a program; imports no more than that, as it is for a process of its own."""

from __future__ import annotations

import http.client
import json
import signal
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.pipeline.local_page.served import opened, until


def walk(table: Path) -> None:
    """The whole way without a browser and without a script: look, answer, wait, take the report."""
    with opened(table.parent, str(table)) as program:
        host, path = urlsplit(program.address).netloc, urlsplit(program.address).path
        connection = http.client.HTTPConnection(host)

        def ask(name: str, form: dict[str, str] | None = None) -> tuple[int, bytes]:
            headers = {"Origin": f"http://{host}", "Content-Type": "application/x-www-form-urlencoded"}
            body = None if form is None else urlencode(form)
            connection.request("GET" if form is None else "POST", path + name, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

        def place() -> str:
            found: str = json.loads(ask("progress")[1])["place"]
            return found

        until(lambda: place() == "questions")
        page = ask("")[1].decode()
        outcome = page.partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
        assert ask("answers", {"outcome": outcome, "better": "lower", "do": "start"})[0] == 303
        stages = set()
        while (told := json.loads(ask("progress")[1]))["place"] == "auditing":
            stages.add(told["stages"][told["at"]])
            time.sleep(0.02)
        assert told["place"] == "report", ask("")[1].decode()
        assert len(stages) > 3
        files = {form: ask(f"report.{form}")[1] for form in ("html", "pdf", "md", "json")}
        assert files["pdf"].startswith(b"%PDF")
        assert json.loads(files["json"])["verdict"]["verdict"] == "fail"
        assert b"refused" in files["html"]
        assert b"refused" in files["md"]
        connection.close()
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(20) == 0
        assert list(program.temporary.iterdir()) == []

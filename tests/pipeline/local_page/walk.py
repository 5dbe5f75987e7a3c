"""Through ``bdt open`` as a program; imports no more than that, as it is for a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from tests.pipeline.local_page.served import PATIENCE, opened, until

# In the process that audits: it goes on with a stage when that was seen.
SEEN = """
import os, sys, time

if "local_page.child" in str(sys.orig_argv):
    import pickle

    dump = pickle.dump

    def tell_and_wait(told, out, *arguments, **more):
        dump(told, out, *arguments, **more)
        if hasattr(told, "title"):
            out.flush()
            while not os.path.exists(os.path.join(os.environ["SEEN"], told.title)):
                time.sleep(0.01)

    pickle.dump = tell_and_wait
"""


def walk(table: Path) -> None:
    """The whole way without a browser and without a script: look, answer, wait, take the report."""
    seen = Path(os.environ["SEEN"])
    seen.mkdir()
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

        until(lambda: place() != "reading")
        assert place() == "questions"
        page = ask("")[1].decode()
        outcome = page.partition('name="outcome" value="')[2].partition('"')[0].replace("&#34;", '"')
        assert ask("answers", {"outcome": outcome, "better": "lower", "do": "start"})[0] == 303
        stages: list[str] = []

        def is_over() -> bool:
            told = json.loads(ask("progress")[1])
            if told["place"] != "auditing":
                return True
            stages[:] = told["stages"]
            (seen / told["stages"][told["at"]]).touch()
            return False

        until(is_over)
        assert place() == "report", ask("")[1].decode()
        assert {one.name for one in seen.iterdir()} == set(stages)
        assert len(stages) > 3
        files = {form: ask(f"report.{form}")[1] for form in ("html", "pdf", "md", "json")}
        assert files["pdf"].startswith(b"%PDF")
        assert json.loads(files["json"])["verdict"]["verdict"] == "fail"
        assert b"refused" in files["html"]
        assert b"refused" in files["md"]
        members = ask("members.csv")[1].decode().splitlines()
        assert members[0].startswith("# Names people")
        assert members[1].startswith("row,audited,cluster,finding 1: ")
        assert [line.split(",")[0] for line in members[2:]] == [str(number) for number in range(1, 401)]
        assert "1" in {line.rpartition(",")[2] for line in members[2:]}
        connection.close()
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(PATIENCE) == 0
        assert list(program.temporary.iterdir()) == []

"""A strict reader of the OpenMetrics text format, for files of gauges that Prometheus' older format must read, too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
SAMPLE = re.compile(rf"({NAME})\{{((?:{LABEL}(?:,(?!\}})|(?=\}})))*)\}} (\S+)")
TOLD = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
RESERVED = ("_total", "_created", "_bucket", "_count", "_sum", "_info", "_gcount", "_gsum")


@dataclass
class Family:
    """A metric, with its numbers by labels."""

    help: str
    unit: str = ""
    samples: dict[frozenset[tuple[str, str]], float] = field(default_factory=dict)

    def of(self, **labels: str) -> float:
        """The number of these labels."""
        return self.samples[frozenset(labels.items())]


def read_openmetrics(text: str) -> dict[str, Family]:
    """All metrics of a file; an assertion fails where it is none."""
    assert text.endswith("# EOF\n")
    lines = text[: -len("# EOF\n")].split("\n")
    assert lines.pop() == ""
    families: dict[str, Family] = {}
    current, expected = "", "HELP"
    for line in lines:
        if line.startswith("#"):
            _, kind, name, rest = line.split(" ", 3)
            assert re.fullmatch(NAME, name)
            assert not name.endswith(RESERVED), name
            if kind == "HELP":
                assert expected in ("HELP", "sample or HELP"), line
                assert name not in families, f"{name} twice"
                assert "\\" not in rest
                families[name] = Family(rest)
                current, expected = name, "TYPE"
            elif kind == "TYPE":
                assert (expected, name, rest) == ("TYPE", current, "gauge")
                expected = "sample or UNIT"
            else:
                assert (kind, expected, name) == ("UNIT", "sample or UNIT", current)
                assert name.endswith(f"_{rest}")
                families[name].unit, expected = rest, "sample"
            continue
        assert expected.startswith("sample"), line
        match = SAMPLE.fullmatch(line)
        assert match, line
        assert match[1] == current
        pairs = [(name, re.sub(r"\\.", lambda one: TOLD[one[0]], told)) for name, told in re.findall(LABEL, match[2])]
        labels = frozenset(pairs)
        assert len(dict(pairs)) == len(pairs)
        assert labels not in families[current].samples, f"{line} twice"
        families[current].samples[labels] = float(match[5])
        expected = "sample or HELP"
    assert expected in ("HELP", "sample or HELP")
    return families

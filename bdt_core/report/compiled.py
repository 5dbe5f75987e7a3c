"""Templates are compiled in a language, and kept where Python keeps what it compiles, `__pycache__`, if it may."""

from __future__ import annotations

import hashlib
import marshal
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from typing import TYPE_CHECKING
from zlib import crc32

import jinja2
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.ext import Extension

from bdt_core.report.translation import TEMPLATE, texts, translated

if TYPE_CHECKING:
    from jinja2 import Environment

_FILES = SourceFileLoader("", "")  # writes whole files or none, and says nothing where it may not


class CompiledTemplates(BytecodeCache):
    """What a template was compiled to, for as long as its text and all that it is compiled with stay the same.

    Jinja's own cache would need a folder, and unpickles. Values are computed while a page is drawn only: with an
    environment of ``optimized=False`` nothing that a filter gives is compiled in.

    Parameters
    ----------
    language : str
        In which templates are compiled; each has files of its own.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file beside the template."""
        return cache_from_source(f"{filename or name}.{self.language}")

    def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:
        """The place of a template's code, which is there already if it was compiled from the same."""
        settings = {key: one for key, one in vars(environment).items() if isinstance(one, str | bool)}
        functions = [
            (name, str(getattr(one, "jinja_pass_arg", None)))  # compiled calls differ by what a function takes
            for kind in (environment.filters, environment.tests, {"": environment.finalize})
            for name, one in sorted(kind.items())
        ]
        compiled_from = repr((jinja2.__version__, sys.version, settings, functions, source))
        bucket = Bucket(environment, self.get_cache_key(name, filename), compiled_from)
        self.load_bytecode(bucket)
        return bucket

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the code if it was compiled from the same."""
        head = _head(bucket)
        try:
            content = _FILES.get_data(bucket.key)
            if content.startswith(head):
                bucket.code = marshal.loads(content[len(head) :])
        except (OSError, EOFError, ValueError, TypeError):
            bucket.reset()  # it is compiled again

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code, where Python may keep its own."""
        if not sys.dont_write_bytecode:
            _FILES.set_data(bucket.key, _head(bucket) + marshal.dumps(bucket.code))


class TranslatedTemplates(Extension):
    """Compiles English templates in the language of the environment, whose `texts` say it."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002 - Jinja's
        """A template's source in the environment's language."""
        return translated(source, self.environment.texts)  # type: ignore[attr-defined]

    @staticmethod
    def settings(language: str) -> dict[str, object]:
        """What an environment is extended by; what is compiled is kept under the second."""
        own = texts(language, TEMPLATE)
        return {"texts": own, "texts_compiled": f"{language} {crc32(repr(sorted(own.items())).encode()):x}"}


def _head(bucket: Bucket) -> bytes:
    """What the file begins with: it differs where anything does that the code was compiled from."""
    return MAGIC_NUMBER + hashlib.sha256(bucket.checksum.encode()).digest()

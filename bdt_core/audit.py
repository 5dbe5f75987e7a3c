"""Import path `bdt_core.audit`: it leads to the function, whichever way it is asked for.

Python binds a submodule to its package under its own name, which is the function's here. So the function takes the
module's place, and has what was imported from there: ``from bdt_core.audit import AuditResult`` goes on working.
"""

import sys
from typing import Any

from bdt_core.auditing import AuditResult, audit

__all__ = ["AuditResult", "audit"]

_modules: dict[str, Any] = sys.modules
vars(audit).update(AuditResult=AuditResult, audit=audit)
_modules[__name__] = audit

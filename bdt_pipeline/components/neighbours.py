"""All audits of a project, of which one that is broken takes no other along."""

from __future__ import annotations

import types
from pathlib import Path

import dagster as dg

from bdt_core.harmless import harmless


def load_audits(path_within_project: Path) -> dg.Definitions:
    """What `dagster.load_from_defs_folder` loads; a folder that cannot be loaded becomes an asset that says why.

    Parameters
    ----------
    path_within_project : Path
        A file or folder of the project whose ``defs`` are loaded.

    Returns
    -------
    Definitions
        Everything in ``defs``. For each of its folders that cannot be loaded, the asset ``FOLDER/not_loaded`` has
        the reason as its description, and fails with it. Dagster itself would load nothing at all then.
    """
    try:
        return dg.load_from_defs_folder(path_within_project=path_within_project)
    except Exception:  # whichever of the folders it is: each is tried alone
        tree = dg.ComponentTree.for_project(path_within_project)
        places = [one for one in sorted(tree.defs_module_path.iterdir()) if _holds_definitions(one)]
        return dg.Definitions.merge(*(_alone(tree, one) for one in places))


def _holds_definitions(place: Path) -> bool:
    return place.is_dir() and not place.name.startswith((".", "__"))


def _alone(tree: dg.ComponentTree, place: Path) -> dg.Definitions:
    """One folder, as if there were no other."""
    module = types.ModuleType(f"{tree.defs_module_name}.{place.name}")
    module.__file__ = str(place / "__init__.py")
    try:
        return dg.ComponentTree.from_module(module, tree.project_root).build_defs(place)
    except Exception as error:
        return dg.Definitions(assets=[_not_loaded(place.name, error)])


def _not_loaded(name: str, error: Exception) -> dg.AssetsDefinition:
    why = error
    while isinstance(why.__cause__, Exception):
        why = why.__cause__
    reason = harmless(f"{name} could not be loaded: {why}")

    @dg.asset(key=[name, "not_loaded"], description=reason, group_name="not_loaded")
    def asset() -> None:
        raise dg.Failure(description=reason, allow_retries=False)

    return asset

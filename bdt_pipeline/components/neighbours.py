"""All audits of a project, of which one that is broken takes no other along."""

from __future__ import annotations

import os
import tempfile
import types
from pathlib import Path

import dagster as dg
from dagster.components.core.load_defs import get_library_json_enriched_defs

from bdt_core.harmless import harmless

_WHOLE = ("defs.yaml", "defs.yml", "component.yaml", "definitions.py")
"""What makes one thing of a folder."""
_BROKEN = "bdt/not_loaded"
CHECKED = "DAGSTER_IS_DEFS_VALIDATION_CLI"
"""Dagster sets it where definitions are only looked at, as by `dg check defs`."""
_WRITTEN_IN = (".py", ".yaml", ".yml")


def load_audits(path_within_project: Path) -> dg.Definitions:
    """What `dagster.load_from_defs_folder` loads; a folder that cannot be loaded becomes an asset that says why.

    Parameters
    ----------
    path_within_project : Path
        A file or folder of the project whose ``defs`` are loaded.

    Returns
    -------
    Definitions
        Everything in ``defs``. For each of its folders and files that cannot be loaded, the asset
        ``FOLDER/not_loaded`` has the reason as its description, and fails with it. Dagster itself would load
        nothing at all then.

    Raises
    ------
    DagsterInvalidDefinitionError
        One cannot be loaded, and this is a check of the definitions, as `dg check defs` in CI: it is told of each.

    Examples
    --------
    >>> import bdt_pipeline  # a project, too: that of the demonstration
    >>> load_audits(Path(bdt_pipeline.__file__)).resolve_job_def("compas_audit").name
    'compas_audit'
    """
    try:
        return dg.load_from_defs_folder(path_within_project=path_within_project)
    except Exception:  # whichever of the folders it is: each is tried alone
        tree = dg.ComponentTree.for_project(path_within_project)
        audits = [_alone(tree, one) for one in _places(tree.defs_module_path)]
        broken = [one for defs in audits for one in defs.resolve_all_asset_specs() if one.tags.get(_BROKEN)]
        if broken and os.environ.get(CHECKED):
            raise dg.DagsterInvalidDefinitionError("\n".join(str(one.description) for one in broken)) from None
        return dg.Definitions.merge(get_library_json_enriched_defs(None), *audits)  # the pages of all components


def _places(folder: Path) -> list[Path]:
    """Folders and Python files that may hold definitions."""
    known = (one for one in sorted(folder.iterdir()) if not one.name.startswith((".", "__")))
    return [
        one
        for one in known
        if one.suffix == ".py" or (one.is_dir() and any(file.suffix in _WRITTEN_IN for file in one.rglob("*")))
    ]


def _alone(tree: dg.ComponentTree, place: Path) -> dg.Definitions:
    """One folder or file, as if there were no other; of a folder of folders, each."""
    try:
        return _file_alone(tree, place) if place.is_file() else _folder_alone(tree, place)
    except Exception as error:
        parts = [] if any((place / one).exists() for one in _WHOLE) or place.is_file() else _places(place)
        if any(one.is_dir() for one in parts):
            return dg.Definitions.merge(*(_alone(tree, one) for one in parts))
        return dg.Definitions(assets=[_not_loaded(_name(tree, place), error)])


def _folder_alone(tree: dg.ComponentTree, place: Path) -> dg.Definitions:
    module = types.ModuleType(".".join([tree.defs_module_name, *_name(tree, place)]))
    module.__file__ = str(place / "__init__.py")
    return dg.ComponentTree.from_module(module, tree.project_root).build_defs(place)


def _file_alone(tree: dg.ComponentTree, place: Path) -> dg.Definitions:
    """A file is imported by its name; of the folder in which Dagster looks for it, it is all there is."""
    module = types.ModuleType(".".join([tree.defs_module_name, *_name(tree, place)[:-1]]))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / place.name).touch()
        module.__file__ = str(Path(folder) / "__init__.py")
        return dg.ComponentTree.from_module(module, tree.project_root).build_defs(Path(folder))


def _name(tree: dg.ComponentTree, place: Path) -> list[str]:
    return list(place.relative_to(tree.defs_module_path).with_suffix("").parts)


def _not_loaded(name: list[str], error: Exception) -> dg.AssetsDefinition:
    why = error
    while isinstance(why.__cause__, Exception):
        why = why.__cause__
    reason = harmless(f"{'/'.join(name)} could not be loaded: {why}")

    @dg.asset(key=[*name, "not_loaded"], description=reason, group_name="not_loaded", tags={_BROKEN: "true"})
    def asset() -> None:
        raise dg.Failure(description=reason, allow_retries=False)

    return asset

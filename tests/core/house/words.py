"""Words that the house does not want; ``python -m tests.core.house.words`` prints where they stand."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("bdt_core", "bdt_pipeline")
VAGUE_NAMES = frozenset({"one", "several", "found", "told", "wanted"})
QUESTION_WORDS = frozenset({"What", "Where", "Whom", "Who", "How", "Which"})
MEMBERS_OF_REPORT = frozenset({"bdt_core/fairness/characteristics.py: found"})
"""A member of report.json keeps the name that reports have."""


def vague_names(tree: ast.Module) -> list[str]:
    """Vague names of variables and parameters, outside comprehensions and lambdas."""
    return [name for name in _bindings(tree) if name in VAGUE_NAMES]


def begins_with_a_question(tree: ast.Module) -> bool:
    head = (ast.get_docstring(tree) or "").split()
    return bool(head) and head[0].rstrip(",:'") in QUESTION_WORDS


def public_classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def doubled(classes: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of classes as (module, name) those whose name another class has, too."""
    names = Counter(name for _, name in classes)
    return [(module, name) for module, name in classes if names[name] > 1]


def beside_its_plural(paths: set[Path]) -> list[Path]:
    """``stage.py`` beside ``stages.py`` of the same folder, or of the package's root."""
    return [
        path
        for path in sorted(paths)
        if any(folder / f"{path.stem}s.py" in paths for folder in (path.parent, Path(path.parts[0])))
    ]


def unwanted() -> dict[str, list[str]]:
    """Rule -> where it is broken."""
    trees = {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    names = [f"{path}: {name}" for path, tree in trees.items() for name in vague_names(tree)]
    classes = [(str(path), name) for path, tree in trees.items() for name in public_classes(tree)]
    return {
        "names": [place for place in names if place not in MEMBERS_OF_REPORT],
        "heads": [str(path) for path, tree in trees.items() if begins_with_a_question(tree)],
        "classes": [f"{module}: {name}" for module, name in doubled(classes)],
        "plurals": [str(path) for path in beside_its_plural(set(trees))],
    }


def _bindings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.arg):
        yield node.arg
    for child in ast.iter_child_nodes(node):
        # The variables of a comprehension and of a lambda live for a line; the rest of both is looked at as usual.
        if isinstance(node, ast.Lambda) and child is node.args:
            continue
        if isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _bindings(part)
            continue
        yield from _bindings(child)


def main() -> None:
    for rule, places in unwanted().items():
        for place in places:
            print(f"{rule}: {place}")


if __name__ == "__main__":
    main()

"""Counts of the words that the house does not want, per room; ``python -m tests.core.house.words`` prints them."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("bdt_core", "bdt_pipeline")
VAGUE_NAMES = frozenset({"one", "several", "found", "told", "wanted"})
QUESTION_WORDS = frozenset({"What", "Where", "Whom", "Who", "How", "Which"})

Counts = dict[str, dict[str, int]]


def room_of(path: Path) -> str:
    """``bdt_core/spec`` of ``bdt_core/spec/about.py``; a file at the root of a package is in the package's own room."""
    parts = path.parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def vague_names(tree: ast.Module) -> int:
    """Variables and parameters bound to a vague name, outside comprehensions and lambdas."""
    return sum(_bindings(tree))


def begins_with_a_question(tree: ast.Module) -> bool:
    head = (ast.get_docstring(tree) or "").split()
    return bool(head) and head[0].rstrip(",:'") in QUESTION_WORDS


def public_classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def doubled(classes: list[tuple[str, str]]) -> Counter[str]:
    """Per room its classes, as (room, name), whose name another class has, too."""
    names = Counter(name for _, name in classes)
    return Counter(room for room, name in classes if names[name] > 1)


def beside_its_plural(paths: set[Path]) -> list[Path]:
    """``stage.py`` beside ``stages.py`` of the same folder, or of the package's root."""
    return [
        path
        for path in sorted(paths)
        if any(folder / f"{path.stem}s.py" in paths for folder in (path.parent, Path(path.parts[0])))
    ]


def counts() -> Counts:
    """Rule -> room -> count, rooms without any left out."""
    trees = {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    names: Counter[str] = Counter()
    heads: Counter[str] = Counter()
    classes: list[tuple[str, str]] = []
    for path, tree in trees.items():
        names[room_of(path)] += vague_names(tree)
        heads[room_of(path)] += begins_with_a_question(tree)
        classes += [(room_of(path), name) for name in public_classes(tree)]
    rules = {
        "names": names,
        "heads": heads,
        "classes": doubled(classes),
        "plurals": Counter(room_of(path) for path in beside_its_plural(set(trees))),
    }
    return {rule: {room: rooms[room] for room in sorted(rooms) if rooms[room]} for rule, rooms in rules.items()}


def _bindings(node: ast.AST) -> Iterator[int]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id in VAGUE_NAMES
    if isinstance(node, ast.arg):
        yield node.arg in VAGUE_NAMES
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
    print("ALLOWED: Counts = {")
    for rule, rooms in counts().items():
        print(f'    "{rule}": {{')
        for room, count in rooms.items():
            print(f'        "{room}": {count},')
        print("    },")
    print("}")


if __name__ == "__main__":
    main()

"""Tells husk what a provider consists of: python -I -S _files.py DIR prints JSON with the files of the module.

It reads files only: nothing of the project or of its packages is imported, and no .pth file runs.
"""

import importlib.metadata
import json
import os
import pathlib
import re
import sys

NATIVE = (".so", ".pyd", ".dylib", ".dll")
SDK = pathlib.Path(__file__).parent
# Directories that have no source of the provider. Those that begin with a dot, and virtual environments, are left out, too.
LEFT_OUT = {"__pycache__", "build", "dist", "node_modules", "test", "tests", "venv"}
# Packages that a dependency may name, and a module has no use for.
TOOLS = {"husk-provider", "pip", "setuptools", "wheel"}
REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?([^;]*)(?:;(.*))?", re.DOTALL)


class Refused(Exception):
    """Says what the author can do."""


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def project(directory):
    """Returns the pyproject.toml."""
    if sys.version_info < (3, 11):
        raise Refused(f"its virtual environment has Python {sys.version_info[0]}.{sys.version_info[1]}: make one with Python 3.11 or later")
    import tomllib

    with open(directory / "pyproject.toml", "rb") as file:
        try:
            return tomllib.load(file)
        except ValueError as e:
            raise Refused(f"pyproject.toml: {e}") from None


def table(of, *names):
    """Returns a table of the pyproject.toml, which is empty if there is none."""
    for at, name in enumerate(names):
        of = of.get(name, {})
        if not isinstance(of, dict):
            raise Refused(f"pyproject.toml: {'.'.join(names[:at + 1])} is a table")
    return of


def sources(directory):
    """Returns the files of the project by their names in the module."""
    root = directory / "src" if (directory / "src").is_dir() else directory
    found = {}
    for at, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT and not f.startswith(".") and not os.path.exists(os.path.join(at, f, "pyvenv.cfg")))
        folders[:] = [f for f in folders if not f.endswith(".egg-info")]
        package = "__init__.py" in files
        for name in files:
            path = pathlib.Path(at, name)
            if name.startswith(".") or path.exists() and not path.is_file():  # an editor's lock file, or a pipe
                continue
            if name.endswith(NATIVE):
                raise Refused(f"{path} is native code, which no module runs")
            if name.endswith(".py") or package:
                found[path.relative_to(root).as_posix()] = str(path)
    return found


def entry(about, files):
    """Returns the name of the module that has the provider."""
    named = table(about, "tool", "husk").get("main")
    if named is not None and not isinstance(named, str):
        raise Refused("pyproject.toml: tool.husk.main is the name of a module")
    own = table(about, "project").get("name")
    package = re.sub(r"[-.]+", "_", own) if isinstance(own, str) else ""
    for name in [named] if named else ["provider", "main", package]:
        if name and {name.replace(".", "/") + ".py", name.replace(".", "/") + "/__init__.py"} & files.keys():
            return name
    if named:
        raise Refused(f"pyproject.toml: tool.husk.main names {named}, and there is no such module")
    raise Refused("there is no provider.py or main.py: name the module that has the provider in pyproject.toml, as [tool.husk] main = \"package.module\"")


def installed(name, why):
    for package in importlib.metadata.distributions(name=name, path=[str(SDK.parent)]):
        return package
    pip = os.path.join(os.path.dirname(sys.executable), "pip")
    raise Refused(f"{why} {name}, which is not in {SDK.parent}: run \"{pip} install .\" in the directory of pyproject.toml")


def packages(requirements):
    """Returns the files of the packages that are required, and of those that they require."""
    found, left, seen = {}, [(r, "pyproject.toml requires", frozenset()) for r in requirements], set()
    while left:
        text, why, extras = left.pop()
        match = REQUIREMENT.match(text)
        if not match:
            raise Refused(f"{why} {text!r}, which is no requirement")
        name, wanted, marker = canonical(match[1]), frozenset(canonical(e.strip()) for e in (match[2] or "").split(",") if e.strip()), match[4]
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", marker or "")
        if name in TOOLS or (name, wanted) in seen or extra and canonical(extra[1]) not in extras:
            continue
        try:
            package = installed(name, why)
        except Refused:
            if not marker or extra and " and " not in marker:
                raise
            continue  # it is not for this machine
        seen.add((name, wanted))
        if json.loads(package.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
            raise Refused(f"the package {name} is installed from its source as editable, so its files are not in the virtual environment: install it without -e")
        for file in package.files or []:
            if file.is_absolute() or ".." in file.parts or file.suffix == ".pyc":  # commands, and files that are not the package's own
                continue
            if file.name.endswith(NATIVE):
                raise Refused(f"the package {name} has native code ({file}), which no module runs: require one in Python only")
            path = file.locate()
            if file.parts[0].endswith(".dist-info") and file.name != "METADATA" or not os.path.isfile(path):
                continue
            found[file.as_posix()] = str(path)
        left += [(r, f"{name} requires", wanted) for r in package.requires or []]
    return found


def main(directory):
    directory = pathlib.Path(directory)
    about = project(directory)
    own = sources(directory)
    required = table(about, "project").get("dependencies", [])
    if not isinstance(required, list) or "dependencies" in table(about, "project").get("dynamic", []):
        raise Refused("pyproject.toml: project.dependencies is a list of requirements, and not dynamic")
    files = packages([str(r) for r in required])
    for path in sorted(SDK.glob("*.py")):
        files["husk_provider/" + path.name] = str(path)
    clash = sorted(own.keys() & files.keys())
    if clash:
        raise Refused(f"its file {clash[0]} has the name of one in a package: rename it")
    files.update(own)
    return {"main": entry(about, own), "files": sorted(files.items())}


if __name__ == "__main__":
    try:
        json.dump(main(sys.argv[1]), sys.stdout)
    except Refused as e:
        sys.exit(str(e))

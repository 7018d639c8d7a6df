"""Runs in the engine ahead of the provider: it imports the files that husk has written behind the engine's memory."""
import _frozen_importlib_external as external
import _husk
import logging  # reads the clock when it is imported, as selectors does, and random draws its seed: here the clock stands still
import os
import random
import selectors
import sys
import time
from importlib.machinery import ModuleSpec

ROOT = "/husk/"


class Loader(external.SourceLoader):
    """Loads a module from a file."""

    def __init__(self, path):
        self.path = path

    def get_filename(self, fullname=None):
        return self.path

    def get_data(self, path):
        data = _husk.file(path.removeprefix(ROOT)) if path.startswith(ROOT) else None
        if data is None:
            raise FileNotFoundError(2, "the module has no such file", path)
        return data

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.path), self.path)

    def get_resource_reader(self, fullname):
        return Resources(self.path.rpartition("/")[0] + "/")


class Resources:
    """Reads the files beside a package, as importlib.resources.abc.ResourceReader says."""

    def __init__(self, root):
        self.root = root

    def open_resource(self, name):
        import io
        return io.BytesIO(Loader(None).get_data(self.root + name))

    def resource_path(self, name):
        raise FileNotFoundError(name)

    def is_resource(self, name):
        return _husk.file(self.root.removeprefix(ROOT) + name) is not None

    def contents(self):
        root = self.root.removeprefix(ROOT)
        return {n.removeprefix(root).partition("/")[0] for n in _husk.names() if n.startswith(root)}


class Distribution:
    """What a package says of itself, for importlib.metadata."""

    def __new__(cls, root):
        from importlib.metadata import Distribution

        class Written(Distribution):
            def read_text(self, filename):
                data = _husk.file(root + filename)
                return None if data is None else data.decode()

            def locate_file(self, path):
                raise FileNotFoundError(path)

        return Written()


class Finder:
    """Finds modules and packages among the files."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        at = fullname.replace(".", "/")
        for file, package in (at + "/__init__.py", True), (at + ".py", False):
            if _husk.file(file) is not None:
                spec = ModuleSpec(fullname, Loader(ROOT + file), origin=ROOT + file, is_package=package)
                spec.has_location = True
                if package:
                    spec.submodule_search_locations = [ROOT + at]
                return spec
        if any(name.startswith(at + "/") and name.endswith(".py") for name in _husk.names()):
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [ROOT + at]
            return spec
        return None

    @staticmethod
    def find_distributions(context):
        import re
        for file in _husk.names():
            root, _, name = file.rpartition("/")
            if name == "METADATA" and root.endswith(".dist-info"):
                found = re.sub(r"[-_.]+", "-", root.removesuffix(".dist-info").rpartition("-")[0]).lower()
                if context.name is None or found == re.sub(r"[-_.]+", "-", context.name).lower():
                    yield Distribution(root + "/")


# The native packages that the search path would have; the files are found by Finder.
sys.path[:] = [ROOT.rstrip("/")]
sys.path_hooks.clear()
sys.meta_path[:] = [f for f in sys.meta_path if f is not external.PathFinder] + [Finder]


def load():
    """Runs the provider's files, once."""
    before = random.getstate()
    import husk_provider._start
    if random.getstate() != before:
        os.urandom(1)  # So no other instance begins with this one's memory.


def begin():
    """Runs ahead of the first call of an instance."""
    random.seed()
    logging._startTime = time.time_ns()

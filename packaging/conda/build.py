"""Builds and tests the conda package: build.py RECIPE OUTPUT. Needs the Python package py-rattler-build; no channel is read."""

import pathlib
import sys
import warnings

import rattler_build

warnings.simplefilter("ignore", DeprecationWarning)
recipe, output = sys.argv[1], pathlib.Path(sys.argv[2])
rattler_build.build_recipes([recipe], output_dir=output, channel=[output.as_uri()], test="native")
print(next(output.glob("*/culd-*.conda")))

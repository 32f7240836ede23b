"""Ops that are composed of those in the table of rules: their gradients follow by themselves."""

import importlib
import pkgutil

# Each file enters its functions into the table of calls, so all of them must be read.
for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    importlib.import_module(_module.name)

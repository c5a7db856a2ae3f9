"""The vocabulary of rules: all rules in the modules of this package are listed in VOCABULARY.

The same words serve in Python and in rules files: `starts_with: [author, editor]` there is
`StartsWith(["author", "editor"])` here, and further entries such as `weight: hard` are keyword arguments.
Every rule says what it counts and where the counts should lie (`terms`); other code needs to know nothing else.

A term at a distance v from its range costs  weight * v  or  weight * v^2  (`penalty`).
"""

import pkgutil
from importlib import import_module

from semistruct.rules.base import VOCABULARY

__all__ = ["VOCABULARY"]

for _module in pkgutil.iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

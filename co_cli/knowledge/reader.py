"""The old name of a notebook that only reads."""

from co_cli.knowledge.notebook import Notebook as Reader
from co_cli.knowledge.pages import Ref, named

__all__ = ["Reader", "Ref", "named"]

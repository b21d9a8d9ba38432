"""Whose words these are: a project's files that steer Co, its notes, and what git brought."""

from co_cli.trust.files import (
    FILES,
    TrustStatus,
    claim,
    diff,
    distrust,
    is_foreign,
    status,
    trust,
    untouched,
    wrote,
)

__all__ = [
    "FILES",
    "TrustStatus",
    "claim",
    "diff",
    "distrust",
    "is_foreign",
    "status",
    "trust",
    "untouched",
    "wrote",
]

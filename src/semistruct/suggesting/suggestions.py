"""Suggestions: rules with what speaks for them, as data and as a rules file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import yaml

from semistruct.rules import Rule, Rules
from semistruct.rules.files import dump_rule
from semistruct.suggesting.evidence import Evidence


@dataclass(frozen=True)
class Suggestion:
    """A rule and what speaks for it; a doubtful one is only mentioned."""

    rule: Rule
    evidence: Evidence
    certain: bool

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.rule.text, "rule": dump_rule(self.rule), "certain": self.certain, **asdict(self.evidence)}


@dataclass(frozen=True)
class Suggestions:
    """Rules that labelled data and a model suggest, those first that would change most; doubtful ones at the end.

    labels   all labels
    n, pool  the number of labelled sequences, and of those in the pool
    trained  whether the model was trained on the labelled sequences, as none was given
    """

    found: list[Suggestion]
    labels: tuple[str, ...]
    n: int
    pool: int
    trained: bool

    @property
    def rules(self) -> Rules:
        """The rules that are certain."""
        return Rules([one.rule for one in self.found if one.certain], self.labels)

    def to_yaml(self) -> str:
        """A rules file, in which doubtful rules are comments."""
        return _as_yaml(self)

    def to_dict(self) -> dict[str, Any]:
        about = {"labels": list(self.labels), "labelled": self.n, "pool": self.pool, "trained": self.trained}
        return {**about, "suggestions": [one.to_dict() for one in self.found]}


def _as_yaml(suggestions: Suggestions) -> str:
    certain = [one for one in suggestions.found if one.certain]
    doubtful = [one for one in suggestions.found if not one.certain]
    lines = [*_head(suggestions), "", f"labels: {_flow(list(suggestions.labels))}", ""]
    lines.append("rules:" if certain else "rules: []    # without the brackets if you add a rule")
    for one in certain:
        lines += ["", f"  # {_comment(one)}", *(f"  {line}" for line in _rule(one))]
    if doubtful:
        lines += ["", "  # Doubtful: true of what was labelled, but that is too little to tell."]
    for one in doubtful:
        lines += ["", f"  # {_comment(one)}", *(f"  # {line}" for line in _rule(one))]
    return "\n".join(lines) + "\n"


def _head(suggestions: Suggestions) -> list[str]:
    model = "a model trained on them" if suggestions.trained else "the given model"
    pool = f", and by what {model} sees in a pool of {suggestions.pool}" if suggestions.pool else ""
    return [
        f"# Rules suggested by {suggestions.n} labelled sequences{pool}.",
        "# Behind `holds`: labelled cases that obey, of all cases; and the share that can be relied on.",
        *(
            [
                "# Behind `pool`: sequences with cases, those that break the rule as the model labels them, and how",
                "# many of these the rule would probably put right, which is what the rules are sorted by.",
            ]
            if suggestions.pool
            else []
        ),
    ]


def _comment(one: Suggestion) -> str:
    e = one.evidence
    pool = (
        f"; pool {e.coverage}, {e.broken} break{'s' if e.broken == 1 else ''} it, gain {e.gain:.1f}"
        if e.coverage
        else ""
    )
    return f"holds {e.holds} of {e.applies}, at least {e.bound:.0%}{pool}"


def _rule(one: Suggestion) -> list[str]:
    entries = [f"{key}: {_value(value)}" for key, value in dump_rule(one.rule).items()]
    return [f"- {entries[0]}", *(f"  {entry}" for entry in entries[1:])]


def _value(value: Any) -> str:
    """The value of an entry; a list of one is that one, but a label called `all` is not all labels."""
    return _flow(value[0] if isinstance(value, list) and len(value) == 1 and value != ["all"] else value)


def _flow(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf"), sort_keys=False)
    return text.removesuffix("...\n").strip()

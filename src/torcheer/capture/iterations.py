"""Tell the iterations of a loop over different layers apart.

`for layer in layers: x = relu(layer(x))` calls, at one place in the code, another module each time
round. What else runs in such an iteration belongs to that iteration alone: its *company* is the set
of modules and parameters that vary at their place. Where nothing varies the company is empty, and
the iterations are passes of the same layers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from torcheer.capture.scopes import Scope
from torcheer.capture.tape import Record, Tape
from torcheer.graph.places import PlaceBook, Site, goes_on

Company = frozenset[Hashable]
_ALONE: Company = frozenset()


class Iterations:
    """The company of each op. Built once, from a finished tape; read only for ops that repeat."""

    def __init__(self, tape: Tape, places: PlaceBook, has_params: Callable[[str], bool]) -> None:
        self._tape = tape
        self._places = places
        self._has_params = has_params
        self._varying = self._find_varying()
        self._companies: dict[int, dict[int, Company]] = {}  # by scope id and op

    @property
    def anything_varies(self) -> bool:
        return bool(self._varying)

    def company_of(self, op: int, upto: Scope | None) -> tuple[Company, ...]:
        """One company for each scope around an op, up to and including the given one."""
        found: list[Company] = []
        scope: Scope | None = self._tape.records[op].scope
        while scope is not None:
            if scope.is_module and _home(scope) in self._varying:
                found.append(self._companies_in(scope).get(op, _ALONE))
            if scope is upto:
                break
            scope = scope.parent
        return tuple(found)

    def _find_varying(self) -> dict[Hashable, set[int]]:
        """By module: the places at which it calls different modules, or uses different parameters."""
        met: dict[tuple[Hashable, int], set[Hashable]] = {}
        seen: set[int] = set()
        for record in self._tape.records:
            params = tuple([p for p in record.parents if p < 0])
            if params and record.site:
                home, site = _at_home(record.scope, record.site)
                met.setdefault((_home(home), self._places.place_of(site)), set()).add(params)
            scope: Scope | None = record.scope
            while scope is not None and scope.parent is not None and id(scope) not in seen:
                seen.add(id(scope))
                if scope.address is not None and scope.site and self._has_params(scope.address):
                    home, site = _at_home(scope.parent, scope.site)
                    met.setdefault((_home(home), self._places.place_of(site)), set()).add(scope.address)
                scope = scope.parent
        varying: dict[Hashable, set[int]] = {}
        for (home_key, place), identities in met.items():
            if len(identities) > 1:
                varying.setdefault(home_key, set()).add(place)
        return varying

    def _companies_in(self, scope: Scope) -> dict[int, Company]:
        """The company of every op inside one call of a module."""
        companies = self._companies.get(id(scope))
        if companies is None:
            companies = self._companies[id(scope)] = {}
            for ops, company in self._rounds(scope):
                for op in ops:
                    companies[op] = company
        return companies

    def _rounds(self, scope: Scope) -> list[tuple[list[int], Company]]:
        """The ops of a module call, cut where its code goes back."""
        places = self._varying[_home(scope)]
        rounds: list[tuple[list[int], set[Hashable]]] = [([], set())]
        before: Site = ()
        last_child: Scope | None = None
        last_identity: Hashable = None
        for op in range(scope.first_op, scope.end(len(self._tape.records))):
            record = self._tape.records[op]
            child, site = _seen_from(scope, record)
            if site and not (child is not None and child is last_child):
                if before and not goes_on(before, site):
                    rounds.append(([], set()))
                before = site
                if self._places.place_of(site) in places:
                    # What has no parameters, but is called where others vary, goes with the one before it.
                    last_identity = self._identity(child, record) or last_identity
                    rounds[-1][1].add(last_identity)
            last_child = child
            rounds[-1][0].append(op)
        return [(ops, frozenset(company)) for ops, company in rounds]

    def _identity(self, child: Scope | None, record: Record) -> Hashable | None:
        if child is not None and child.address is not None:
            return child.address if self._has_params(child.address) else None
        return tuple([p for p in record.parents if p < 0]) or None


def _home(scope: Scope) -> Hashable:
    return scope.address


def _at_home(scope: Scope, site: Site) -> tuple[Scope, Site]:
    """The module around a site, with the site of the function that was opened in it, if any."""
    while scope.address is None and scope.parent is not None:
        scope, site = scope.parent, scope.site
    return scope, site


def _seen_from(scope: Scope, record: Record) -> tuple[Scope | None, Site]:
    """Where an op stands in a module's own forward, and the scope directly below it that holds the op."""
    child: Scope | None = None
    inner: Scope | None = record.scope
    site = record.site
    while inner is not None and inner is not scope:
        child, site, inner = inner, inner.site, inner.parent
    return child, site

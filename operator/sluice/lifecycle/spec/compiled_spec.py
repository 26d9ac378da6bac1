"""Reads a job's spec under a runtime profile. It is read once: not again when its tables change, nor for another job with
an equal spec, because most come from a few templates."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from json import dumps
from typing import Any, TypeVar

from pydantic import ValidationError

from sluice.api.job import DeltaWriteJobSpec
from sluice.api.job_status import MAX_LOCATION
from sluice.api.problems import each_problem
from sluice.engines import RuntimeProfile, engine_for
from sluice.footprint import Days, JobFootprint, NotUnderstoodError, Texts, footprint_of, texts_of
from sluice.footprint.run_keys import unrepeatable
from sluice.lifecycle.spec.spec_hashes import SpecHashes
from sluice.tables import Names, TableFacts, TableKey
from sluice.templates import problems_in

_T = TypeVar("_T")

MOST_CHARACTERS = 250_000
"""Characters of the specs that are kept as they were read: each takes some hundred bytes, most of them in syntax trees."""

_MOST_FOOTPRINTS = 4
"""Footprints kept of one spec: names and facts seldom differ among the jobs that have it."""
_WORK = {"application", "sql", "write", "parameters", "writes"}


@dataclass(frozen=True)
class _Bound:
    names: Names
    facts: Mapping[TableKey, TableFacts]
    sources: Mapping[TableKey, TableFacts]
    found: JobFootprint | NotUnderstoodError


class CompiledSpec:
    """One spec. What is wrong with it is found once, and raised anew for each caller."""

    def __init__(
        self, given: Any, profiles: Mapping[str, RuntimeProfile], namespace: str, days: Days | None = None
    ) -> None:
        self._given = given
        self._namespace = namespace
        self._days = days
        self.profiles = profiles
        self._bound: list[_Bound] = []

    @property
    def spec(self) -> DeltaWriteJobSpec:
        return _told(self._spec)

    @property
    def profile(self) -> RuntimeProfile:
        return _told(self._profile)

    @property
    def footprint_from_spec(self) -> JobFootprint:
        """The footprint as far as the spec tells, which names tables as it likes."""
        return _told(self._footprint_from_spec)

    def footprint_with_facts(
        self, names: Names, facts: Mapping[TableKey, TableFacts], sources: Mapping[TableKey, TableFacts]
    ) -> JobFootprint:
        """The footprint with what is known of its tables and of those that it selects from."""
        for known in self._bound:
            if known.names is names and known.facts == facts and known.sources == sources:
                return _told(known.found)
        found = self._footprint(names, facts, sources)
        self._bound = [_Bound(names, facts, sources, found), *self._bound[: _MOST_FOOTPRINTS - 1]]
        return _told(found)

    def forget(self) -> None:
        """Lets go of the texts as they were read: whoever still asks has them read again."""
        for statements in self.__dict__.pop("_texts", {}).values():
            for statement in statements:
                statement.forget()

    @cached_property
    def hashes(self) -> SpecHashes:
        """Of what is refused, such as what is nested too deeply, there are none."""
        return SpecHashes(self.spec, self.footprint_from_spec.identity, by_days=self._days is not None)

    @cached_property
    def work_hash(self) -> str:
        """A hash of what is to be done, which later versions of Sluice work out alike: a run key stays with it for ever."""
        work = self.spec.model_dump(mode="json", by_alias=True, exclude_none=True, include=_WORK)
        return sha256(dumps(work, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def unrepeatable(self) -> str | None:
        """Why no other attempt could tell what is done."""
        return unrepeatable(self._texts.values())

    @cached_property
    def _spec(self) -> DeltaWriteJobSpec | NotUnderstoodError:
        try:
            return DeltaWriteJobSpec.as_stored(self._given)
        except ValidationError as error:
            return NotUnderstoodError(*each_problem(error))

    @cached_property
    def _profile(self) -> RuntimeProfile | NotUnderstoodError:
        application = self.spec.application
        if application is not None:
            problems = problems_in(application)
            if problems:
                return NotUnderstoodError(*problems)
            delta_version = self.spec.runtime.delta_version if self.spec.runtime is not None else None
            return engine_for(application.engine).profile_of(application.template, delta_version)
        name = self.spec.runtime_ref or "default"
        if name not in self.profiles:
            return NotUnderstoodError(
                f"spec.runtimeRef: there is no runtime profile {name!r}; the operator has {', '.join(sorted(self.profiles))}"
            )
        profile = self.profiles[name].with_overrides(self.spec.runtime)
        return (
            profile if profile.why_unfit is None else NotUnderstoodError(f"spec.runtime: {profile.why_unfit}")
        )

    @cached_property
    def _texts(self) -> Texts:
        return texts_of(self.spec)

    @cached_property
    def _footprint_from_spec(self) -> JobFootprint | NotUnderstoodError:
        found = self._footprint(None, {}, {})
        for key in found.keys if isinstance(found, JobFootprint) else ():
            if len(key.text) > MAX_LOCATION:
                return NotUnderstoodError(
                    f"table {key.text[:60]}...: its name or location has {len(key.text)} characters; a status "
                    f"holds at most {MAX_LOCATION}"
                )
        return found

    def _footprint(
        self,
        names: Names | None,
        facts: Mapping[TableKey, TableFacts],
        sources: Mapping[TableKey, TableFacts],
    ) -> JobFootprint | NotUnderstoodError:
        spec, profile = self.spec, self.profile
        try:
            return footprint_of(
                spec,
                profile.spark_conf,
                facts=facts,
                sources=sources,
                names=names,
                delta_version=profile.delta_version,
                spark_version=profile.spark_version,
                texts=self._texts,
                has_all_settings=spec.application is None,
                namespace=self._namespace,
                days=self._days,
            )
        except NotUnderstoodError as error:
            return error


class CompiledSpecs:
    """The specs that were last asked for."""

    def __init__(self, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_characters = most_characters
        self._kept: OrderedDict[str, CompiledSpec] = OrderedDict()
        self._characters = 0

    def of(
        self, given: Any, profiles: Mapping[str, RuntimeProfile], namespace: str, days: Days | None = None
    ) -> CompiledSpec:
        """Returns the work of a spec. `profiles`: the very same object for all who are to share it."""
        apart = ([namespace] if _has_run_key(given) else []) + ([] if days is None else [str(days.made)])
        text = dumps([given, *apart] if apart else given, sort_keys=True)
        known = self._kept.get(text)
        if known is not None and known.profiles is profiles:
            self._kept.move_to_end(text)
            return known
        if known is None:
            self._characters += len(text)
        else:
            known.forget()
        found = self._kept[text] = CompiledSpec(given, profiles, namespace, days)
        while self._characters > self._most_characters and len(self._kept) > 1:
            gone, work = self._kept.popitem(last=False)
            self._characters -= len(gone)
            work.forget()
        return found


def _has_run_key(given: Any) -> bool:
    """Whether what is read of the spec is of its namespace: run keys are."""
    return isinstance(given, dict) and "runKey" in given


def _told(found: _T | NotUnderstoodError) -> _T:
    if isinstance(found, NotUnderstoodError):
        raise found.with_traceback(None)
    return found

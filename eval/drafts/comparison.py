"""Comparing drafts of several systems with what the users really wrote for the same requests.

Dimensions in comments: N requests, F features, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.drafts.cases import Case
from eval.drafts.stance import STANCES, stance
from eval.report.metric import PEARL, Metric
from eval.report.tables import Json
from pearl.errors import ChatError
from pearl.models.asking.write import WrittenText
from pearl.records import Document
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.stats.chance import permutation_p_value
from pearl.style.claims import claims as finder
from pearl.style.claims.claims import CARRIED_OVER, COMMITMENT, DROPPED, UNSUPPORTED, Sample
from pearl.style.likeness.likeness import Likeness
from pearl.style.manner.edges import edges_of
from pearl.text.usable import counted
from pearl.text.words import rouge_words
from retriever.base import oldest_first
from retriever.models.bertscore import BertScore

ROUGE_1, ROUGE_2, BERTSCORE, MACRO_F1 = "rouge1", "rouge2", "bertscore", "macro_f1"
LIKENESS, CLAIMS = "likeness", "claims"
ROUGE_L, METEOR, EDGES, SECONDS, TOKENS = "rougeL", "meteor", "edges", "seconds", "tokens"
MARKS = " .,;:!"  # an edge may end in another one: a name stands behind the greeting
Mask = NDArray[np.bool_]  # (N,)


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a system's texts, as features: a metric is computed from the sums of its features."""

    features: Mapping[str, Floats]  # by metric, (N, F); the metric is a function of their sums
    stances: tuple[str | None, ...] = ()  # of the texts

    def among(self, mask: Mask) -> Measures:
        return Measures({name: values[mask] for name, values in self.features.items()})


def mixed(share: Floats, first: Measures, second: Measures) -> Measures:
    """Mix the measures of two systems: for each request, ``share`` (N,) of the first system's measures and 1 -
    ``share`` of the second's, which is the expectation of choosing a text at random."""
    weight = share[:, None]
    parts = {name: (values, second.features[name]) for name, values in first.features.items()}
    return Measures({name: weight * one + (1 - weight) * other for name, (one, other) in parts.items()})


def mean_of_sums(sums: Floats) -> Floats:
    """Compute the mean from the sum of the values and their number: (R, 2) -> (R,)."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def macro_f1_of_sums(sums: Floats) -> Floats:
    """Compute macro F1 from hits, false alarms and misses: (R, F) -> (R,); NaN if a stance is taken nowhere."""
    hits, alarms, misses = (sums[:, first::3] for first in range(3))
    return np.asarray((2 * hits / (2 * hits + alarms + misses)).mean(axis=1))


def of_sums(name: str) -> Callable[[Floats], Floats]:
    """Return the function that computes a metric from the sums of its features."""
    return macro_f1_of_sums if name == MACRO_F1 else mean_of_sums


def _fold(name: str, bootstrap: Bootstrap, measured: Measures) -> Estimate:
    return bootstrap.sums(measured.features[name], of_sums(name))


def chances(default: Measures, settings: Sequence[Measures], clusters: Sequence[str]) -> dict[str, float]:
    """Return for each metric the permutation p-value of the best setting's improvement over ``default``, which is a
    decrease of metrics where lower is better."""

    def gained(metric: Metric[Measures], sums: Floats) -> Floats:
        return of_sums(metric.name)(sums) * (1 if metric.higher_is_better else -1)

    return {
        metric.name: round(
            permutation_p_value(
                default.features[metric.name],
                [setting.features[metric.name] for setting in settings],
                partial(gained, metric),
                clusters,
            ),
            4,
        )
        for metric in METRICS
        if metric.name in default.features
    }


METRICS: tuple[Metric[Measures], ...] = (
    Metric(
        ROUGE_1,
        "ROUGE-1",
        "The words that a draft shares with what the user really wrote.",
        "mean F1 of words, lower-cased runs of a-z and 0-9, or of a text in another script its words, no stemming "
        "(rouge-score)",
        "Lin 2004, ROUGE: a package for automatic evaluation of summaries",
        4,
        partial(_fold, ROUGE_1),
    ),
    Metric(
        ROUGE_2,
        "ROUGE-2",
        "The pairs of neighbouring words that they share.",
        "mean F1 of word bigrams (rouge-score)",
        "Lin 2004, ROUGE: a package for automatic evaluation of summaries",
        4,
        partial(_fold, ROUGE_2),
    ),
    Metric(
        BERTSCORE,
        "BERTScore",
        "Similarity of the words of one to those of the other.",
        "mean F1 of greedily matched token vectors, not rescaled (bert-score); only compares within one encoder",
        "Zhang et al. 2020, BERTScore: evaluating text generation with BERT",
        4,
        partial(_fold, BERTSCORE),
    ),
    Metric(
        MACRO_F1,
        "stance Macro-F1",
        "Agreement of the draft's stance with the user's.",
        "mean F1 of YTA and NTA over targets that take one; a draft without a clear one misses",
        f"{PEARL}, section 5.1",
        4,
        partial(_fold, MACRO_F1),
    ),
    Metric(
        LIKENESS,
        "likeness",
        "How likely it is that the user wrote the draft, going by their earlier texts.",
        "mean probability by n-gram models of masked words and of characters, over the drafts of 30 words or more that "
        "a system or policy has, which may be of other requests than those it is compared with",
        "Nini et al. 2025, Grammar as a behavioral biometric (LambdaG)",
        4,
        partial(_fold, LIKENESS),
    ),
    *(
        Metric(
            name,
            name.replace("_", " "),
            description,
            "mean number a draft, found by rule from the draft, the request and the documents shown, as by `pearl "
            "check`; lower is better",
            "docs/experiments.md measures the rule",
            2,
            partial(_fold, name),
            higher_is_better=False,
        )
        for name, description in (
            (CARRIED_OVER, "Facts of a document shown that the request does not state."),
            (UNSUPPORTED, "Facts that stand neither in the request nor in a document shown."),
            (COMMITMENT, "Promises that the request does not make."),
            (DROPPED, "Facts of the request that the draft leaves out."),
            (CLAIMS, "All of these: what somebody has to check before the draft is sent."),
        )
    ),
)
BENCHMARK_METRICS: tuple[Metric[Measures], ...] = (
    Metric(
        ROUGE_L,
        "ROUGE-L",
        "The longest run of words that they share in this order, others between them.",
        "mean F1 of the longest common subsequence of words, no stemming (rouge-score)",
        "Lin 2004, ROUGE: a package for automatic evaluation of summaries",
        4,
        partial(_fold, ROUGE_L),
    ),
    Metric(
        METEOR,
        "METEOR",
        "The words and word stems that they share, less where their order differs.",
        "mean METEOR of words and Porter stems (nltk), without WordNet's synonyms, which are not shipped",
        "Banerjee and Lavie 2005, METEOR: an automatic metric for MT evaluation",
        4,
        partial(_fold, METEOR),
    ),
    Metric(
        EDGES,
        "edges kept",
        "The share of the user's usual beginning (greeting) and end (sign-off, name) that the draft has.",
        "mean over the drafts of users who have any, found by rule in their latest earlier texts",
        "-",
        2,
        partial(_fold, EDGES),
    ),
    *(
        Metric(name, name, description, how, "-", 1, partial(_fold, name), higher_is_better=False)
        for name, description, how in (
            (SECONDS, "Time that a draft took.", "mean of a call to the model, waits for its rate limit included"),
            (TOKENS, "Tokens of a draft and its prompt.", "mean, as the model counts them"),
        )
    ),
)  # of what others report of these benchmarks, and of what a draft costs
CLAIM_KINDS = (CARRIED_OVER, UNSUPPORTED, COMMITMENT, DROPPED, CLAIMS)
ONLY_IN_JSON = (UNSUPPORTED, COMMITMENT, DROPPED)  # a table has their sum and what is carried over


def metrics_in(row: Mapping[str, Any]) -> list[Metric[Measures]]:
    """Return the metrics that a result's row has and that its table shows."""
    known = (*METRICS, *BENCHMARK_METRICS)
    return [metric for metric in known if metric.name in row and metric.name not in ONLY_IN_JSON]


@cache
def _rouge_scorer(*names: str) -> Any:
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import Tokenizer

    class Words(Tokenizer):  # type: ignore[misc]  # the library has no types
        def tokenize(self, text: str) -> list[str]:
            return rouge_words(text)

    return RougeScorer(list(names), tokenizer=Words())


def rouge(target: str, draft: str) -> tuple[float, float]:
    """Compute the F1 of ROUGE-1 and ROUGE-2 (Lin 2004): of the words and of the word pairs that two texts share."""
    scores = _rouge_scorer(ROUGE_1, ROUGE_2).score(target, draft)
    return scores["rouge1"].fmeasure, scores["rouge2"].fmeasure


def rouge_l(target: str, draft: str) -> float:
    """Compute the F1 of ROUGE-L (Lin 2004): of the longest common subsequence of words."""
    return float(_rouge_scorer(ROUGE_L).score(target, draft)[ROUGE_L].fmeasure)


class _NoSynonyms:
    """A stand-in for WordNet, which nltk would load and no package ships: no word has synonyms."""

    def synsets(self, word: str) -> tuple[()]:
        return ()


def meteor(target: str, draft: str) -> float:
    """Compute METEOR (Banerjee and Lavie 2005) of a draft, by words and Porter stems, without synonyms."""
    from nltk.translate.meteor_score import single_meteor_score

    return float(single_meteor_score(rouge_words(target), rouge_words(draft), wordnet=_NoSynonyms()))


def where_known(values: Iterable[float | None]) -> Floats:
    """Stack each value with a 1, or two zeros if the value is None: (N, 2)."""
    return np.array([(0.0, 0.0) if value is None else (value, 1.0) for value in values], np.float64)


def with_edges_and_costs(measured: Measures, cases: Sequence[Case], texts: Sequence[WrittenText]) -> Measures:
    """Add the edges that each text keeps, if any user has edges, its tokens and its seconds where they are known."""
    edges = where_known(edges_kept(case, text.text or "") for case, text in zip(cases, texts, strict=True))
    features = {
        TOKENS: where_known(text.usage.total_tokens or None if text.usage else None for text in texts),
        SECONDS: where_known(text.seconds for text in texts),
        **({EDGES: edges} if edges.any() else {}),
    }
    return Measures({**measured.features, **features}, measured.stances)


def edges_kept(case: Case, text: str) -> float | None:
    """Return the share of the user's usual beginning and end that a draft has; None if the user has neither."""
    documents = case.record.documents
    earlier = [documents[position] for position in oldest_first(documents)]
    usual = edges_of(earlier, case.record.request.text)
    before, after = (" ".join(edge.split()).rstrip(MARKS) for edge in (usual.before, usual.after))
    draft = " ".join(text.split()).rstrip(MARKS)
    kept = [draft.startswith(before)] if before else []
    kept += [draft.endswith(after)] if after else []
    return sum(kept) / len(kept) if kept else None


class TargetMetrics:
    """Measures drafts against target texts.

    ``stances``: the preset of the stance rules, None to leave stances out. ``histories``: each user's earlier texts;
    likeness is measured if any is long enough. ``requests``: claims are measured if these are given.
    """

    def __init__(
        self,
        targets: Sequence[str],
        bertscore: BertScore,
        *,
        stances: str | None,
        histories: Sequence[tuple[str, ...]] = (),
        requests: Sequence[str] = (),
        benchmark: bool = False,
    ) -> None:
        self._targets, self._requests = tuple(targets), tuple(requests)
        self.bertscore = bertscore
        fitted = {texts: Likeness.fit(texts) for texts in dict.fromkeys(histories)}  # equal histories once
        self._people = [fitted[texts] for texts in histories]
        self._has_likeness = any(person.words_model is not None for person in self._people)
        self._known: dict[tuple[str, str], float] = {}
        self._preset, self._benchmark = stances or "", benchmark
        self.stances = tuple(stance(target, stances) for target in targets) if stances else ()

    @classmethod
    def of(
        cls, cases: Sequence[Case], bertscore: BertScore, stances: str | None, *, benchmark: bool = False
    ) -> TargetMetrics:
        """Make the metrics of drafts against what the users really wrote; ``benchmark`` adds BENCHMARK_METRICS."""
        histories = [case.earlier_texts for case in cases]
        requests = [case.record.request.text for case in cases]
        targets = [case.target for case in cases]
        return cls(targets, bertscore, stances=stances, histories=histories, requests=requests, benchmark=benchmark)

    @property
    def metrics(self) -> tuple[Metric[Measures], ...]:
        measured = {MACRO_F1: bool(self.stances), LIKENESS: self._has_likeness}
        measured |= dict.fromkeys(CLAIM_KINDS, bool(self._requests))
        known = (*METRICS, *BENCHMARK_METRICS) if self._benchmark else METRICS
        return tuple(metric for metric in known if measured.get(metric.name, True))

    def measure(self, texts: Sequence[str], shown: Iterable[Sequence[Document]] | None = None) -> Measures:
        """Measure one text for each target; ``shown``: the documents that each text was written from."""
        shared = [rouge(target, text) for target, text in zip(self._targets, texts, strict=True)]
        values: dict[str, Sequence[float]] = {
            ROUGE_1: [first for first, _ in shared],
            ROUGE_2: [second for _, second in shared],
            BERTSCORE: self._bertscores(texts),
            **self._claims(texts, shown or [()] * len(texts)),
        }
        if self._benchmark:
            for name, score in ((ROUGE_L, rouge_l), (METEOR, meteor)):
                values[name] = [score(target, text) for target, text in zip(self._targets, texts, strict=True)]
        features = {name: np.column_stack((of_texts, np.ones(len(texts)))) for name, of_texts in values.items()}
        if self._has_likeness:
            features[LIKENESS] = self._likenesses(texts)
        if not self.stances:
            return Measures(features)
        taken = tuple(stance(text, self._preset) for text in texts)
        return Measures(features | {MACRO_F1: stance_features(self.stances, taken)}, taken)

    def _likenesses(self, texts: Sequence[str]) -> Floats:
        """Return the probability that the user wrote each text, unknown if the text or the history is too short."""
        return where_known(person.score(text).probability for person, text in zip(self._people, texts, strict=True))

    def _claims(self, texts: Sequence[str], shown: Iterable[Sequence[Document]]) -> dict[str, list[float]]:
        """Count the claims of each text, by kind and in all; empty if the requests are not known."""
        if not self._requests:
            return {}
        claims = (
            finder.claims(text, request, [Sample(each.id, each.text) for each in documents])
            for text, request, documents in zip(texts, self._requests, shown, strict=True)
        )
        found = [[claim.kind for claim in of if claim.kind in CLAIM_KINDS] for of in claims]
        return {name: [float(len(of) if name == CLAIMS else of.count(name)) for of in found] for name in CLAIM_KINDS}

    def _bertscores(self, texts: Sequence[str]) -> list[float]:
        pairs = list(zip(self._targets, texts, strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        scores = self.bertscore.scores([target for target, _ in new], [text for _, text in new])
        self._known |= zip(new, scores, strict=True)
        return [self._known[pair] for pair in pairs]


def stance_features(true: Sequence[str | None], taken: Sequence[str | None]) -> Floats:
    """Count hits, false alarms and misses of each stance, (N, 3 * stances). A target without a stance counts for none
    of them; a text without a stance is only a miss."""
    facts = [
        [
            wanted is not None and fact
            for label in STANCES
            for fact in (wanted == said == label, said == label != wanted, wanted == label != said)
        ]
        for wanted, said in zip(true, taken, strict=True)
    ]
    return np.array(facts, dtype=np.float64)


def complete(written: Sequence[Sequence[WrittenText]]) -> Mask:
    """Return True for the requests for which every system has a text, (N,). Raises ChatError if there is none."""
    together: Mask = np.array([all(text.text is not None for text in texts) for texts in zip(*written, strict=True)])
    if not together.any():
        failures = Counter(text.failure for texts in written for text in texts if text.failure)
        why = ", ".join(f"{code}: {count}" for code, count in failures.most_common())
        raise ChatError(f"There is no request that every system has a text for ({why}).")
    return together


def counts(texts: Sequence[WrittenText]) -> dict[str, Any]:
    """Count the generations that failed, by reason, and those cut off."""
    failures = Counter(text.failure for text in texts if text.failure is not None)
    return {
        "failed": failures.total(),
        "failures": dict(sorted(failures.items())),
        "cut_off": sum(text.cut_off for text in texts),
    }


def left_out(result: Json, texts: str) -> list[str]:
    """Return a sentence on how many requests were left out because their ``texts`` failed; empty if none were."""
    missing = result["requests"] - result["n"]
    return (
        [f"{missing:,} of {counted(result['requests'], 'request')} left out, whose {texts} failed."] if missing else []
    )

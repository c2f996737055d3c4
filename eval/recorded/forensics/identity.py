"""Annotators that always choose the texts of one model. Traits that agree with such an annotator are typical of the
model (papers/feedback-forensics.txt, appendix C)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eval.recorded.forensics.pairs import MODEL_IDENTITY, AnnotatedPairs, Annotator, Vote, short_id
from pearl.errors import InputError

Models = tuple[str | None, str | None]


def models_of(pairs: Iterable[Models]) -> list[str]:
    """Every model that the pairs name, in order of appearance."""
    return list(dict.fromkeys(model for models in pairs for model in models if model))


def with_models(data: AnnotatedPairs, targets: Sequence[str] = (), references: Sequence[str] = ()) -> AnnotatedPairs:
    """Return the data set with an added annotator for each of the models ``targets``, by default for every model. It
    chooses the model's text where the other text is by one of ``references``, by default by any model. Raises
    InputError for pairs without models, and for a model that no pair names."""
    known = models_of(pair.models for pair in data.pairs)
    if not known:
        raise InputError("--target-model: no pair names a model.")
    for option, names in (("target-model", targets), ("reference-model", references)):
        for name in names:
            if name not in known:
                there = ", ".join(known[:20])
                raise InputError(f"--{option} {name}: no pair names it; there are {there}.")
    annotators = {model: identity_annotator(model, references) for model in targets or known}
    pairs = [
        pair.with_votes({model.id: identity_vote(pair.models, name, references) for name, model in annotators.items()})
        for pair in data.pairs
    ]
    return data.with_annotators({annotator.id: annotator for annotator in annotators.values()}, tuple(pairs))


def identity_annotator(model: str, references: Sequence[str] = ()) -> Annotator:
    """Make the annotator that always chooses the texts of ``model``."""
    others = ", ".join(name for name in references if name != model)
    against = f"the reference models ({others})" if others else "any other model"
    fields = {"name": model, "description": f"Always prefer {model} over {against}", "type": MODEL_IDENTITY}
    return Annotator(short_id(f"model_identity_{model}_over_references"), fields)


def identity_vote(models: Models, model: str, references: Sequence[str] = ()) -> Vote:
    """The vote for the text by ``model`` in a pair of texts by ``models``. ``both`` or ``neither`` if both texts, or
    neither, are by ``model``; not applicable if a model is unknown, or the other model is not in ``references``."""
    if not all(models):
        return Vote.NOT_APPLICABLE
    a, b = (name == model for name in models)
    if a == b:
        return Vote.BOTH if a else Vote.NEITHER
    other = models[1 if a else 0]
    if references and other not in references:
        return Vote.NOT_APPLICABLE
    return Vote.A if a else Vote.B

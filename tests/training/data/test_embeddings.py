from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.errors import InputError
from training.data.embeddings import AT_ONCE, PROBE, KeptEncoder

TEXTS = ["the wheel", "the tide", "", "the wheel"]


def test_what_was_computed_is_not_computed_again(word_encoder, tmp_path):
    first, second = word_encoder(), word_encoder()
    expected = first.encode_documents(TEXTS)
    kept = KeptEncoder(first, tmp_path / "e")
    assert np.abs(kept.encode_documents(TEXTS) - expected).max() < 1e-3
    again = KeptEncoder(second, tmp_path / "e")
    assert np.array_equal(again.encode_documents(TEXTS), kept.encode_documents(TEXTS))
    assert again.encode_documents(TEXTS).dtype == np.float32
    assert second.encoded == [PROBE]
    assert again.knows("the tide")
    assert not again.knows("the kettle")


def test_a_request_is_one_more_text_where_the_encoder_sees_it_so(word_encoder, tmp_path):
    class TwoKinds(word_encoder):  # type: ignore[misc]
        def encode_request(self, text: str) -> Any:
            return super().encode_request("request " + text)

    for encoder in (word_encoder(), TwoKinds()):
        kept = KeptEncoder(encoder, tmp_path / type(encoder).__name__)
        assert np.abs(kept.encode_request("the tide") - encoder.encode_request("the tide")).max() < 1e-3


def test_it_stops_when_it_is_told_to_and_says_how_far_it_came(word_encoder, tmp_path):
    kept = KeptEncoder(word_encoder(), tmp_path)
    texts = [f"text {number}" for number in range(AT_ONCE + 5)]
    told: list[tuple[int, bool]] = []
    answers = iter([True, False])
    kept.prepare(texts, lambda count, now: told.append((count, now)), lambda: next(answers))
    assert told == [(0, False), (AT_ONCE, True)]
    assert sum(map(kept.knows, texts)) == AT_ONCE
    again = KeptEncoder(word_encoder(), tmp_path)
    again.prepare(texts, lambda count, now: told.append((count, now)))
    assert told[2:] == [(AT_ONCE, False), (5, True)]


def test_half_a_file_is_not_read(word_encoder, tmp_path):
    KeptEncoder(word_encoder(), tmp_path).encode_documents(TEXTS)
    (tmp_path / ".0123456789abcdef.npz.partial").write_bytes(b"half")
    assert KeptEncoder(word_encoder(), tmp_path).knows("the wheel")


def test_half_a_name_is_not_left(word_encoder, tmp_path, monkeypatch):
    def cut_off(path: Path, text: str, **_: Any) -> None:
        path.write_bytes(text.encode()[:2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", cut_off)
    with pytest.raises(KeyboardInterrupt):
        KeptEncoder(word_encoder(), tmp_path)
    monkeypatch.undo()
    KeptEncoder(word_encoder(), tmp_path)


@pytest.mark.parametrize(
    ("weights", "name", "other", "said"),
    [
        ((), "others", (), "of the encoder 'words', not of 'others'"),
        (("abc",), "words", ("def",), "of the encoder 'words abc', not of 'words def'"),
    ],
)
def test_the_folder_of_another_encoder_or_other_weights_is_refused(word_encoder, tmp_path, weights, name, other, said):
    KeptEncoder(word_encoder(), tmp_path, *weights)
    KeptEncoder(word_encoder(), tmp_path, *weights)
    with pytest.raises(InputError, match=said):
        KeptEncoder(word_encoder(name), tmp_path, *other)

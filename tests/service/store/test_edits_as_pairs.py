"""A real export read by feedback forensics: what a person changed before sending is a pair."""

from __future__ import annotations

from eval.recorded.forensics.pair_files import SENDER, read_pairs
from service.histories.export import export_pieces
from service.store import drafts, feedback


def test_an_edited_draft_of_an_export_is_a_pair(ann, draft, tmp_path):
    with ann.database.write() as connection:
        for name, final in (("edited", "The sent text."), ("accepted", None)):
            made = draft(name)
            drafts.add(connection, ann.id, made, request="Answer Bo.", instructions="", voice="email", model="m")
            feedback.add(connection, ann.id, made.id, name, final)
    path = tmp_path / "ann.json"
    with ann.database.read() as connection:
        path.write_bytes(b"".join(export_pieces(connection, ann.user, tmp_path)))
    (pair,) = read_pairs(path).pairs
    assert (pair.prompt, pair.metadata["draft_id"], pair.metadata["voice"]) == ("Answer Bo.", "draft_edited", "email")
    assert pair.texts["ab".index(pair.vote(SENDER.id))] == "The sent text."
    assert set(pair.models) == {"drafted", "sent"}

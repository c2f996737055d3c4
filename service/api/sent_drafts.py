"""The API's fields for documents that were sent from a draft: how much of them is the machine's."""

from __future__ import annotations

from pydantic import BaseModel, Field

from pearl.manner.edits import MOSTLY
from service.store.feedback import Feedback


class SentDraftOut(BaseModel):
    """The draft that a document was sent from, and what it makes of the document."""

    draft_id: str = Field(description="The draft's id.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    machine_share: float = Field(
        description="Share of the document's words that were the draft's.", examples=[0.62], ge=0, le=1
    )
    mine: bool | None = Field(description="Your word on whether it is yours; null: none given.", examples=[None])
    sample: bool = Field(
        description=f"True when drafts learn from it: you changed it and at most {MOSTLY:.0%} of it is the machine's, "
        "or you said that it is yours.",
        examples=[False],
    )


def sent_draft_out(feedback: Feedback | None) -> SentDraftOut | None:
    """The form of a sent document's feedback; None for a document that was never a draft."""
    if feedback is None or feedback.edit is None:
        return None
    return SentDraftOut(
        draft_id=feedback.draft_id,
        machine_share=feedback.machine_share,
        mine=feedback.mark.mine,
        sample=feedback.mark.reason is None,
    )

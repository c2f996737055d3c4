"""A drafting service as LangChain's documentation builds one with retrieval; ``benchmarks/rag.py`` starts it.

It embeds each text of a history, keeps the vectors in FAISS, and answers each request by one chain: find the nearest
texts, put them into the prompt, ask the chat model. Chains run on the event loop, FAISS and the encoder in its threads.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from langchain_community.vectorstores import FAISS
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

SYSTEM = "You draft texts as their author would write them. Use the following texts by the author:\n\n{context}"


class Asked(BaseModel):
    request: str


class Draft(BaseModel):
    text: str


def chain_of(texts: list[str], encoder: str, endpoint: str, shown: int) -> Any:
    """Build the chain from a request to a draft. ``encoder``: a folder; ``shown``: number of texts in a prompt."""
    store = FAISS.from_texts(texts, HuggingFaceEmbeddings(model_name=encoder))
    nearest = store.as_retriever(search_kwargs={"k": shown})
    prompt = ChatPromptTemplate.from_messages([("system", SYSTEM), ("human", "{request}")])
    model = ChatOpenAI(model="mock", base_url=f"{endpoint}/v1", api_key="none")
    return {"context": nearest | _joined, "request": RunnablePassthrough()} | prompt | model | StrOutputParser()


def _joined(documents: Any) -> str:
    return "\n\n".join(document.page_content for document in documents)


def application(chain: Any) -> FastAPI:
    app = FastAPI()

    @app.post("/drafts")
    async def draft(asked: Asked) -> Draft:
        return Draft(text=await chain.ainvoke(asked.request))

    return app


def main() -> None:
    """Serve on a port that the system chooses. Arguments: history (JSON Lines, gzip), encoder, endpoint, shown."""
    history, encoder, endpoint, shown = sys.argv[1:]
    with gzip.open(Path(history), "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    chain = chain_of(texts, encoder, endpoint, int(shown))
    uvicorn.run(application(chain), port=0, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()

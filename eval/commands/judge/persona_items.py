"""``pearl judge persona-items``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.benchmarks.choices import PRESETS
from eval.commands.options import EncoderName, Overrides, PresetName, Seed
from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.cli.options import check_unread, known

ABOUT = """Nothing is downloaded: DIR holds the files as their authors publish them.

\b
  prism      survey.jsonl and utterances.jsonl
  opinionqa  a folder a wave, each with info.csv and responses.csv
  empathic   the essays (*EMP*train*.csv), the people (*PER*train*.csv) and articles*.csv
  reddit     synthetic_dataset.jsonl

""" + PRESETS.help()
EXAMPLES = """
  pearl judge persona-items --from prism --data prism-alignment --own-family gpt --out prism.jsonl
  pearl judge persona-items --from empathic --data ec --ties --out ec.jsonl --json -
  pearl judge persona-items --from reddit --data llmprivacy --preset as_published --out pr.jsonl
  pearl judge personalized --items prism.jsonl --llm openai --records judged.jsonl
"""


@reporting("judge", "persona-items", writes=("out",), presets=PRESETS)
def persona_items(
    source: str = typer.Option(..., "--from", help="Data to build from: prism, opinionqa, empathic or reddit."),
    data: Path = typer.Option(..., metavar="DIR", help="Folder with the published files."),
    out: Path = typer.Option(..., metavar="ITEMS.jsonl", help="Write the items for `pearl judge personalized`."),
    ties: bool = typer.Option(False, "--ties", help="Keep ties; ask with `pearl judge personalized --tie`."),
    own_family: str | None = typer.Option(
        None, metavar="NAME", help="Leave out responses of models whose name contains this (prism)."
    ),
    limit: int | None = typer.Option(
        None, min=1, help="Number of items at most (opinionqa: of each question); the paper's by default."
    ),
    preset: PresetName = PRESETS.default,
    choose: Overrides = None,
    encoder: EncoderName = None,
    seed: Seed = 0,
) -> Report:
    """Build items for the personalised judge from published data, and say what was taken, dropped and why."""
    from eval.asking.json_lines import write_lines
    from eval.benchmarks.build import READ, SOURCES, build_items, build_tables
    from eval.benchmarks.pairs import BuildOptions
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder

    source = known("from", source, SOURCES)
    check_unread("--out", out, [path for pattern in READ[source] for path in data.rglob(pattern)])
    choices = PRESETS.chosen(preset, choose)
    encode = SentenceEncoder(load_settings(encoder=encoder).encoder).encode_documents
    options = BuildOptions(choices, encode, ties, own_family, limit, seed)
    items, figures = build_items(source, data, options)
    write_lines(out, items, called=f"--out {out}")
    return Report(figures, build_tables)

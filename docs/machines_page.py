"""The measured parts of docs/many-machines.md."""

from __future__ import annotations

from results_page import BENCHMARKS, table_head

from benchmarks.figures import read_result
from benchmarks.report import APART, section
from training.options import CANDIDATES, PLANS

BUSY = 0.5  # load average
MACHINE, GPU = 0.70, 4.0  # dollars an hour, for 16 cores and for an H200
TIMES_TWO = 8  # what 16 cores score, in those of two


def throughput() -> str:
    """Pairs a second by the number of workers, and on what they were measured."""
    result = read_result(BENCHMARKS / f"{APART}.json")
    lines, load = section(result, BENCHMARKS)[1:], result.machine.load_average
    if load > BUSY:
        lines.append(
            f"The load average before it was {load:g}: other programs ran on the same processors, so a quiet machine "
            "is faster, and how much more several workers score there is not known."
        )
    return "\n".join(lines)


def costs() -> str:
    """Machines, time and money for the scoring of a training, by the measured rates."""
    cores = read_result(BENCHMARKS / "scoring.json").figure("pairs_per_second").value
    gpu = read_result(BENCHMARKS / "gpu.json")
    small, large = (gpu.figure(name).value for name in ("smollm2", "flan_t5_xl"))
    train, *others = PLANS.values()
    each = train.targets * CANDIDATES
    more = sum(plan.targets * (plan.users or 0) for plan in others) * CANDIDATES
    counts = {users: each * users + more for users in (1_000, 1_000_000)}
    rows = (
        ("machines of 16 cores, SmolLM2", TIMES_TWO * cores, MACHINE, (1, 10)),
        ("H200, SmolLM2", small, GPU, (1, 2)),
        ("H200, FLAN-T5-XL", large, GPU, (1, 4)),
    )
    lines = [
        f"It scores {train.targets} texts of each user with {CANDIDATES} candidates: {each} pairs, and {more:,} more "
        f"to choose by and to measure with. Measured: {cores:.3g} pairs a second on two cores and {small:,.0f} on an "
        f"H200 with SmolLM2, {large:.0f} there with FLAN-T5-XL ([figures](performance.md)). Assumed: ${MACHINE:.2f} an "
        f"hour for a machine of 16 cores that scores {TIMES_TWO} times what two do, ${GPU:g} for an H200, and no loss "
        "from distributing; loading and failures come on top.\n",
        *table_head(["", *(f"{users:,} users ({pairs:,} pairs)" for users, pairs in counts.items())]),
    ]
    for name, rate, price, machines in rows:
        cells = [_cell(pairs / rate, number, price) for pairs, number in zip(counts.values(), machines, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(seconds: float, machines: int, price: float) -> str:
    """``seconds`` of one machine are shared by all."""
    each, dollars = seconds / machines, seconds / 3600 * price
    size, unit = next(pair for pair in ((3600, "hours"), (60, "minutes"), (1, "seconds")) if each >= 2 * pair[0])
    return f"{machines} for {each / size:.2g} {unit}, ${dollars:,.{2 if dollars < 10 else 0}f}"

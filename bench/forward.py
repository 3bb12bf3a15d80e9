"""The forward pass alone, timed in a process of its own, since torch's threads spin for a while.

``python forward.py ours|torch MODEL THREADS`` answers each line "TOKENS TIMES" on standard input
with a line of JSON: wall and processor seconds of so many passes, after one that does not count.
All patterns are kept until the pass is timed. With one thread the process stays on one core.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial


def ours(path: str, threads: int) -> Callable[[list[int]], object]:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as attn-tui does; its own threads follow the cores

    from core.checkpoints.model import open_model

    return partial(open_model(path).run, keep_patterns=True)


def torch(path: str, threads: int) -> Callable[[list[int]], object]:
    from pathlib import Path

    import torch
    from peer import load

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    _tokenizer, model = load(Path(path))
    return lambda ids: model(
        input_ids=torch.tensor([ids]),
        attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        output_attentions=True,
    )


def passes(run: Callable[[list[int]], object], count: int, times: int) -> Iterator[list[float]]:
    ids = random.Random(count).choices(range(1000, 20000), k=count)
    for index in range(times + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        result = run(ids)
        spent = [time.perf_counter() - wall, time.process_time() - cpu]
        del result
        if index:
            yield spent


def main(who: str, path: str, threads: str) -> None:
    if threads == "1":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    run = {"ours": ours, "torch": torch}[who](path, int(threads))
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(list(passes(run, *map(int, line.split())))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

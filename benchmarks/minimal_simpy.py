"""The yardstick: one job under full recovery as anyone would write it in SimPy, and no more."""

import numpy as np
import simpy


def replicate(
    seed: int,
    useful_s: float,
    interval_s: float,
    save_s: float,
    load_s: float,
    reschedule_s: float,
    failures: int,
) -> tuple[float, float, float, int]:
    """Wall clock, saving and lost seconds, and failures, of one replication."""
    rng = np.random.default_rng(seed)
    strikes = sorted(rng.uniform(0.0, useful_s, failures).tolist())
    env = simpy.Environment()
    spent = {"save": 0.0, "lost": 0.0, "failures": 0}

    def recover():
        strikes.pop(0)
        spent["failures"] += 1
        yield env.timeout(reschedule_s)
        yield env.timeout(load_s)
        while strikes and strikes[0] < env.now:
            strikes.pop(0)

    def job():
        progress = saved = 0.0
        while progress < useful_s:
            work = min(interval_s, useful_s - progress)
            next_strike = strikes[0] if strikes else float("inf")
            if env.now + work > next_strike:
                done = next_strike - env.now
                yield env.timeout(done)
                spent["lost"] += progress + done - saved
                progress = saved
                yield from recover()
                continue
            yield env.timeout(work)
            progress += work
            if progress >= useful_s:
                break
            next_strike = strikes[0] if strikes else float("inf")
            start = env.now
            if env.now + save_s > next_strike:
                yield env.timeout(next_strike - env.now)
                spent["save"] += env.now - start
                spent["lost"] += progress - saved
                progress = saved
                yield from recover()
                continue
            yield env.timeout(save_s)
            spent["save"] += env.now - start
            saved = progress

    env.run(until=env.process(job()))
    return env.now, spent["save"], spent["lost"], spent["failures"]

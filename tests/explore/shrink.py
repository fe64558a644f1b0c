"""Smaller cases that fail the same check: fewer statements, shorter expressions, simpler models."""

import re
import time
from contextlib import suppress
from dataclasses import replace

from fsmeu.errors import FsmeuError
from tests.explore.cases import NAMES
from tests.explore.trial import run_check

_TOKEN = re.compile(r'"[^"]*"|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\w+|\.\.|->|[<>=!]=|\S')


def shrunk(case, outcome, seconds=8.0):
    """The smallest case found, greedily, that fails like this one, with its outcome."""
    end = time.process_time() + seconds
    found, progress, seen = (case, outcome), True, set()
    while progress:
        progress = False
        for candidate in smaller(found[0]):
            models = (model.text() for model in candidate.models)
            known = (candidate.program.text, candidate.has_range, candidate.is_used, *models)
            if known in seen:
                continue
            if time.process_time() > end:
                return found
            seen.add(known)
            failed = _fails(candidate, found[1])
            if failed is not None:
                found, progress = (candidate, failed), True
                break
    return found


def _kind(outcome):
    """Why a file did not load, if so, and the name of an error that is no answer, if it is one."""
    call, got = outcome.fault.call, outcome.fault.got
    why = None
    if call.startswith("fsmeu.loads"):
        why = re.sub(r"'[^']*'|\d+", "", got.splitlines()[0])
    return why, got.split(":")[0] if "Error" in got else None


def _fails(case, outcome):
    """The outcome, if a case fails the same check in the same way; other draws are tried."""
    for draw in (outcome.draw, 1, 2, 3):
        try:
            again = run_check(case, outcome.check, draw)
        except Exception:
            return None
        failed = again.result == "failed"
        if failed and _kind(again) == _kind(outcome):
            return again
        if again.result == "unsure" or (failed and _kind(again)[0]):
            return None
        if again.result == "refused" and draw != outcome.draw:
            return None
    return None


def smaller(case):
    """Cases that are smaller by one step, the greatest steps first."""
    if case.has_range:
        yield replace(case, has_range=False)
    if case.is_used:
        yield replace(case, is_used=False)
    shorter = [model.shorter() for model in case.models]
    if all(model is not None for model in shorter):
        yield replace(case, models=tuple(shorter))
    for text in smaller_texts(case.program.text):
        used = {k: v for k, v in case.program.given.items() if re.search(rf"\b{k}\b", text)}
        yield replace(case, program=replace(case.program, text=text, given=used))
    for k, model in enumerate(case.models):
        for simple in model.simpler():
            yield replace(case, models=(*case.models[:k], simple, *case.models[k + 1 :]))


def smaller_texts(text):
    """Texts without a line, and with less in one; the labels stay."""
    lines = text.splitlines()
    for k in range(len(lines) - 1, 1, -1):
        yield "\n".join([*lines[:k], *lines[k + 1 :]]) + "\n"
    for k in (*range(len(lines) - 1, 1, -1), 0):
        for line in smaller_lines(lines[k]):
            yield "\n".join([*lines[:k], line, *lines[k + 1 :]]) + "\n"


def smaller_lines(line):
    """Lines with nothing, or a small number, in place of some tokens that close what they open."""
    spans = [token.span() for token in _TOKEN.finditer(line)]
    for size in range(len(spans) - 1, 0, -1):
        for (begin, _), (_, end) in zip(spans[1:], spans[size:], strict=False):
            part = line[begin:end]
            if part.count("(") != part.count(")") or part.count("[") != part.count("]"):
                continue
            for instead in ("", "1", "0"):
                if part not in ("0", "1", instead):
                    yield (line[:begin] + instead + line[end:]).rstrip()


def reproducer(case, outcome):
    """A Python text that shows the fault."""
    program, used = case.program, outcome.fault.call
    with suppress(FsmeuError):  # where it does not load, this is the fault
        program = case.declared
    options = [f"labels={list(program.labels)}"] if program.ask else []
    options += [f"{name}={value!r}" for name, value in program.given.items()]
    lines = ["import fsmeu", "from contextlib import suppress", "from math import inf, nan"]
    given = ", ".join([f'"""{program.text}"""', *options])
    lines.append(f"loss = fsmeu.loads({given})")
    if case.is_used and case.n:
        before = f"fsmeu.expect(loss, {case.shorter_z}, {case.models[0].shorter().text()})"
        lines.append(f"with suppress(fsmeu.FsmeuError): {before}")
    for name, model in zip(NAMES, case.models, strict=True):
        if re.search(rf"\b{name}\b", used):
            lines.append(f"{name} = {model.text()}")
    lines.append(f"{used}  # n = {case.n}")
    lines += [f"# came out: {outcome.fault.got}", f"# true:     {outcome.fault.true}"]
    return "\n".join(lines)

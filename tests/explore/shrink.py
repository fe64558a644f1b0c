"""Smaller cases that fail the same check: fewer statements, shorter expressions, simpler models."""

import re
import time
from dataclasses import replace

from tests.explore.cases import Case
from tests.explore.trial import run_check

_OPENS = re.compile(r"\(")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.\]])")
_GLUE = re.compile(r" (and|or|\+|-|\*|/|when|by) ")


def shrunk(case, outcome, seconds=8.0):
    """The smallest case found, greedily, that fails like this one, with its outcome."""
    end = time.process_time() + seconds
    found = (case, outcome)
    progress = True
    while progress and time.process_time() < end:
        progress = False
        for candidate in smaller(found[0]):
            failed = _fails(candidate, found[1])
            if failed is not None:
                found, progress = (candidate, failed), True
                break
            if time.process_time() > end:
                break
    return found


def _fails(case, outcome):
    """The outcome, if a case fails the same check in the same way; other draws are tried."""
    kind = outcome.fault.got.split(":")[0] if "Error" in outcome.fault.got else None
    for draw in (outcome.draw, 1, 2, 3):
        try:
            again = run_check(case, outcome.check, draw)
        except Exception:
            return None
        if again.result == "unsure":
            return None
        if again.result == "failed":
            loading = again.fault.call.startswith("fsmeu.loads")
            same_kind = kind is None or again.fault.got.startswith(kind)
            if same_kind and loading == outcome.fault.call.startswith("fsmeu.loads"):
                return again if kind or "Error" not in again.fault.got else None
        if again.result == "refused" and draw != outcome.draw:
            return None
    return None


def smaller(case):
    """Cases that are smaller by one step, the greatest steps first."""
    shorter = [model.shorter() for model in case.models]
    if all(model is not None for model in shorter):
        yield Case(case.program, tuple(shorter))
    for text in smaller_texts(case.program.text):
        yield Case(replace(case.program, text=text), case.models)
    for name in case.program.given:
        given = {k: v for k, v in case.program.given.items() if k != name}
        text = re.sub(
            rf"[,(] *{name}\b[^,)]*(?=[,)])", lambda m: m[0][0], case.program.text, count=1
        )
        text = text.replace("(,", "(").replace("()", "").replace(",)", ")")
        yield Case(replace(case.program, text=text, given=given), case.models)
    for k, model in enumerate(case.models):
        for simple in model.simpler():
            yield Case(case.program, (*case.models[:k], simple, *case.models[k + 1 :]))


def smaller_texts(text):
    """Texts with a line, a part of an expression, or a great number less."""
    lines = text.splitlines()
    for k in range(len(lines) - 1, 1, -1):
        yield "\n".join([*lines[:k], *lines[k + 1 :]]) + "\n"
    for k in range(len(lines) - 1, -1, -1):
        for line in smaller_lines(lines[k]):
            yield "\n".join([*lines[:k], line, *lines[k + 1 :]]) + "\n"


def smaller_lines(line):
    """Lines without a part: a bracket, one side of an operator, digits of a number."""
    if line.endswith('"'):
        yield line[: line.index('"')].rstrip()
        return
    for left, right in _brackets(line):
        for inside in ("1", "0"):
            if line[left : right + 1] != inside:
                yield line[:left] + inside + line[right + 1 :]
        yield line[:left] + line[left + 1 : right] + line[right + 1 :]
    for sign in _GLUE.finditer(line):
        begin, end = _reach(line, sign.start(), -1), _reach(line, sign.end(), 1)
        if sign[1] not in ("when", "by"):
            yield line[:begin] + line[sign.end() :]
        yield line[: sign.start()] + line[end:]
    choice = re.search(r"if (.*) then (.*) else (.*)", line)
    if choice:
        for part in choice.groups():
            yield line[: choice.start()] + part + line[choice.end() :]
    for number in _NUMBER.finditer(line):
        for simple in ("0", "1", "2"):
            if number[0] not in ("0", "1", "2", simple):
                yield line[: number.start()] + simple + line[number.end() :]


def _brackets(line):
    """Places of matching brackets, the outermost first."""
    stack, found = [], []
    for at, sign in enumerate(line):
        if sign == "(":
            stack.append(at)
        elif sign == ")" and stack:
            found.append((stack.pop(), at))
    return sorted(found, key=lambda pair: pair[0] - pair[1])


def _reach(line, at, direction):
    """Where the operand that begins (or ends) at a place ends (or begins)."""
    depth, place = 0, at - (direction < 0)
    opens, closes = ("(", ")") if direction > 0 else (")", "(")
    while 0 <= place < len(line):
        if line[place] == opens:
            depth += 1
        elif line[place] == closes:
            depth -= 1
            if depth < 0:
                break
        rest = line[place:] if direction > 0 else line[: place + 1]
        if not depth and (
            re.match(r" (and|or|then|else|when|\+|-) ", rest)
            if direction > 0
            else re.search(r"(^| (and|or|then|else|when|by|value|if|since) |value )$", rest)
        ):
            break
        place += direction
    return place if direction > 0 else place + 1


def reproducer(case, outcome):
    """A Python text that shows the fault."""
    program, names = case.program, ("model", "alike", "other")
    options = [f"labels={list(program.labels)}"] if program.ask else []
    options += [f"{name}={value!r}" for name, value in program.given.items()]
    lines = [
        "import fsmeu",
        "from contextlib import suppress",
        "from math import inf, nan",
        f'loss = fsmeu.loads("""{program.text}""",',
    ]
    lines[-1] = lines[-1][:-1] + "".join(f", {x}" for x in options) + ")"
    if case.n:
        before = f"fsmeu.expect(loss, {case.shorter_z}, {case.models[0].shorter().text()})"
        lines.append(f"with suppress(fsmeu.FsmeuError): {before}")
    used = outcome.fault.call
    for name, model in zip(names, case.models, strict=True):
        if re.search(rf"\b{name}\b", used):
            lines.append(f"{name} = {model.text()}")
    lines.append(f"{used}  # n = {case.n}")
    lines.append(f"# came out: {outcome.fault.got}")
    lines.append(f"# true:     {outcome.fault.true}")
    return "\n".join(lines)

"""Tables of cases written as text."""

import re


def by_message(table, prefixes):
    """[(message, text)]: a line that is not indented is a message, rows below it end with |.

    What a row begins with, up to a colon, stands for one of the prefixes.
    """
    cases = []
    for line in table.strip().split("\n"):
        if line[0] != " ":
            message = line
            continue
        for row in re.findall(r"(\S.*?) \|", line):
            head, _, rest = row.partition(": ")
            known = head in prefixes
            cases.append((message, prefixes[head] + rest if known else prefixes[""] + row))
    return cases

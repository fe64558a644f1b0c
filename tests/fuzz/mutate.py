"""Files that are nearly right: bytes, words, JSON, compressed streams and archives, changed."""

import gzip
import io
import json
import re
import zipfile
from copy import deepcopy

import numpy as np

_BYTES = [b"\x00", b"\xff", b"\n", b"\r", b",", b":", b"{", b"[", b'"', b"\xef\xbb\xbf"]
_NUMBERS = ["0", "-1", "1", "2", "0.5", "1e308", "-1e400", "nan", "inf", "1e-320", "4294967296"]
_NUMBERS += ["9223372036854775807", "123456789012345678901234567890", "9" * 5000]
_ANY, _WORDS = rb"(?s).", rb"[\w.+-]+|\s|[^\w\s]"
_VALUES = [None, True, False, 0, -1, 1, 3, 0.5, 1e308, 2**40, 10**30, "", "x", "-inf", "nan"]
_VALUES += [[], {}, [[]], [0, 1], [[0.5, 0.5]], {"a": 1}, {"array": "x"}, "\u202e\x1b[31m"]
_SMALL = [(), (0,), (1,), (2, 0), (2, 2), (1, 1, 1)]
_SHAPES = [*_SMALL, (10**12, 0), (2**40,), (-1,)]
_KINDS = ["<f8", "<f4", "|i1", "<i8", "<u2", "|b1", "<U3", "|S2", "<c16", "|O", ">f8", "<M8[s]"]


def mutated(name, content, others, draw):
    """The bytes of a file changed in a few places; the name says what is in it."""
    if draw.random() < 0.15:  # whatever is in it
        return _spliced(content, others, draw, _ANY)
    if name.endswith(".gz"):
        return gzip.compress(mutated(name[:-3], gzip.decompress(content), others, draw), 1)
    if name.endswith((".npz", ".skops")):
        return _archive(content, others, draw)
    if ".json" in name and draw.random() < 0.7:
        lines = content.decode().splitlines() if name.endswith("l") else [content.decode()]
        k = draw.randrange(len(lines))
        lines[k] = _json(lines[k], draw)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    return _spliced(content, others, draw, _ANY if draw.random() < 0.3 else _WORDS)


def _spliced(content, others, draw, pattern):
    """Parts of the content, as the pattern finds them, replaced, repeated, moved or left out."""
    parts = re.findall(pattern, content)
    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        at, begin = (draw.randint(0, len(parts)) for _ in range(2))
        size, other = draw.choice([1, 1, 1, 2, 8, 64]), draw.choice(others)
        numbers = [k for k, part in enumerate(parts) if part[:1].isdigit()]
        match draw.randrange(10):
            case 0:
                parts[at:at] = [draw.choice(_BYTES)] * draw.choice([1, 1, 3, 100])
            case 1:
                parts[at : at + size] = [draw.randbytes(size)]
            case 2:
                parts[at : at + size] = re.findall(pattern, other)[begin : begin + size]
            case 3:
                parts[at:at] = parts[begin : begin + size] * draw.choice([1, 10])
            case 4:
                del parts[at : at + size]
            case 5:
                del parts[at:]
            case _ if numbers:
                parts[draw.choice(numbers)] = draw.choice(_NUMBERS).encode()
    return b"".join(parts)


def _json(text, draw):
    """A part of what the text says replaced, left out, nested or put elsewhere."""
    data = json.loads(text)
    for _ in range(draw.choice([1, 1, 2, 3])):
        places = list(_places(data))
        if not places:
            break
        holder, key = draw.choice(places)
        kind, (other, its) = draw.randrange(6), draw.choice(places)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[key] = json.loads(json.dumps(other[its]))
        elif kind == 2 and isinstance(holder, dict):
            holder[draw.choice(["x", "coef_", "n", "labels", "loss"])] = holder.pop(key)
        elif kind == 3:
            holder[key] = [holder[key]] * draw.choice([1, 2, 50])
        else:
            holder[key] = deepcopy(draw.choice(_VALUES))  # what is put in may be changed next
    return json.dumps(data) if draw.random() < 0.95 else "[" * 3000 + json.dumps(data)


def _places(data):
    """(holder, key) of every part of JSON data."""
    keys = range(len(data)) if isinstance(data, list) else data
    for key in list(keys) if isinstance(data, dict | list) else ():
        yield data, key
        yield from _places(data[key])


def _archive(content, others, draw):
    """An archive one of whose members is changed or left out."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    head = "schema.json" in members and draw.random() < 0.6
    name = "schema.json" if head else draw.choice(list(members))
    kind, file = draw.randrange(8), io.BytesIO()
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = _spliced(members[name], others, draw, _ANY)
    elif name == "schema.json":
        members[name] = _json(members[name], draw).encode("utf-8", "surrogatepass")
    elif kind == 2:
        words = {"descr": draw.choice(_KINDS), "fortran_order": draw.random() < 0.5}
        np.lib.format.write_array_header_1_0(file, {**words, "shape": draw.choice(_SHAPES)})
        members[name] = file.getvalue() + bytes(draw.choice([0, 8, 64]))
    else:
        np.save(file, _array(np.load(io.BytesIO(members[name])), draw))
        members[name] = file.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice([0, 8, 8, 8, 8, 8, 8, 12])) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = comment
    return file.getvalue()


def _array(array, draw):
    """An array of another shape, type or content; of records, as the nodes of a tree, one part."""
    changed, kind = np.array(array), draw.randrange(4)
    if array.size and array.dtype.kind in "iufV" and kind < 2:
        part = changed[draw.choice(array.dtype.names)] if array.dtype.names else changed
        part.flat[draw.randrange(array.size)] = draw.choice([-1, 0, 1, 2, 5, 100, 2**30])
    elif kind == 2:
        changed = np.full(draw.choice(_SMALL), draw.choice([0, np.nan, 1e300]))
    elif array.dtype.kind in "iub":
        changed = array.astype(draw.choice(["<f4", "<U5", "|i1", "|S3", "|b1"]))
    else:
        changed = np.resize(array, draw.choice([(1,), (3,), (2, 3), (7, 1)]))
    return changed

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
_VALUES = [None, True, False, 0, -1, 1, 3, 0.5, 1e308, 2**40, 10**30, "", "x", "-inf", "nan"]
_VALUES += [[], {}, [[]], [0, 1], [[0.5, 0.5]], {"a": 1}, {"array": "x"}, "\u202e\x1b[31m"]
_SHAPES = [(), (0,), (1,), (2, 0), (10**12, 0), (2**40,), (2, 2), (1, 1, 1), (-1,)]
_KINDS = ["<f8", "<f4", "|i1", "<i8", "<u2", "|b1", "<U3", "|S2", "<c16", "|O", ">f8", "<M8[s]"]


def mutated(name, content, others, draw):
    """The bytes of a file changed in a few places; the name says what is in it."""
    if draw.random() < 0.15:  # whatever is in it
        return _any_bytes(content, others, draw)
    if name.endswith(".gz"):
        return gzip.compress(mutated(name[:-3], gzip.decompress(content), others, draw), 1)
    if name.endswith(".npz"):
        return _archive(content, others, draw)
    if ".json" in name and draw.random() < 0.7:
        lines = content.decode().splitlines() if name.endswith("l") else [content.decode()]
        k = draw.randrange(len(lines))
        lines[k] = _json(lines[k], draw)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    return (_any_bytes if draw.random() < 0.3 else _words)(content, others, draw)


def _any_bytes(content, others, draw):
    content = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at, size = draw.randint(0, len(content)), draw.choice([1, 1, 2, 8, 64])
        kind = draw.randrange(7)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            content[at:at] = draw.choice(_BYTES) * draw.choice([1, 1, 3, 100])
        elif kind == 2:
            del content[at : at + size]
        elif kind == 3:
            content[at : at + size] = draw.randbytes(size)
        elif kind == 4:
            content[at:at] = content[at : at + size] * draw.choice([1, 10])
        elif kind == 5:
            del content[at:]
        else:
            other = draw.choice(others)
            begin = draw.randint(0, len(other))
            content[at : at + size] = other[begin : begin + size]
    return bytes(content)


def _words(content, others, draw):
    """Words, numbers and signs replaced, doubled, exchanged or left out."""
    parts = re.findall(rb"[\w.+-]+|\s|[^\w\s]", content) or [b""]
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.randrange(len(parts))
        kind = draw.randrange(5)
        if kind == 0:
            parts[at] = draw.choice(_NUMBERS).encode()
        elif kind == 1:
            parts[at] = draw.choice(parts)
        elif kind == 2:
            parts[at] = b""
        elif kind == 3:
            begin = draw.randrange(len(parts))
            parts[at:at] = parts[begin : begin + draw.choice([1, 3, 10, 30])]
        else:
            numbers = [k for k, part in enumerate(parts) if part[:1].isdigit()] or [at]
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
    """An archive one of whose members is changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = "header.npy" in members and draw.random() < 0.6
    name = "header.npy" if head else draw.choice(list(members))
    array = np.load(io.BytesIO(members[name]))
    kind = draw.randrange(8)
    if name == "header.npy" and kind < 6:
        members[name] = _saved(np.array(_json(str(array), draw)))
    elif kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = _any_bytes(members[name], others, draw)
    elif kind == 2:
        file = io.BytesIO()
        words = {"descr": draw.choice(_KINDS), "fortran_order": draw.random() < 0.5}
        words["shape"] = draw.choice(_SHAPES)
        np.lib.format.write_array_header_1_0(file, words)
        members[name] = file.getvalue() + bytes(draw.choice([0, 8, 64]))
    elif kind == 3:
        shape = draw.choice(_SHAPES[:4] + _SHAPES[6:8])
        members[name] = _saved(np.full(shape, draw.choice([0, np.nan, 1e300])))
    elif kind == 4:
        members[name] = _saved(np.resize(array, draw.choice([(1,), (3,), (2, 3), (7, 1)])))
    elif kind == 5:
        with_strange = np.array(array)
        if with_strange.size and with_strange.dtype.kind in "iuf":
            with_strange.flat[draw.randrange(with_strange.size)] = draw.choice([0, 1, 100])
            with np.errstate(all="ignore"):
                with_strange = -with_strange if draw.random() < 0.3 else with_strange
        members[name] = _saved(with_strange)
    elif array.dtype.kind in "iub":
        members[name] = _saved(array.astype(draw.choice(["<f4", "<U5", "|i1", "|S3", "|b1"])))
    else:
        members[name] = _saved(np.atleast_1d(array).T[:1])
    return _zipped(members, draw.choice([0, 8, 8, 8, 8, 8, 8, 12]))


def _saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zipped(members, method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()

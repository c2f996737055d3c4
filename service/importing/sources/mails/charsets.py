"""Decoding bytes whose stated charset may be wrong: it is used only if the bytes fit it."""

from __future__ import annotations

import codecs
import re
import string
import unicodedata
from contextlib import suppress

import chardet

# codecs of Python that are no charsets, or that take more than linear time
NO_CHARSETS = {"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"}
UNKNOWN = {"", "us-ascii", "ascii", "unknown-8bit", "default"}
# what Windows' programs write under the name of a smaller charset, and browsers read (the WHATWG's encoding standard)
LARGER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "euc_jp": "euc_jis_2004",
    "tis-620": "cp874",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "big5": "big5hkscs",
}
PREFIX = re.compile(r"""(?:charset=|3d|x-|["'\s_])+""")
# forms of names that Python lacks
RENAMED = (
    (re.compile(r"(?:cs)?(?:windows-?31|sji).*"), "cp932"),
    (re.compile(r"cp5022\d"), "iso2022_jp"),
    (re.compile(r"mac-?ce.*"), "mac_latin2"),
    (re.compile(r"(?:windows|win|ms|cp|ibm|dos)[-_ ]?(?:cp)?-?(\d{3,4})(?!\d).*"), r"cp\1"),
    (re.compile(r"iso[-_ ]?8859[-_ ]?(\d\d?).*"), r"iso8859-\1"),
    (re.compile(r"(utf-?(?:8|16|32)|iso-2022-jp|big5|koi8-[ru]|euc-?(?:jp|kr)|ks_c_5601).*"), r"\1"),
)
WESTERN = ("cp1252", "cp1250", "iso8859-2", "cp1254")
EASTERN = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
OTHERS = ("cp1251", "koi8-r", "cp1253", "cp1255", "cp1256", "cp874")
PRIORS = {"windows-1252": 1.7, "windows-1250": 1.05}  # of several that fit a short text the commonest is taken
ENOUGH = 8  # bytes that are UTF-8 by more than chance, whatever the charset of another script is said to be
DASHES = b"\xe2\x80"  # so do dashes and curved quotes begin in UTF-8
ASCII = bytes(range(128))
BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
JIS = "iso2022_jp"
JIS_START = re.compile(rb"\x1b\$[@B]")
JIS_ESCAPE = re.compile(rb"\x1b(\([A-Z]|\$\(?[@BD])")


def decode_bytes(data: bytes, charset: str | None) -> str:
    """Decode bytes: as UTF-8 if they are valid UTF-8, else by the stated charset, else line by line by the likeliest
    charset. Bytes that fit none of them become U+FFFD."""
    escaped = b"\x1b" in data
    if not charset and not escaped and data.isascii():
        return data.decode()
    codec = JIS if escaped and JIS_START.search(data) else _codec(charset)
    if codec and codec.startswith(("utf-16", "utf-32")):
        if b"\0" in data or data.startswith(BOMS):
            return data.decode(codec, errors="replace")
        codec = None
    if data.isascii() and (codec is None or not (escaped or codec in ("utf-7", "hz"))):
        return data.decode()
    foreign = len(data.translate(None, ASCII))
    latin = codec is None or _is_latin(codec)
    with suppress(UnicodeDecodeError):
        if latin or foreign >= ENOUGH or DASHES in data:
            return data.decode()
    if latin and foreign >= ENOUGH and _is_foreign(data):
        codec = None  # a text in such a charset has more letters of ASCII than others
    with suppress(UnicodeError):
        if codec and not latin:
            return data.decode(codec)
    return _decode_lines(data, ("utf-8", codec) if latin else (codec, "utf-8"))


def _codec(charset: str | None) -> str | None:
    """Return Python's name for a charset; None if the charset is missing or meaningless."""
    name = charset.partition("*")[0].strip("\"'; ").lower() if charset else ""
    if name in UNKNOWN:
        return None
    bare = PREFIX.sub("", name, count=1) if PREFIX.match(name) else name
    for known in (name, bare, *(form.sub(right, bare) for form, right in RENAMED)):
        with suppress(LookupError, ValueError):
            b"a".decode(known, "ignore")  # some codecs are of no text
            codec = codecs.lookup(known).name
            return None if codec.replace("-", "_") in NO_CHARSETS else LARGER.get(codec, codec)
    return None


def _is_latin(codec: str) -> bool:
    with suppress(UnicodeError):
        return unicodedata.name(b"\xe9".decode(codec), "").startswith("LATIN")
    return False


def _is_foreign(data: bytes) -> bool:
    return len(data.translate(None, ASCII)) > len(data) - len(data.translate(None, string.ascii_letters.encode()))


def _decode_lines(data: bytes, known: tuple[str | None, ...]) -> str:
    """Decode each line by the first known charset that fits most of it; other lines by their likeliest charset."""
    read = [(line, _read(line, known)) for line in data.split(b"\n")]
    likeliest = _likeliest(b"\n".join(line for line, text in read if text is None))
    return "\n".join(line.decode(likeliest, errors="replace") if text is None else text for line, text in read)


def _read(line: bytes, known: tuple[str | None, ...]) -> str | None:
    """Decode a line by the first charset that fits, else by one that can read half of its characters outside ASCII;
    None if no charset can."""
    best = None
    for codec in known:
        if codec is None or (codec == JIS and not line.isascii()):
            continue
        text = _decode_jis(line) if codec == JIS else line.decode(codec, errors="replace")
        unread = text.count("\N{REPLACEMENT CHARACTER}")
        if not unread:
            return text
        if best is None and 2 * unread <= sum(sign > "\x7f" for sign in text):
            best = text
    return best


def _likeliest(data: bytes) -> str:
    charsets = EASTERN + WESTERN + (OTHERS if _is_foreign(data) else ())
    found = chardet.detect_all(data, ignore_threshold=True, include_encodings=charsets) if data else []
    names = [(each["confidence"] * PRIORS.get(name.lower(), 1), name) for each in found if (name := each["encoding"])]
    return max(names, default=(0, "cp1252"))[1]


def _decode_jis(data: bytes) -> str:
    """Decode ISO-2022-JP with NEC's and IBM's additional characters and half-width kana (CP50221), by way of
    Shift_JIS."""
    texts: list[str] = []
    pieces = JIS_ESCAPE.split(b"\x1b(B" + data)[1:]
    for escape, piece in zip(pieces[::2], pieces[1::2], strict=True):
        if escape == b"$(D":  # the supplement, which Shift_JIS lacks
            texts.append((b"\x1b$(D" + piece).decode("iso2022_jp_1", errors="replace"))
            continue
        if escape == b"(I":
            piece = bytes(byte | 0x80 for byte in piece)
        elif escape[:1] == b"$":
            piece = b"".join(_shifted(*piece[at : at + 2]) for at in range(0, len(piece) - 1, 2))
        texts.append(piece.decode("cp932", errors="replace"))
    return "".join(texts)


def _shifted(row: int, cell: int) -> bytes:
    """Convert a character's code from JIS X 0208 to Shift_JIS."""
    if not (0x20 < row < 0x7F and 0x20 < cell < 0x7F):
        return b"?"
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    return bytes((lead, cell + (0x7E if row % 2 == 0 else 0x1F + (cell > 0x5F))))

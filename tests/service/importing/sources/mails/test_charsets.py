from __future__ import annotations

import pytest

from service.importing.sources.mails.charsets import decode_bytes

FRENCH = "J'ai repeint la barque, et à l’été nous la mettrons à l’eau."
RUSSIAN = "Лодка покрашена, весной спустим её на воду."
JAPANESE = "ボートを塗りました。春に川へ出します。"


@pytest.mark.parametrize(
    ("text", "written", "named"),
    [
        ("It’s “tea” – €5", "cp1252", "iso-8859-1"),
        ("Şeker – €5", "cp1254", "iso-8859-9"),
        ("请给我茶。镕", "gbk", "gb2312"),
        ("①お茶", "cp932", "Shift_JIS"),
        ("똠방각하", "cp949", "ks_c_5601-1987"),
        ("Thé à 5 €", "utf-8", "iso-8859-1"),
        ("Thé", "iso-8859-1", "iso-8859-1"),
        ("תה", "iso-8859-8", "iso-8859-8-i"),
        ("①お茶", "cp932", "Windows-31J"),
        ("お茶", "shift_jis", "x-sjis"),
        ("请给我茶", "gbk", "x-gbk"),
        ("Thé", "mac_roman", "x-mac-roman"),
        ("Thé – €", "cp1252", "windows1252"),
        ("Thé", "cp850", "cp-850"),
        ("Łódź", "mac_latin2", "x-mac-ce"),
        ("Чай", "cp1251", "win-1251"),
        ("Thé", "utf-8", "utf8mb4"),
        ("Thé", "utf-8", '3D"utf-8"'),
        ("①", "cp932", "sjis-win"),
        ("①", "cp932", "csWindows31J"),
        ("①", "euc_jis_2004", "euc-jp"),
        ("Łódź", "iso8859-2", "iso8859_2"),
        ("谢谢", "gbk", "windows-936"),
        ("謝謝你", "big5", "big5-eten"),
        ("한글", "cp949", "x-windows-949"),
        ("Thé", "utf-7", "utf-7"),
        ("Thé", "utf-16", "utf-16"),
        ("รถ", "cp874", "tis-620"),  # these bytes are UTF-8 by chance
    ],
)
def test_a_charset_by_the_name_of_a_smaller_one_or_by_its_own(text, written, named):
    assert decode_bytes(text.encode(written), named) == text


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode-escape", "rot13", "x-hex", "x-unheard-of", "\0", ""])
def test_what_is_no_charset_is_read_as_utf_8(charset):
    assert decode_bytes("Thé?".encode(), charset) == "Thé?"


@pytest.mark.parametrize(
    ("text", "written", "named"),
    [
        (FRENCH, "cp1252", "utf-8"),
        (FRENCH, "cp1252", "us-ascii"),
        (FRENCH, "cp1252", "shift_jis"),
        (FRENCH, "utf-8", "windows-1252"),
        (FRENCH, "utf-8", "gb2312"),
        ("The boat — at last", "utf-8", "windows-1251"),
        ("The boat — at last", "utf-8", "shift_jis"),
        ("Łódka jest pomalowana, wiosną zwodujemy ją na rzece.", "cp1250", "utf-8"),
        ("Loďka je natřená, na jaře ji spustíme na řeku.", "iso8859-2", None),
        ("Kayık boyandı, baharda suya indireceğiz, görüşürüz.", "cp1254", "utf-8"),
        (RUSSIAN, "utf-8", "koi8-r"),
        (RUSSIAN, "koi8-r", "utf-8"),
        (RUSSIAN, "cp1251", "iso-8859-1"),
        ("Η βάρκα βάφτηκε, την άνοιξη θα πέσει στο νερό.", "cp1253", "utf-8"),
        ("הסירה נצבעה, באביב נוריד אותה למים.", "cp1255", "x-unheard-of"),
        (JAPANESE, "cp932", "iso-2022-jp"),
        (JAPANESE, "euc_jp", "iso-2022-jp"),
        (JAPANESE, "iso-2022-jp", "us-ascii"),
        (JAPANESE, "iso-2022-jp", "utf-8"),
        ("船刷好了漆，春天我们把它放到河里。", "gb18030", "utf-8"),
        ("배를 칠했어요, 봄에 강에 띄웁니다.", "cp949", "utf-8"),
        (FRENCH, "utf-8", "utf-16"),
    ],
)
def test_where_the_charset_named_does_not_fit_the_bytes_decide(text, written, named):
    assert decode_bytes(text.encode(written), named) == text


@pytest.mark.parametrize("named", ["utf-8", "iso-8859-1", None])
def test_lines_in_two_charsets(named):
    assert decode_bytes("Thé à cinq\n".encode() + "Café à six".encode("cp1252"), named) == "Thé à cinq\nCafé à six"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b$B-!$*Cc\x1b(B tea", "①お茶 tea"),  # NEC's row 13
        (b"\x1b$B|b\x1b(B", "髙"),  # IBM's, as NEC put them
        (b"\x1b(I12\x1b(J\\", "ｱｲ\\"),
        (b"\x1b$B-!\x1b$(D0!\x1b(B", "①丂"),
        (b"\x1b$B-!\ntea", "①\ntea"),  # without the way back
        (b"\x1b$B-!\x01\x02\x1b(B", "①?"),
    ],
)
def test_japanese_with_the_rows_of_vendors(data, text):
    assert decode_bytes(data, "iso-2022-jp") == text


def test_a_text_with_a_damaged_sign_keeps_its_charset():
    cut = "Thé à cinq".encode() + b"\xc3 ok"
    assert decode_bytes(cut, "utf-8") == "Thé à cinq\N{REPLACEMENT CHARACTER} ok"


@pytest.mark.parametrize("piece", ["\xe9\x80 a", "\x1b$B-!", "\xff\n"])
def test_a_strange_text_takes_no_more_than_its_length(grows_linearly, piece):
    grows_linearly(lambda text: decode_bytes(text.encode("latin-1"), "utf-8"), piece, 30_000)

from __future__ import annotations

import zipfile

import pytest

from tests.laid import laid, packed

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
DOCX = f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:document {W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading1"/><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr>
<w:r><w:t>On tea</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">Dear </w:t></w:r>
<w:r><w:rPr><w:b/></w:rPr><w:t>Nan</w:t><w:br/><w:t>and Bob,</w:t></w:r></w:p>
<w:p><w:del w:id="1"><w:r><w:delText>not </w:delText></w:r></w:del><w:ins><w:r><w:t>The *cups* came.</w:t></w:r></w:ins>
<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>milk</w:t></w:r></w:p>
<w:p><w:pPr><w:pStyle w:val="Quote"/></w:pPr><w:r><w:t>Somebody else's.</w:t></w:r></w:p>
<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p><w:p/>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Ann</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:sectPr/></w:body></w:document>"""
CORE = f"""<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" {DC}>
<dc:title>Tea letter</dc:title><dc:creator>Ann Lee</dc:creator><dcterms:created>2024-03-01T09:00:00Z</dcterms:created>
</cp:coreProperties>"""
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" {DC}>
<office:body><office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
<text:h text:outline-level="1">On tea</text:h>
<text:p>Dear<text:s text:c="2"/><text:span>Nan</text:span>,<text:line-break/>hello<office:annotation>
<dc:creator>Bob</dc:creator><text:p>Why?</text:p></office:annotation></text:p>
<text:list><text:list-item><text:p>milk</text:p></text:list-item></text:list>
<text:p text:style-name="Quotations">Somebody else's.</text:p>
<text:p>Ann<text:note><text:note-body><text:p>A note</text:p></text:note-body></text:note></text:p>
</office:text></office:body></office:document-content>"""
META = f"""<office:document-meta xmlns:office="{ODF}:office:1.0" xmlns:meta="{ODF}:meta:1.0" {DC}><office:meta>
<meta:initial-creator>Ann Lee</meta:initial-creator>
<meta:creation-date>2024-03-01T09:00:00.123456789</meta:creation-date><dc:creator>Bob</dc:creator>
</office:meta></office:document-meta>"""


def document(path, **members):
    named = {name.replace("__", "/").replace("_", "."): content for name, content in members.items()}
    return packed(path, named, zipfile.ZIP_DEFLATED)


def test_a_document_of_word(read, tmp_path):
    path = document(tmp_path / "letter.docx", word__document_xml=DOCX, docProps__core_xml=CORE)
    reading = read("markdown", path, "Ann Lee", voice="letters")
    assert [(item.text, item.request) for item in reading.documents] == [
        ("# On tea\n\nDear Nan\nand Bob,\n\nThe *cups* came.\n\n- milk\n\nAnn", "Tea letter")
    ]
    assert (reading.documents[0].id, reading.documents[0].timestamp) == ("letter.docx", 1_709_283_600)
    assert read("markdown", path, "Bob").reasons == ["not written by --me"]


@pytest.mark.parametrize("main", ["/word/document2.xml", "word/main.xml", None])
def test_a_document_of_word_on_the_web_and_a_hyphen_that_does_not_break(read, tmp_path, main):
    relations = f'<Relationships><Relationship Id="r" Type="http://x/officeDocument" Target="{main}"/></Relationships>'
    text = "<w:r><w:t>long</w:t><w:noBreakHyphen/><w:t>haul, e\u2011mail, so\u00adfter</w:t><w:softHyphen/></w:r>"
    letter = f"<w:document {W}><w:p>{text}</w:p></w:document>"
    files = {"_rels/.rels": relations if main else "<Relationships/>"}
    files[(main or "word/document.xml").lstrip("/")] = letter
    assert read("markdown", packed(tmp_path / "letter.docx", files)).texts == ["long-haul, e-mail, softer"]


def test_a_document_of_libreoffice(read, tmp_path):
    reading = read("markdown", document(tmp_path / "letter.odt", content_xml=ODT, meta_xml=META))
    assert [(item.text, item.request) for item in reading.documents] == [
        ("Dear  Nan,\nhello\n\n- milk\n\nAnn", "On tea")
    ]
    assert int(reading.documents[0].timestamp) == 1_709_283_600
    assert len(read("markdown", tmp_path / "letter.odt", "Ann Lee").texts) == 1


BLANKS = "<blanks/>"  # stands for 200 MB of them until the test runs
LAUGHS = '<!DOCTYPE a [<!ENTITY a "tea"><!ENTITY b "&a;&a;&a;">]><w>&b;</w>'


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"word__document_xml": LAUGHS}, "has a document type"),
        ({"word__document_xml": "<w:document"}, "cannot be read: unclosed token"),
        ({"word__document_xml": f"<w:document {W}>{BLANKS}</w:document>"}, "times its packed size"),
        ({"word__document_xml": "<a>" * 1_000}, "elements in each other"),
        ({"docProps__core_xml": "<" + "a" * 1_000_000}, "a tag that does not end"),
        ({"xl__workbook_xml": "<w/>"}, "is no document"),
        (None, "cannot be read"),
    ],
)
def test_documents_that_cannot_be_read_cost_only_themselves(read, tmp_path, members, says):
    (tmp_path / "tea.md").write_text("Tea.")
    if members is None:
        (tmp_path / "a.docx").write_bytes(b"\xd0\xcf\x11\xe0")
    else:
        members = {name: text.replace(BLANKS, " " * 200_000_000) for name, text in members.items()}
        document(tmp_path / "a.docx", **members)
    reading = read("markdown", tmp_path)
    assert reading.texts == ["Tea."]
    assert [says in error.error for error in reading.errors] == [True]


def test_paragraphs_without_a_text_count_too(read, tmp_path, monkeypatch):
    monkeypatch.setattr("service.importing.sources.notes.office.MOST_CHARACTERS", 1_000)
    document(tmp_path / "a.docx", word__document_xml=f"<w:document {W}>{'<w:p/>' * 60}<w:p><w:r><w:t>x")
    assert "more than 1,000 characters" in read("markdown", tmp_path / "a.docx").errors[0].error


def test_folders_as_voices(read, tmp_path):
    files = dict.fromkeys(("Tea.md", "blog/Cups.md", "blog/2024/Pots.md", "diary/Milk.md"), "Words.")
    laid(tmp_path, {**files, "diary/Own.md": "---\nvoice: letters\n---\nWords."})
    reading = read("markdown", tmp_path, voice="notes", folders_as_voices=True)
    assert {item.id: item.voice for item in reading.documents} == {
        "Tea.md": "notes",
        "blog/Cups.md": "blog",
        "blog/2024/Pots.md": "blog",
        "diary/Milk.md": "diary",
        "diary/Own.md": "letters",
    }
    assert {item.voice for item in read("markdown", tmp_path).documents} == {None, "letters"}

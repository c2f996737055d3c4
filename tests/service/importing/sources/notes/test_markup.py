from __future__ import annotations

import pytest

from service.importing.sources.notes.blocks import divide, own_blocks, plain, without_code
from service.importing.sources.notes.markup import clean_markup


def cleaned(text: str, **options: bool) -> str:
    return "\n\n".join(divide(own_blocks(clean_markup(without_code(text), **options))))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # pictures in the text itself, as Typora and Google Docs write them
        (f"Tea ![cup](data:image/png;base64,{'iVBORw0K' * 400}) now.", "Tea  now."),
        (f"Tea.\n\n![][image1]\n\nMilk.\n\n[image1]: <data:image/png;base64,{'iVBORw0K' * 400}>", "Tea.\n\nMilk."),
        (f'Tea <img src="data:image/png;base64,{"iVBORw0K" * 400}"> now.', "Tea  now."),
        # Hugo
        ('Tea.\n\n{{< figure src="cup.png" >}}\n\nMilk.', "Tea.\n\nMilk."),
        ("{{% note %}}\nMind the *heat*.\n{{% /note %}}", "Mind the *heat*."),
        ("Tea {{< icon cup >}} now.", "Tea  now."),
        ("Tea.\n{{< highlight go >}}\nboil()\n{{< /highlight >}}\nMilk.", "Tea.\n\nMilk."),
        ("Tea.\n\n{{< quote Bob >}}Bob's words.{{< /quote >}}", "Tea."),
        # Liquid
        ("Tea.\n{% highlight ruby %}\nboil\n{% endhighlight %}\nMilk.", "Tea.\n\nMilk."),
        ("{% raw %}Tea.{% endraw %} {% include cup.html %}", "Tea."),
        ("See [the pot]({% post_url 2024-03-01-pot %}).", "See the pot."),
        (
            "Write `{% raw %}` first.\n\nThen `{{ page.title }}`.",
            "Write `{% raw %}` first.\n\nThen `{{ page.title }}`.",
        ),
        ("```\n{% highlight %}\n```\nTea.\n```\n{% endhighlight %}\n```", "Tea."),
        ("An open {% highlight %} stays harmless.", "An open  stays harmless."),
        ("Braces {{ without an end.", "Braces {{ without an end."),
        ("Tea.\n{: .lead}\n\n## Pots {#pots}\n\nMilk.", "Tea.\n\n## Pots\n\nMilk."),
        # Obsidian
        ("I like [[Green tea]] and [[Black tea|the black]].", "I like Green tea and the black."),
        ("See [[notes/Pots#Lids]] and [[#Lids]].", "See Pots and Lids."),
        ("Tea.\n\n![[cup.png|200]]\n\n![[Green tea#^a1b2]]", "Tea."),
        ("Tea is fine. ^a1b2c3\n\n^d4e5", "Tea is fine."),
        ("Tea %%not for you%% and ==milk==.\n\n%%\nnor this\n%%", "Tea  and milk."),
        ("> [!note]- Mind\n> The pot is hot.\n> > quoted\n\n> Bob's words.", "Mind\nThe pot is hot."),
        ("> [!quote] Bob\n> His words.\n\nMine.", "Mine."),
        ("#tea #milk\n\nTea.", "Tea."),
        # Logseq, Dataview
        ("- tags:: tea\n- Tea is fine.\n  id:: 65f0\n  collapsed:: true", "- Tea is fine."),
        ("- Tea ((65f0c0de-0000-4000-8000-000000000000)) {{embed ((x))}}", "- Tea"),
        ("- Tea.\n  :LOGBOOK:\n  CLOCK: [2024]\n  :END:\n- Milk.", "- Tea.\n- Milk."),
        ("- Tea.\n- #+BEGIN_QUOTE\n  Bob's words.\n  #+END_QUOTE\n- > Bob's, too.\n- Milk.", "- Tea.\n- Milk."),
        ("- Tea.\n  logseq.order-list-type:: number\n- #+BEGIN_QUERY\n  {:title x}\n  #+END_QUERY", "- Tea."),
        ("- [x] Buy tea 📅 2024-03-01 ✅ 2024-03-02\n- 2024-03-01 ✅", "- [x] Buy tea\n- 2024-03-01 ✅"),
        # Templater, EJS, PHP, Jinja's comments, Handlebars
        (
            "Tea. <% tp.date.now() %>\n\n<%* const a = 1;\ntR += a; -%>\n\n5 % longer, < 3 m.",
            "Tea.\n\n5 % longer, < 3 m.",
        ),
        ("Tea <%= name %> <?= $name ?>and{# not\nthis #} milk {{{raw}}}.", "Tea  and milk ."),
        ("Write `<% tp.date %>`. 5 %> 4", "Write `<% tp.date %>`. 5 %> 4"),
        # Docusaurus, Material for MkDocs
        (":::note Mind\n\nThe pot is hot.\n\n:::", "The pot is hot."),
        ('!!! note "Mind"\n\n    The pot is hot.\n\n    Very.\n\nMilk.', "Mind\n\nThe pot is hot.\n\nVery.\n\nMilk."),
        ("Tea{ .annotate } with [milk](milk.md){ .button }.", "Tea with [milk](milk.md)."),
        # links and pictures by reference
        (
            "I like [green\ntea] and [milk][m].\n\n![cup]\n\n[green tea]: g.md\n[m]: m.md\n[cup]: c.png",
            "I like green\ntea and milk.",
        ),
        ("A [box] stays.", "A [box] stays."),
        ("[![cup](c.png)](big.png)\n\nTea.", "Tea."),
        ("Tea[^1] now.\n\n[^1]: Or later.", "Tea now.\n\nOr later."),
        # HTML
        ("Tea <b>now</b> <https://example.org> <br/>1 < 2", "Tea now <https://example.org> 1 < 2"),
        ("<!-- more -->\nTea. <!-- not\nthis -->", "Tea."),
        ("<div>\n<blockquote>Bob's.</blockquote>\nMine.\n</div>", "Mine."),
    ],
)
def test_what_engines_and_programs_put_into_markdown_goes(text, kept):
    assert cleaned(text) == kept


def test_mdx():
    text = "import Cup from '../cup'\nexport const meta = {\n  a: 1\n}\n\n# Tea\n\n<Cup size={2} />\n\n"
    text += "import tea from China.\n{/* not this */}"
    assert cleaned(text, mdx=True) == "# Tea\n\nimport tea from China."


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("Milk & *tea*", "Milk & tea"),
        ("**Tea** with `snake_case_name` and _milk_", "Tea with snake_case_name and milk"),
        ("[Tea](tea.md) <em>now</em>", "Tea now"),
    ],
)
def test_plain(words, shown):
    assert plain(words) == shown


@pytest.mark.parametrize("size", range(60, 120, 2))
def test_a_long_text_is_parsed_in_parts_and_comes_out_the_same(monkeypatch, size):
    """Wherever the parts end: in a list, a paragraph or a code block."""
    text = "# Tea\n\nI like\nit.\n\n- Green\n- Black\n\n    or white\n\n    - hot\n\n"
    text += "~~~\nboil()\n\nwait()\n~~~\n\n> Bob's.\n\nMilk, too.\n\n"
    whole, noted = cleaned(text * 5), list[str]()
    monkeypatch.setattr("service.importing.sources.notes.blocks.PARSED_CHARACTERS", size)
    assert cleaned(text * 5) == whole
    assert without_code(text * 5, noted.append).count("boil") == 0
    assert noted == []


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text(monkeypatch):
    longest = 0

    def parse(self, text):
        nonlocal longest
        longest = max(longest, len(text))
        return []

    monkeypatch.setattr("markdown_it.MarkdownIt.parse", parse)
    for text in ("- a\n", "- ```\n", "```\n", "~~~\n\n~~~~\n"):
        own_blocks(text * 200_000)
        without_code(text * 200_000)
    assert longest < 1_100_000

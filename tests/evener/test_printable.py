import json

from evener.cli.printable import printable, printable_json

SLY = "a\x1b[2Jb\x9b0c\u202ed\x07 ä 漢\te\n"


def test_a_terminal_obeys_nothing_that_is_printed() -> None:
    assert printable(SLY) == "a\\x1b[2Jb\\x9b0c\\u202ed\\x07 ä 漢\te\n"
    assert printable("x\ty\nz⟦", lines=False, besides="⟦") == "x\\x09y\\x0az\\u27e6"
    assert printable("\r\x7f\u2028\U000e0041") == "\\x0d\\x7f\\u2028\\U000e0041"
    assert printable("a\tb\n€ ×…") == "a\tb\n€ ×…"


def test_json_means_the_same_and_holds_no_sign_that_is_obeyed() -> None:
    document = {"said": SLY + "\U000e0041", "list": [1, "⟦ä⟧"]}
    text = printable_json(json.dumps(document, ensure_ascii=False, indent=1))
    assert json.loads(text) == document
    assert not set("\x1b\x9b\u202e\x07\U000e0041") & set(text)
    assert "ä" in text

from evener.report.table import Table, piped


def test_what_a_model_or_a_person_named_makes_no_column_tag_or_link() -> None:
    text = piped(Table("", ("patch", "n"), [("a|b\n<b>[x](y)", 1)]))
    assert text.splitlines()[-1] == r"| a\|b \<b>\[x](y) | 1 |"

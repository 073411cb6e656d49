"""Numbers with units, dates and encodings as Japanese, Swiss and Brazilian files have them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from rkhs._core.dates import day_numbers
from rkhs._core.errors import InputError
from rkhs.data import read_mixed
from rkhs.data.text import FewWords, Mendable, measurements, number_in, ungrouped, with_unit


def of_file(folder: Path, cells: list[str], **options: str) -> list[object]:
    """The cells of a column next to other numbers, as a table of texts and numbers is read."""
    path = folder / "a.csv"
    path.write_text("\n".join(["a;b", *(f"{cell};{i * i % 7}.5" for i, cell in enumerate(cells))]), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_mixed(path, delimiter=";", kinds=None, columns=["a", "b"], **options).X[:, 0].tolist()


@pytest.mark.parametrize(
    ("cell", "number", "unit", "mark"),
    [
        ("R$ 4.781,05", 4781.05, "R$", "."),
        ("-US$ 22,331.26", -22331.26, "US$", ","),
        ("BRL 4.781,05", 4781.05, "BRL", "."),
        ("Fr. 22'331.26", 22331.26, "Fr.", "'"),
        ("zł 31,50", 31.5, "zł", "."),
        ("zł 31", 31.0, "zł", None),
        ("kr 500", 500.0, "kr", None),
        ("22.331,26 ₺", 22331.26, "₺", "."),
        ("kr 500,-", 500.0, "kr", "."),
        ("CHF 1’205’000.–", 1205000.0, "CHF", "’"),
        ("1.205,-- €", 1205.0, "€", "."),
        ("29.41㎡", 29.41, "㎡", ","),
        ("29.41 m²", 29.41, "m²", ","),
        ("徒歩11分", 11.0, "分 徒歩", None),
        ("₹ 1,62,000", 162000.0, "₹", ","),
    ],
)
def test_units_before_and_behind(cell: str, number: float, unit: str, mark: str | None) -> None:
    """A short text or sign is a unit on either side of a number."""
    decimal = "," if mark == "." else "."
    assert with_unit([cell, cell, None], decimal, mark)[1] == unit  # type: ignore[index]
    assert with_unit([cell], decimal, mark)[0] == [number]  # type: ignore[index]


@pytest.mark.parametrize(
    "cell", ["Sample 3", "A31", "A31B", "Obj. 0001", "TK70001", "rs7412", "krill 5", "2005年3月", "ABC 012", "1/2 kg"]
)
def test_names_and_codes_are_no_numbers(cell: str) -> None:
    """A word before a whole number, a code and a month stay texts."""
    assert with_unit([cell, cell]) is None


def test_an_amount_without_cents() -> None:
    """A dash for the cents ends a number, with marks between its thousands or without."""
    assert [number_in(text) for text in ("5.-", "5.–", "5,--", "-", "5-")] == [5.0, 5.0, 5.0, None, None]
    assert number_in("5,-", ",") == 5.0
    assert number_in(str(ungrouped("1’205’000.–", "’"))) == 1205000.0


@pytest.mark.parametrize("unit", ["kg", "円", "階", "F"])
def test_whole_numbers_with_an_attached_unit(tmp_path: Path, unit: str) -> None:
    """They are numbers where all have the unit; two codes, or codes of several units, are categories."""
    assert of_file(tmp_path, [f"{i}{unit}" for i in range(1, 40)]) == [float(i) for i in range(1, 40)]
    codes = [f"{2 + 2 * (i % 2)}WD" for i in range(30)]
    assert of_file(tmp_path, codes) == codes
    codes = [f"{i % 9}{'ab'[i % 2]}" for i in range(30)]
    assert of_file(tmp_path, codes) == codes


def test_numbers_lost_as_gaps_are_named(tmp_path: Path) -> None:
    """A few cells that hold digits in another way are no gaps in silence."""
    cells = [f"{100 + 7 * i}kg" for i in range(40)] + ["1t 200kg", "on request"]
    with pytest.raises(FewWords, match="1 of these hold digits, such as '1t 200kg', which gaps lose: write them as"):
        of_file(tmp_path, cells)
    found = measurements([*cells[:40], "on request"], ".", None)
    assert found is not None
    assert "lose" not in found.described("a")


def test_marks_between_thousands_are_advised_where_they_stand(tmp_path: Path) -> None:
    """A typographic apostrophe is found as any other mark."""
    with pytest.raises(FewWords, match="thousands='’'"):
        of_file(tmp_path, [f"CHF {i}’205’000.–" for i in range(1, 40)])


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp932", "物件番号,所在地,価格\nTK70001,足立区,徒歩11分\n"),
        ("cp932", "価格,面積\n800,22\n"),
        ("euc-jp", "所在地,駅からの徒歩\n足立区,11分\n"),
        ("gb18030", "编号,地址,面积\n1,北京市朝阳区,三百万元\n"),
        ("big5", "編號,地址,面積\n1,臺北市大安區,三百萬元\n"),
        ("euc-kr", "번호,주소,면적\n1,서울특별시 강남구,12\n"),
        ("cp1251", "Номер;Адрес;Площадь\n1;Москва, улица Ленина;54\n"),
        ("cp1252", "Größe;T °C;Fläche m²\n3;4;Zürich\n"),
        ("cp1252", "Ort;Preço\nÄRGER;«a»\n"),
        ("cp1252", "Rauminhalt m³\n3\n"),
        ("cp1250", "Miasto;Ile\nŁódź;3\nWrocław, część;4\n"),
        ("cp1250", "Část;Kůň\nPříbram;4\nŽďár;3\n"),
        ("cp1254", "İlan Başlığı;Yakıt Türü\nŞanlıurfa;3\n"),
        ("cp1257", "Miestas;Kaina\nŠiauliai;3\nKlaipėda, ąžuolų;4\n"),
        ("cp1253", "Πόλη;Τιμή\nΘεσσαλονίκη;3\n"),
    ],
)
@pytest.mark.parametrize("asked", ["utf-8", "ascii"])
def test_an_encoding_that_gives_plausible_text(tmp_path: Path, encoding: str, text: str, asked: str) -> None:
    """The advice decodes the whole file to letters that stand in such texts."""
    path = tmp_path / "a.csv"
    path.write_text(text, encoding)
    with pytest.raises(Mendable) as caught:
        read_mixed(path, encoding=asked)
    assert caught.value.options == {"encoding": encoding}


def test_no_encoding_gives_control_characters(tmp_path: Path) -> None:
    """Where latin-1 does, none is named."""
    path = tmp_path / "a.csv"
    path.write_bytes("Größe;".encode("latin-1") + b"\x8d\x9d\x9ea\n1;2\n")
    with pytest.raises(InputError, match="pass the encoding of the program that wrote it") as caught:
        read_mixed(path)
    assert not isinstance(caught.value, Mendable)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2005年3月", "2005-03-01"),
        ("2005年3月14日", "2005-03-14"),
        ("2005年11月14日 06:30", "2005-11-14 06:30"),
        ("28.07.24", "2024-07-28"),
        ("0130 UTC", "01:30"),
    ],
)
def test_dates_of_these_files(text: str, day: str) -> None:
    """They are days as others are."""
    assert day_numbers([text]) == day_numbers([day])


@pytest.mark.parametrize("texts", [["24.07.08", "24.07.09", "24.08.30"], ["3.9.13", "3.10.12"], ["1330", "0130"]])
def test_what_is_no_date(texts: list[str]) -> None:
    """A year in front, a version and a number stay what they are."""
    assert day_numbers(texts) is None
    assert day_numbers(["08.07.24", "28.07.24", "22.02.24"]) is not None


def test_a_number_of_a_list_before_words_is_no_number_with_a_unit(tmp_path: Path) -> None:
    """As in a column of one region, which R numbers among others; ``.tab`` files are tables as ``.txt`` ones are."""
    path = tmp_path / "wages.tab"
    path.write_text("region\twage\n" + "".join(f"2. Middle Atlantic\t{i}\n" for i in range(30)))
    assert read_mixed(path).X[0].tolist() == ["2. Middle Atlantic", 0.0]

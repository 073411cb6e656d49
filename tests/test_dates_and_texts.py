"""Dates and long texts become numbers before our estimators: by skrub, or by steps of scikit-learn that do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rkhs import KernelAutoencoder
from rkhs._core.dates import are_dates, day_numbers

N = 60


@pytest.fixture
def table() -> pandas.DataFrame:
    """Orders: a day, a text and a price."""
    rng = np.random.default_rng(0)
    topics = ["cracks and splinters in the window, its glass", "warped oak boards, rough and full of knots, of wood"]
    said = [f"order {i}: {what}" for i, what in enumerate(rng.choice(topics, N))]
    days = pandas.date_range("2024-01-01", periods=N, freq="D").astype(str)
    return pandas.DataFrame({"bought": days, "note": said, "price": rng.normal(size=N)})


def days(frame: Any) -> np.ndarray:
    """Days since the first of 2024."""
    times = frame.apply(pandas.to_datetime)
    return np.asarray((times - pandas.Timestamp("2024-01-01")) / pandas.Timedelta(days=1))


def by_scikit_learn() -> Any:
    texts = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0))
    return make_column_transformer((FunctionTransformer(days), ["bought"]), (texts, "note"), remainder="passthrough")


def by_skrub() -> Any:
    return pytest.importorskip(
        "skrub", reason="skrub is not installed; scikit-learn's steps are tested"
    ).TableVectorizer()


@pytest.mark.parametrize("vectorizer", [by_scikit_learn, by_skrub])
def test_codes_know_dates_and_texts(table: pandas.DataFrame, vectorizer: Any) -> None:
    model = make_pipeline(vectorizer(), KernelAutoencoder(5, columns="scaled")).fit(table[:40])
    codes = np.asarray(model.transform(table))
    assert codes.shape == (N, 5)
    assert np.isfinite(codes).all()
    glass = table.note.str.endswith("glass").to_numpy(dtype=float)
    for known in (np.arange(N), glass):  # the day, and what the text says
        assert LinearRegression().fit(codes, known).score(codes, known) > 0.3  # 0.08 by chance


def test_clocks_of_twelve_hours() -> None:
    texts = ["01/13/2023 12:00 AM", "01/13/2023 3:15 pm", "01/14/2023 12:30PM"]
    assert are_dates(texts)
    days = np.array(day_numbers(texts))
    assert np.allclose(24.0 * (days - days[0]), [0.0, 15.25, 36.5])
    assert not are_dates(["01/13/2023 13:15 PM"])


def test_a_text_of_two_lines_is_no_date() -> None:
    assert not are_dates(["CTO\nplate 3", "2024-01-31"])
    assert not are_dates(["2024-01-31\nplate 3"])

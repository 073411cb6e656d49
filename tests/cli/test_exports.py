"""Files as offices and instruments export them: other encodings, line breaks in cells, several units, titles."""

from __future__ import annotations

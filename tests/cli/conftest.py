"""Commands fit short: what they read, print and write does not depend on the number of models that are compared."""

from tests.few_candidates import few_candidates as few_candidates

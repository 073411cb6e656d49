"""One generated fuzz over everything that is public: hostile data and parameters, and what must hold for each call.

Run: python -m studies.reliability.fuzz --calls 100000 --seed 1
"""

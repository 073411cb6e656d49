"""What measures the library: tables and figures of papers, benchmarks, networks beside us; no part of the wheel."""

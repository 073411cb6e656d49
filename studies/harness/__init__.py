"""What all studies share: data by ``RKHS_DATA``, timing in turns, cells of long runs, and figures."""

from rkhs.kernels import *


def as_kernel(k):
    if isinstance(k, str):
        return {"gaussian": Gaussian(), "linear": Linear()}[k]
    return k

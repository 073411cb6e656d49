"""The dual of an operator-valued machine as the paper writes it: the n^4 tensor, one slow solver, plain loops."""

import numpy as np


def tensor(kernel, X, Y):
    """``M[i, j, k, l] = <y_k, K(x_i, x_j) y_l>`` for a kernel that returns a matrix for each pair of inputs."""
    n = len(X)
    M = np.empty((n, n, n, n))
    for i in range(n):
        for j in range(n):
            M[i, j] = Y @ kernel(X[i], X[j]) @ Y.T
    return M


def row_conjugate_prox(loss, a, step):
    """Prox of ``step f*`` at one vector, from ``(c, epsilon, cap)``."""
    c, epsilon, cap = loss.dual_parameters
    norm = np.linalg.norm(a)
    length = min(max(norm - step * epsilon, 0.0) / (1 + step * c), cap)
    return a * (length / norm) if norm > 0 else a


def solve(kernel, X, Y, loss, reg, n_iter=20000):
    """Proximal gradient on ``alpha`` of shape (n, p), one row at a time; returns ``alpha``."""
    n, p = Y.shape
    blocks = [[kernel(X[i], X[j]) for j in range(n)] for i in range(n)]
    big = np.block(blocks) / (reg * n)
    step = 1.0 / np.linalg.eigvalsh(big)[-1]
    alpha = np.zeros((n, p))
    for _ in range(n_iter):
        gradient = (big @ alpha.ravel()).reshape(n, p) - Y
        moved = alpha - step * gradient
        new = np.array([row_conjugate_prox(loss, moved[i], step) for i in range(n)])
        if np.abs(new - alpha).max() < 1e-14:
            break
        alpha = new
    return alpha


def dual_value(M, omega, Y, loss, reg):
    """Theorem 4: ``sum_i L_i(omega_i, K^Y) + 1/(2 reg n) sum_ijkl M_ijkl omega_ik omega_jl``."""
    n = len(Y)
    c, epsilon, _ = loss.dual_parameters
    K_Y = Y @ Y.T
    total = 0.0
    for i in range(n):
        square = omega[i] @ K_Y @ omega[i]
        total += 0.5 * c * square + epsilon * np.sqrt(max(square, 0.0)) - omega[i] @ K_Y[i]
    for i in range(n):
        for j in range(n):
            total += (omega[i] @ M[i, j] @ omega[j]) / (2 * reg * n)
    return total


def predict(kernel, X, alpha, reg, X_new):
    n = len(X)
    return np.array([sum(kernel(x, X[i]) @ alpha[i] for i in range(n)) for x in X_new]) / (reg * n)

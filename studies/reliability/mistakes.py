"""Small mistakes, of the kind that people make, over all folders of the library.

Each replaces a text that stands exactly once in its file; ``tests`` are the quick tests around it. Who changes such a
line changes its entry here: ``test_mutations`` says which.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """What is done wrong, in which file below ``src/rkhs``, and which files below ``tests`` look there."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_KERNELS = ("contracts/test_kernels.py", "contracts/test_kernel_gradients.py")

MISTAKES = (
    # ---------------------------------------------------------------- _core
    Mistake(
        "a sign: the total mean is taken off twice",
        "_core/linalg.py",
        ".sub_(means[None, :]).add_(total)",
        ".sub_(means[None, :]).sub_(total)",
        ("core/test_linalg.py", "contracts/test_grams.py"),
    ),
    Mistake(
        "a tolerance too lax: indefinite Gram matrices pass",
        "_core/eigen.py",
        "if smallest >= -1e-8 * largest:",
        "if smallest >= -1e-2 * largest:",
        ("core/test_linalg.py", "estimators/test_gram_transformer.py"),
    ),
    Mistake(
        "a missing copy: what is kept shares memory with the caller",
        "_core/ownership.py",
        'copied = array.copy(order="K")',
        "copied = array",
        ("contracts/test_ownership.py",),
    ),
    Mistake(
        "a private file becomes readable for all when it is written again",
        "_core/files.py",
        "                _keep_access(temporary, old)",
        "                os.chmod(temporary, 0o644)",
        ("core/test_files.py", "core/test_safe_writing.py"),
    ),
    Mistake(
        "a check switched off: names twice in the header of a model file",
        "_core/model_container.py",
        "if len(table) != len(pairs):",
        "if len(table) > len(pairs):",
        ("core/test_containers.py",),
    ),
    Mistake(
        "a dropped factor: a fit may ask for all memory",
        "_core/memory.py",
        "if estimate.n_bytes > SHARE * there:",
        "if estimate.n_bytes > there:",
        ("estimators/test_storage.py",),
    ),
    # ---------------------------------------------------------------- kernels
    Mistake(
        "a wrong factor in the slope of the Matern kernel",
        "kernels/vectors/radial.py",
        "return a.add_(1.0).mul_(E), E.mul_(-1.5 * g2)",
        "return a.add_(1.0).mul_(E), E.mul_(-3.0 * g2)",
        _KERNELS,
    ),
    Mistake(
        "a transpose left out when tiles are mirrored",
        "kernels/vectors/distances.py",
        "self.matrix[far, near] = values.mT",
        "self.matrix[far, near] = values.reshape(values.mT.shape)",
        ("kernels/vectors/test_blocked_pullbacks.py", *_KERNELS),
    ),
    Mistake(
        "substrings run over the end of a text into the next",
        "kernels/objects/strings.py",
        "inside = self.text_of_symbol[:count] == self.text_of_symbol[width - 1 :]",
        "inside = self.text_of_symbol[:count] == self.text_of_symbol[:count]",
        ("kernels/objects/test_sequences.py",),
    ),
    Mistake(
        "a dropped term: alignments without the diagonal step",
        "kernels/objects/warping.py",
        "add_((up - top).exp_()).add_((corner - top).exp_())",
        "add_((up - top).exp_())",
        ("kernels/objects/test_series.py",),
    ),
    Mistake(
        "the product rule leaves out the factors before",
        "kernels/combined/sums_and_products.py",
        "others = [value for i, value in enumerate(values) if i != index]",
        "others = [value for i, value in enumerate(values) if i > index]",
        ("contracts/test_kernel_gradients.py",),
    ),
    Mistake(
        "an off-by-one: the lower of two middle values is the weighted median",
        "kernels/vectors/distances.py",
        "upper = int(torch.searchsorted(cumulative, half + slack))",
        "upper = int(torch.searchsorted(cumulative, half - slack))",
        ("kernels/vectors/test_medians.py",),
    ),
    Mistake(
        "two empty sets are unlike",
        "kernels/vectors/discrete.py",
        "K[(s == 0.0).nonzero(), (t == 0.0).nonzero()[:, 0]] = 1.0",
        "K[(s == 0.0).nonzero(), (t == 0.0).nonzero()[:, 0]] = 0.0",
        ("kernels/objects/test_molecules.py", *_KERNELS),
    ),
    Mistake(
        "an off-by-one: the last round of relabelling is left out",
        "kernels/objects/graphs.py",
        "for depth in range(1, self.n_iter + 1):",
        "for depth in range(1, self.n_iter):",
        ("kernels/objects/test_graphs.py",),
    ),
    # ---------------------------------------------------------------- losses and constraints
    Mistake(
        "a dropped 1/2: the linear part of a loss does not meet its square",
        "losses/epsilon_and_huber.py",
        "linear = cap * t - 0.5 * c * cap * cap",
        "linear = cap * t - c * cap * cap",
        ("contracts/test_losses.py",),
    ),
    Mistake(
        "a swapped operation: the slope of a convolution is the larger one",
        "losses/radial.py",
        "return min(first.largest_slope, second.largest_slope)",
        "return max(first.largest_slope, second.largest_slope)",
        ("contracts/test_losses.py",),
    ),
    Mistake(
        "a forgotten divisor in the derivative of a projection",
        "constraints.py",
        "return (G - (G * H).sum(1, keepdim=True) * H) / norms",
        "return G - (G * H).sum(1, keepdim=True) * H",
        ("contracts/test_constraints.py",),
    ),
    Mistake(
        "a matrix not made symmetric: directions leave the tangent space",
        "constraints.py",
        "return torch.addmm(G, H, A + A.mT, alpha=-0.5)",
        "return torch.addmm(G, H, A + A, alpha=-0.5)",
        ("contracts/test_constraints_stiefel.py",),
    ),
    # ---------------------------------------------------------------- features and grams
    Mistake(
        "a transposed triangle: features are not what was whitened",
        "spaces/features/nystroem.py",
        "return self._solve(V, transposed=True)",
        "return self._solve(V, transposed=False)",
        ("spaces/features/test_features.py",),
    ),
    Mistake(
        "a dropped n in the leverage scores",
        "spaces/features/sampling.py",
        "- (half * half).sum(0)) / (n * reg)",
        "- (half * half).sum(0)) / reg",
        ("spaces/features/test_features.py",),
    ),
    Mistake(
        "bandwidths of codes from the wrong items in a matrix of the same storage",
        "spaces/grams.py",
        "return Dense(kernel._gram(items))",
        "return Dense(kernel._gram(items[:1].expand_as(items)))",
        ("contracts/test_grams.py",),
    ),
    Mistake(
        "a count of threads that is not put back: the products of torch keep two threads",
        "_core/threads.py",
        "                torch.set_num_threads(before.torch)",
        "                pass",
        ("engines/test_block_sums.py",),
    ),
    Mistake(
        "a dropped weight: the mean after the product is the plain one",
        "spaces/grams.py",
        "U = U - mean @ U",
        "U = U - U.mean(0)",
        ("contracts/test_grams.py", "engines/test_blocked.py"),
    ),
    # ---------------------------------------------------------------- solvers
    Mistake(
        "a tolerance too lax: the solver stops early",
        "solvers/base.py",
        "if measure <= self.tol * size:",
        "if measure <= 1e4 * self.tol * size:",
        ("solvers/test_lbfgs.py",),
    ),
    Mistake(
        "a forgotten power in the correction of the bias",
        "solvers/adam.py",
        "scale = (second / (1.0 - BETA2**iteration))",
        "scale = (second / (1.0 - BETA2))",
        ("solvers/test_first_order.py",),
    ),
    Mistake(
        "a check switched off: any solver takes a constrained problem",
        "solvers/base.py",
        "if constraint is not None and not self.keeps(constraint):",
        "if constraint is None and not self.keeps(constraint):",
        ("contracts/test_solvers.py", "solvers/test_lbfgs.py", "solvers/test_stiefel_solvers.py"),
    ),
    Mistake(
        "a sign: the leave-one-out weight of a row grows",
        "solvers/direct.py",
        "tau = tau * (1.0 - 1.0 / problem.total)",
        "tau = tau * (1.0 + 1.0 / problem.total)",
        ("estimators/test_functional_regressor.py", "problems/test_dual.py", "solvers/test_gap_solvers.py"),
    ),
    Mistake(
        "a forgotten 2: the penalty has another gradient than value",
        "solvers/penalty.py",
        "grad.addmm_(point, defect, alpha=2.0 * self.mu)",
        "grad.addmm_(point, defect, alpha=self.mu)",
        ("solvers/test_stiefel_solvers.py",),
    ),
    # ---------------------------------------------------------------- problems
    Mistake(
        "a dropped 1/2 in the penalty of a hidden layer",
        "problems/encoders.py",
        "encoder_penalty += 0.5 * reg * float((Phi * part[: self.anchors]).sum())",
        "encoder_penalty += reg * float((Phi * part[: self.anchors]).sum())",
        ("problems/test_autoencoder.py",),
    ),
    Mistake(
        "a dropped weight in the last layer",
        "problems/decoder.py",
        "K.diagonal().add_(n * reg if weights is None else reg / weights)",
        "K.diagonal().add_(n * reg)",
        ("problems/test_autoencoder.py",),
    ),
    Mistake(
        "a dropped inner derivative: the scale of the codes",
        "problems/drkm.py",
        "below.pullback(T).mul_(-0.5 / eta * self.scale)",
        "below.pullback(T).mul_(-0.5 / eta)",
        ("problems/test_drkm.py",),
    ),
    Mistake(
        "a dropped 1/2 in the dual objective",
        "problems/dual.py",
        "return losses.sum(0) / self.total + 0.5 * self.regs * norms",
        "return losses.sum(0) / self.total + self.regs * norms",
        ("problems/test_dual.py",),
    ),
    Mistake(
        "an item counts itself among the others of its group",
        "problems/pairs.py",
        "return (sums[self.groups] - A).div_((counts[self.groups] - 1)",
        "return (sums[self.groups] - A).div_((counts[self.groups])",
        ("problems/test_contrastive.py", "estimators/test_contrastive_storage.py"),
    ),
    # ---------------------------------------------------------------- spaces, models
    Mistake(
        "the diagonal is counted twice when a triangle is mirrored",
        "spaces/sums.py",
        "return upper + np.triu(upper, 1).T",
        "return upper + np.triu(upper).T",
        ("spaces/test_sums.py",),
    ),
    Mistake(
        "a dropped n in the eigenvalues",
        "models/components.py",
        "return self.variances * self.n",
        "return self.variances",
        ("estimators/test_kernel_pca.py",),
    ),
    Mistake(
        "a distance without what lies outside the components",
        "models/components.py",
        "(scores * scores).sum(1)[None, :] + outside[None, :]",
        "(scores * scores).sum(1)[None, :]",
        ("estimators/test_kernel_pca.py", "estimators/test_preimages.py"),
    ),
    # ---------------------------------------------------------------- estimators
    Mistake(
        "of several starts under a constraint the worst is kept",
        "estimators/autoencoder/stages.py",
        "if best is None or found.value < best.value - self.settings.tol * abs(best.value):",
        "if best is None or found.value > best.value - self.settings.tol * abs(best.value):",
        ("estimators/test_constrained_autoencoder.py",),
    ),
    Mistake(
        "the second look at the edge of the data is switched off",
        "selection/trimmed.py",
        "if settled and not looked and done < rounds:",
        "if settled and looked and done < rounds:",
        ("estimators/test_robust_fit.py",),
    ),
    Mistake(
        "a sign: the farthest candidate is predicted",
        "estimators/io_regressor.py",
        "return -self._of_distances(X, candidates, diag, self._finite)",
        "return self._of_distances(X, candidates, diag, self._finite)",
        ("estimators/test_io_regressor.py",),
    ),
    Mistake(
        "a sign in the codes of a left-out item",
        "models/autoencoder_left_out.py",
        "codes = Z - a * power[:, None]",
        "codes = Z + a * power[:, None]",
        ("estimators/test_diagnostics.py",),
    ),
    Mistake(
        "codes that a user gives are turned the wrong way",
        "models/layers.py",
        "torch.linalg.solve(tensor_like(self.code_map, Z), Z, left=False)",
        "Z @ tensor_like(self.code_map, Z)",
        ("estimators/test_code_metric.py",),
    ),
    Mistake(
        "a dropped weight: held-out rows of weight zero count",
        "estimators/regression/grid.py",
        "left = weights[b] / weights[b].sum()",
        "left = torch.ones_like(weights[b]) / torch.ones_like(weights[b]).sum()",
        ("estimators/test_operator_regressor.py", "contracts/test_scikit_learn_checks.py"),
    ),
    # ---------------------------------------------------------------- outputs, metrics, selection
    Mistake(
        "a forgotten share: weights of a pre-image no longer add up to one",
        "outputs/rkhs.py",
        "return full + (1.0 - full.sum(1, keepdim=True)) * tensor_like(self.mean, U)",
        "return full + tensor_like(self.mean, U)",
        ("estimators/test_io_regressor.py", "contracts/test_estimators.py"),
    ),
    Mistake(
        "an integral without its weights",
        "outputs/functional.py",
        "tensor_like(self.functions * self.weights, Y).mT",
        "tensor_like(self.functions, Y).mT",
        ("estimators/test_functional_regressor.py",),
    ),
    Mistake(
        "> for >=: a tie ranks before the truth",
        "metrics/ranking.py",
        "ranks[i] = np.count_nonzero(values >= values[true] - rounding_width(values))",
        "ranks[i] = np.count_nonzero(values > values[true] + rounding_width(values)) + 1",
        ("metrics/test_ranking.py",),
    ),
    Mistake(
        "a gap that is not divided by the entropy",
        "metrics/disentanglement.py",
        "return float((_gap(information) / entropy).mean())",
        "return float(_gap(information).mean())",
        ("metrics/test_disentanglement.py",),
    ),
    Mistake(
        "an off-by-one: the last end of a path is never open",
        "selection/path.py",
        "0 < place < len(known) - 1:",
        "0 < place < len(known):",
        ("selection/test_selection.py",),
    ),
    # ---------------------------------------------------------------- engines and persistence
    Mistake(
        "rows of a part of a file from the start of the file",
        "engines/rows.py",
        "return np.array(table[self._first + start : self._first + stop])",
        "return np.array(table[start:stop])",
        ("engines/test_block_sums.py", "engines/test_blocked.py", "estimators/test_streamed.py"),
    ),
    Mistake(
        "a limit switched off: a small file may take any memory",
        "persistence.py",
        "return _build(container, limit - container.n_bytes)",
        "return _build(container, 2**62)",
        ("test_hostile_files.py", "test_persistence.py"),
    ),
    # ---------------------------------------------------------------- data and command line
    Mistake(
        "row names from the wrong column",
        "data/frames.py",
        'return frame.set_index(frame.columns[locate(column, names_of(frame), frame.shape[1], "index_column")])',
        "return frame.set_index(frame.columns[0])",
        ("data/test_readers.py", "data/test_frames.py"),
    ),
    Mistake(
        "row names of molecules that were left out",
        "data/molecule_files.py",
        "None if names is None else tuple(names[i] for i in kept),",
        "None if names is None else tuple(names[: len(kept)]),",
        ("data/test_formats.py",),
    ),
    Mistake(
        "a check switched off: any file may be replaced by a model",
        "cli/outputs.py",
        'return not start or b"rkhs-model " in start',
        "return True",
        ("cli/test_outputs.py",),
    ),
    Mistake(
        "an option that is read and not used",
        "cli/build.py",
        'given["random_state"] = args.seed',
        'given["random_state"] = 0',
        ("cli/test_commands.py", "cli/test_expressions.py"),
    ),
    Mistake(
        "columns by position where the model knows their names",
        "cli/inputs.py",
        "return frame[[frame.columns[found.index(name)] for name in names]]",
        "return frame.iloc[:, : len(names)]",
        ("cli/test_commands.py", "cli/test_kinds.py"),
    ),
    # ---------------------------------------------------------------- evaluation, plots, augment, testing
    Mistake(
        "learners see all labels where few are asked for",
        "evaluation/comparison.py",
        "if most < len(train):",
        "if most < 0:",
        ("evaluation/test_comparison.py",),
    ),
    Mistake(
        "a training part scaled by all rows",
        "evaluation/comparison.py",
        "scaler = StandardScaler().fit(items[train])",
        "scaler = StandardScaler().fit(items)",
        ("evaluation/test_comparison.py",),
    ),
    Mistake(
        "a text of the data that ends the script of a page",
        "reports/page_data.py",
        'return text.replace("<", ',
        'return text.replace("no such text", ',
        ("reports/test_reports.py",),
    ),
    Mistake(
        "a missing copy: an augmentation of the user writes into the data",
        "augment.py",
        "view = as_augmentation(augment)(private_copy(X), rng)",
        "view = as_augmentation(augment)(X, rng)",
        ("augment/test_augment.py", "estimators/test_kernel_contrastive.py"),
    ),
    # ---------------------------------------------------------------- many rows
    Mistake(
        "a loss that lies above the squared loss that should be above it",
        "losses/epsilon_and_huber.py",
        "cap / t.clamp_min(c * cap)",
        "cap / t.clamp_min(2.0 * c * cap)",
        ("contracts/test_losses.py", "problems/test_encoders.py"),
    ),
    Mistake(
        "a derivative without the penalty of codes on a sphere",
        "problems/encoders.py",
        "G.add_(factor.coefficients(least), alpha=self.reg)",
        "G",
        ("problems/test_encoders.py",),
    ),
    Mistake(
        "an off-by-one: the first rows stay too long in a random sample",
        "estimators/kernel_autoencoder.py",
        "* numbers).astype(np.int64)",
        "* (numbers + 20)).astype(np.int64)",
        ("estimators/test_partial_autoencoder.py",),
    ),
    # ---------------------------------------------------------------- sets, copies and defaults
    Mistake(
        "the new row takes no part in the scales of its p-value",
        "estimators/joint_items.py",
        "ColumnScaling.of(among.numpy())",
        "ColumnScaling.of(among.numpy()[:-1])",
        ("estimators/test_kernel_novelty.py",),
    ),
    Mistake(
        "a set holds an output only if every setting does",
        "models/conformal.py",
        "(np.stack(inside) & _least(np.stack(errors))).any(0)",
        "np.stack(inside).all(0)",
        ("estimators/test_prediction_sets.py", "estimators/test_io_regressor.py"),
    ),
    Mistake(
        "copies are found without their targets",
        "_core/copies.py",
        "same[some] &= ",
        "same[some] |= ",
        ("estimators/test_copies.py",),
    ),
    Mistake(
        "few rows are put on landmarks",
        "estimators/autoencoder/defaults.py",
        '_row("storage", "size: few", "dense")',
        '_row("storage", "size: some", "dense")',
        ("estimators/test_automatic_storage.py",),
    ),
    Mistake(
        "labels stand at items that lie close together",
        "plots/codes.py",
        "int(distances.argmax())",
        "int(distances.argmin())",
        ("plots/test_maps.py", "plots/test_displays.py"),
    ),
)

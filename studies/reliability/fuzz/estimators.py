"""Every public estimator with every storage: one fit, and many calls that must agree with each other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rkhs
from rkhs.estimators.fitted import Fitted
from rkhs.kernels import Gaussian
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Answer, Case, numbers
from studies.reliability.fuzz.containers import FRAMES, SINGLE, choose, held, refused
from studies.reliability.fuzz.items import hostile_item, in_containers, raw_items
from studies.reliability.fuzz.schemas import (
    BASE,
    VECTOR_KERNELS,
    good_parameters,
    hostile_parameters,
    hostile_value,
)
from studies.reliability.fuzz.sparse_rows import sparse_rows
from tests.contracts.estimator_examples import estimators
from tests.contracts.kernel_examples import EXAMPLES, has_function

DATA = (
    r"\b(X|y|Y|codes|sample_weight|Sample weights|candidates|targets|diag|Gram matrix|array|data|items?|rows?|values|"
    r"features|kernel|curves|times|reads|samples?|labels)\b|[A-Z]\w+\.\w+"
)
# Rows of the answer belong to rows of the argument: order and batches must not matter.
BY_ROW = ("transform", "predict", "reconstruction_error", "predict_weights", "scores", "denoise")
BY_CODE = ("inverse_transform", "decode", "preimages")
# Documented: settings that were not compared, folds that were singular, layers without a ridge.
MAY_HOLD_NAN = {
    "candidate_errors_",
    "errors_",
    "reg_",  # infinite for hidden layers that stay the identity
    "leave_one_out_error_",
    "ridge_",
    "cv_errors_",
    "history_",
    "estimator_",
}
OBJECT_KERNELS = [k for made in EXAMPLES.values() for k in made if k.domain == "objects" and not has_function(k)]


@dataclass
class Plan:
    """Data of one form, and how they are cut."""

    form: str  # "vectors", "gram" or "objects"
    X: Any
    new: Any
    named: dict[str, Any] = field(default_factory=dict)  # y, sample_weight, targets
    tame: bool = True

    def take(self, rows: Any, which: str = "new") -> Any:
        data = getattr(self, which)
        return [data[i] for i in rows] if isinstance(data, list) else data[rows]


def walk(case: Case, kind: type) -> None:
    """One model of a class: its fit, and everything that a fitted one can do."""
    if case.chance(0.2):
        _hostile_parameter(case, kind)
        return
    params = good_parameters(case, kind)
    plan = _plan(case, kind, params)
    model = kind(**params)
    if case.told:
        print(f"{model!r} on {plan.form}, {len(plan.X)} rows")
    first = case.call("fit", model.fit, plan.X, may_name=_names(kind), **plan.named)
    if not first.answered:
        if first.refused:
            _refused_alike(case, kind, params, plan)
        return
    _finite_attributes(case, model, {"support_items_"} if plan.form == "objects" else set())  # tables may have holes
    answers = _probe(case, model, plan)
    _codes_of_training_rows(case, model, plan)
    _own_data(case, kind, params, plan, answers)
    _saved(case, model, plan, answers)
    _other_containers(case, kind, params, plan, answers)
    if case.chance(0.3):
        _hostile_arguments(case, model, plan)
    if plan.form == "vectors" and case.chance(0.4):
        sparse_rows(case, kind, params, plan.X, plan.new, plan.named)
    if hasattr(model, "plan") and case.chance(0.1):
        planned = case.call("plan", model.plan, plan.X, **plan.named)
        case.expect(planned.answered, "what was fitted has no plan")


def _names(kind: type) -> str:
    words = [p for p in inspect.signature(kind.__init__).parameters if p != "self"]
    return DATA + r"|\b(" + "|".join(words) + r")\b|[A-Z]\w+\.\w+"


# ---------------------------------------------------------------- data


def _plan(case: Case, kind: type, params: dict[str, Any]) -> Plan:
    form = "vectors"
    parameters = inspect.signature(kind.__init__).parameters
    curves = kind.__name__ == "FunctionalKernelRegressor"
    if "kernel" in parameters and "kernel" not in params:
        draw = case.rng.random()
        given = None
        if draw < 0.15 and "storage" not in params and not curves:
            form, given = "gram", "precomputed"
        elif draw < 0.35 and not curves:
            form, given = "objects", case.one_of(OBJECT_KERNELS)
        elif draw < 0.75 and not curves:
            given = case.one_of(VECTOR_KERNELS)
        if given is not None:
            params["kernel"] = given
    tame = case.chance(0.6)
    n, d = values.size(case)
    if curves:
        d = max(d, 3)
    m = int(case.rng.integers(1, 6))
    make = values.tame if tame else values.wild
    X, new = make(case, n, d), make(case, m, d)
    if not tame and len(X) and np.isfinite(X).all() and case.chance(0.8):
        new = X[case.rng.integers(0, n, m)] + 1e-3 * np.ptp(X, axis=0) * values.tame(case, m, d)
    plan = Plan(form, X, np.ascontiguousarray(new), tame=tame)
    if form == "gram":
        scale = 1.0 if tame else 10.0 ** case.one_of([-100, -8, 0, 0, 8, 100])
        base = Gaussian(0.2)
        plan.X, plan.new = base(values.tame(case, n, d)) * scale, None
        plan.new = np.ascontiguousarray(plan.X[: max(1, n // 2)])
        if case.chance(0.25):
            _spoil_gram(case, plan)
    elif form == "objects":
        n = int(case.rng.integers(2, 8))
        everything = raw_items(case, params["kernel"], n + m)
        plan.X, plan.new = everything[:n], everything[n:]
    _add_named(case, kind, plan, params)
    return plan


def _spoil_gram(case: Case, plan: Plan) -> None:
    """An indefinite matrix, one that is not symmetric, one of the wrong sign."""
    n = len(plan.X)
    plan.tame = False
    change = case.one_of(["shift", "bend", "sign"])
    if change == "shift":
        plan.X = plan.X - 0.5 * np.diag(plan.X).mean() * np.eye(n)
    elif change == "bend":
        plan.X = plan.X + 1e-3 * np.abs(plan.X).max() * case.rng.standard_normal((n, n))
    else:
        plan.X = -plan.X


def _add_named(case: Case, kind: type, plan: Plan, params: dict[str, Any]) -> None:
    fit = inspect.signature(kind.fit).parameters
    n = len(plan.X)
    if "y" in fit and (fit["y"].default is inspect.Parameter.empty or params.get("pairs") == "class"):
        like = plan.X if plan.form == "vectors" else np.zeros((n, 1))
        plan.named["y"] = values.targets(case, n, like)
        if kind.__name__ == "FunctionalKernelRegressor":
            plan.named["y"] = values.tame(case, n, 4)
        if kind.__name__ == "SmoothClassifier":
            plan.named["y"] = (np.arange(n) % 2).astype(float)
        if kind.__name__ == "InputOutputKernelRegressor" and case.chance(0.3):
            plan.named["y"] = (plan.named["y"] > 0).astype(float)
    if "sample_weight" in fit and case.chance(0.3):
        plan.named["sample_weight"] = values.weights(case, n)
    if "targets" in fit and plan.form == "vectors" and case.chance(0.15) and params.get("output_kernel") is None:
        plan.named["targets"] = values.tame(case, n, int(case.rng.integers(1, 4)))


# ---------------------------------------------------------------- what must hold of a fitted model


def _finite_attributes(case: Case, model: Any, besides: Set[str] = frozenset()) -> None:
    held = {name for kind in type(model).__mro__ for name, value in vars(kind).items() if isinstance(value, Fitted)}
    for name in sorted({*vars(model), *held} - {"model_"}):
        value = getattr(model, name, None)
        ours = name.endswith("_") and not name.startswith("_") and name not in MAY_HOLD_NAN | besides
        if ours and not all(np.isfinite(part).all() for part in numbers(value)):
            case.fail("silent NaN", f"{name} holds NaN or infinity")


def _probe(case: Case, model: Any, plan: Plan) -> dict[str, Answer]:
    """Call what the model can do on new data in the plain form, then in other orders, batches and containers."""
    answers: dict[str, Answer] = {}
    for name in BY_ROW:
        if hasattr(model, name):
            answers[name] = case.call(name, getattr(model, name), plan.new, may_name=DATA)
            if answers[name].answered:
                _row_by_row(case, model, name, plan, plan.new, answers[name].value)
    codes = answers.get("transform")
    if codes is not None and codes.answered and hasattr(model, "inverse_transform"):
        for name in BY_CODE:
            if hasattr(model, name):
                answers[name] = case.call(name, getattr(model, name), codes.value, may_name=DATA + "|output")
                if answers[name].answered and name != "preimages":
                    _row_by_row(case, model, name, plan, np.asarray(codes.value), answers[name].value)
    if hasattr(model, "score"):
        y = plan.named.get("y")
        extra = [] if y is None else [np.resize(y, (len(plan.new), *np.shape(y)[1:]))]
        if y is None or len(plan.new) > 1:
            case.call("score", model.score, plan.new, *extra, may_name=DATA)
    if hasattr(model, "rank"):
        case.call("rank", model.rank, plan.new, may_name=DATA)
    if hasattr(model, "traverse"):
        case.call("traverse", model.traverse, may_name=DATA)
    if hasattr(model, "get_feature_names_out"):
        case.call("get_feature_names_out", model.get_feature_names_out)
    if type(model).__name__ in ("KernelAutoencoder", "KernelPCA", "DeepRKM", "KernelContrastive"):
        case.call("diagnose", rkhs.diagnose, model, may_name=DATA, finite=True)
        case.call("diagnose(new)", rkhs.diagnose, model, plan.new, may_name=DATA, finite=True)
    case.call("repr", repr, model)
    return answers


def _row_by_row(case: Case, model: Any, name: str, plan: Plan, rows: Any, whole: Any) -> None:
    """Order, batches and containers of the rows do not matter."""
    method = getattr(model, name)
    loose = _tolerance(case, model, name, rows, whole, plan)
    m = len(rows)
    if loose is None:
        return
    codes = getattr(model, "codes_", None)  # codes of items that carry nothing are rounding of those of the others
    noise = 1e-13 * values.typical(np.asarray(codes, dtype=float)) if name == "transform" and codes is not None else 0.0
    order = case.rng.permutation(m)
    turned = [rows[i] for i in order] if isinstance(rows, list) else rows[order]
    found = case.call(f"{name} in another order", method, turned, may_name=DATA)
    if _both(case, f"{name} in another order", found):
        _agree_rows(case, f"{name} in another order", found.value, whole, order, loose, noise)
    row = int(case.rng.integers(m))
    found = case.call(f"{name} of one row", method, rows[row : row + 1], may_name=DATA)
    if _both(case, f"{name} of one row", found):
        _agree_rows(case, f"{name} of one row", found.value, whole, [row], loose, noise)
    if isinstance(rows, list):
        for label, given in in_containers(case, rows).items():
            found = case.call(f"{name}({label})", method, given, may_name=DATA)
            if _both(case, f"{name}({label})", found):
                _agree_rows(case, f"{name}({label})", found.value, whole, range(m), 1e-9)
        return
    for label in choose(case, 4):
        given, meant = held(case, rows, label)
        expected = Answer(whole) if np.array_equal(meant, rows) else case.call(f"{name}({label}), plain", method, meant)
        found = case.call(f"{name}({label})", method, given, may_name=DATA)
        if label in FRAMES and found.refused and "feature names" in str(found.error):
            continue
        if expected.answered != found.answered and expected.good and found.good:
            case.fail(
                "disagreement", f"{name}({label}): {found.error or 'answered'}, plain: {expected.error or 'answered'}"
            )
        elif expected.answered and found.answered:
            _agree_rows(case, f"{name}({label})", found.value, expected.value, range(len(meant)), 1e-9)


def _both(case: Case, what: str, found: Answer) -> bool:
    if found.refused:
        case.fail("disagreement", f"{what} is refused: {found.error}")
    return found.answered


def _agree_rows(case: Case, what: str, found: Any, whole: Any, rows: Any, rtol: float, noise: float = 0.0) -> None:
    """Rows of an answer, which may be a ranking (compared by its distances) or chosen items."""
    if hasattr(whole, "distances"):
        found, whole = found.distances, whole.distances
    if isinstance(whole, list):
        case.expect([str(one) for one in found] == [str(whole[i]) for i in rows], what)
        return
    expected = np.asarray(whole)[list(rows)]
    case.agree(what, np.asarray(found), expected, atol=rtol * values.typical(np.asarray(whole)) + noise)


def _tolerance(case: Case, model: Any, name: str, rows: Any, whole: Any, plan: Plan) -> float | None:
    """What rounding may do: a hundred times what a change of the last digit of the rows does, and eps^(1/2)."""
    single = getattr(model, "dtype", "float64") == "float32"
    base = 1e-3 if single else 1e-7
    if name == "predict" and type(model).__name__ == "InputOutputKernelRegressor":
        return None  # the nearest candidate, which ties decide
    if single and not plan.tame and name in BY_CODE:
        return None  # codes of 1e15 have no digit that single precision keeps on the way back
    if isinstance(rows, list):
        return base
    eps = np.finfo(np.float32 if single else np.float64).eps
    moved = rows * (1.0 + eps * case.rng.choice([-1.0, 1.0], size=rows.shape))
    found = case.call(f"{name} of rows moved by a digit", getattr(model, name), moved, may_name=DATA)
    if not found.answered:
        return base
    a, b = (np.asarray(getattr(value, "distances", value), dtype=float) for value in (found.value, whole))
    if a.shape != b.shape:
        return base
    return base + 100.0 * float(np.abs(a - b).max(initial=0.0)) / max(values.typical(b), 1e-300)


def _codes_of_training_rows(case: Case, model: Any, plan: Plan) -> None:
    """Training rows encode to ``codes_``, within what the class documents."""
    if not hasattr(model, "codes_") or "sample_weight" in plan.named or "targets" in plan.named:
        return
    if not model.kernel_.known_psd:  # its training Gram matrix is made positive semi-definite, new rows are not
        return
    found = case.call("transform(training rows)", model.transform, plan.X, may_name=DATA)
    if not found.answered or not plan.tame:
        return
    codes, expected = np.asarray(found.value), np.asarray(model.codes_)
    if getattr(model.model_, "linear", None) is not None and not model.model_.map.whole:
        return  # the last decoder of many rows has more anchors than the one that found their codes
    if type(model).__name__ == "DeepRKM":  # a chosen ridge shrinks codes, by in_sample_defect_
        limit = float(np.max(model.in_sample_defect_)) * (1.0 + 1e-6) * np.linalg.norm(expected) + 1e-6
        case.expect(float(np.linalg.norm(codes - expected)) <= limit, "in_sample_defect_ bounds the change of codes")
        return
    single = getattr(model, "dtype", "float64") == "float32"
    if getattr(model, "noise", None) is not None or getattr(model, "constraint", "none") != "none":
        return
    case.agree("transform(training rows) gives codes_", codes, expected, rtol=2e-2 if single else 1e-5)


def _own_data(case: Case, kind: type, params: dict[str, Any], plan: Plan, answers: dict[str, Answer]) -> None:
    """A model does not change when the caller's arrays do."""
    if plan.form == "objects" or not case.chance(0.4):
        return
    X = plan.X.copy()
    named = {name: value.copy() for name, value in plan.named.items()}
    twin = kind(**params)
    if not case.call("fit again", twin.fit, X, may_name=DATA, **named).answered:
        return
    for array in [X, *named.values()]:
        array[...] = 1
    _same_answers(case, "after the caller's arrays changed", twin, plan, answers, rtol=0.0)


def _same_answers(
    case: Case, when: str, twin: Any, plan: Plan, answers: dict[str, Answer], rtol: float, atol: float = 0.0
) -> None:
    for name, answer in answers.items():
        if answer.answered and name in BY_ROW:
            found = case.call(f"{name} {when}", getattr(twin, name), plan.new, may_name=DATA)
            if not _both(case, f"{name} {when}", found):
                continue
            if isinstance(answer.value, list):
                case.expect(str(found.value) == str(answer.value), f"{name} {when}")
            else:
                case.agree(f"{name} {when}", found.value, answer.value, rtol=rtol, atol=atol)


def _saved(case: Case, model: Any, plan: Plan, answers: dict[str, Answer]) -> None:
    if not case.chance(0.5) or not hasattr(model, "get_params") or type(model).__name__.startswith("Smooth"):
        return
    path = case.folder / "model.rkhs"
    if case.call("save", rkhs.save, model, path, may_name=r"save|cannot|function|estimator|class|\w").answered:
        read = case.call("load", rkhs.load, path)
        if read.answered:
            _same_answers(case, "of the loaded model", read.value, plan, answers, rtol=1e-13)  # another place in memory


# ---------------------------------------------------------------- other containers, and refusals


def _other_containers(case: Case, kind: type, params: dict[str, Any], plan: Plan, answers: dict[str, Answer]) -> None:
    """A fit on other containers of the same numbers gives the same model."""
    if plan.form == "objects":
        options = in_containers(case, plan.X)
        label = case.one_of(options)
        twin = kind(**params)
        if _both(
            case, f"fit({label})", case.call(f"fit({label})", twin.fit, options[label], may_name=DATA, **plan.named)
        ):
            _same_answers(case, f"after fit({label})", twin, plan, answers, rtol=1e-9)
        return
    label = choose(case, 1)[0]
    X, meant = held(case, plan.X, label)
    named = {}
    for name, value in plan.named.items():
        other = choose(
            case,
            1,
            besides={
                "bool",
                "int8",
                "int64",
                "uint8",
                "big-endian int32",
                "first of reversed",
                "zero strides",
                "expanded tensor",
                "float16",
                "bfloat16 tensor",
                "float16 tensor",
                *SINGLE,
                "pandas of types",
            },
        )[0]
        named[name], _ = held(case, value, other)
        label = f"{label}, {name}: {other}"
    if len(meant) != len(plan.X):
        return
    plain = kind(**params)
    first = case.call(f"fit(plain of {label})", plain.fit, meant, may_name=_names(kind), **plan.named)
    twin = kind(**params)
    second = case.call(f"fit({label})", twin.fit, X, may_name=_names(kind), **named)
    if not first.good or not second.good:
        return
    if first.answered != second.answered:
        if not (label.split(",")[0] in SINGLE and "float32" in str(second.error)):
            case.fail("disagreement", f"fit({label}): {second.error or 'answered'}; plain: {first.error or 'answered'}")
        return
    if first.answered:
        _same_models(case, plain, twin, plan, answers, label, meant)


def _same_models(
    case: Case, plain: Any, twin: Any, plan: Plan, answers: dict[str, Answer], label: str, meant: np.ndarray
) -> None:
    """Two fits on the same numbers, one of them in another container, answer alike."""
    single = label.split(",")[0] in {*SINGLE, "pandas of types"}
    streamed = label.startswith("memory map") and not isinstance(getattr(plain, "storage", ""), str)
    for name in answers:
        if name in BY_ROW and answers[name].answered:
            a = case.call(f"{name} of plain", getattr(plain, name), plan.new, may_name=DATA)
            b = case.call(f"{name} after fit({label})", getattr(twin, name), plan.new, may_name=DATA)
            if single and not plan.tame and name == "reconstruction_error":
                continue  # codes are kept in the dtype of the data, and a bandwidth of equal codes is another one
            if a.answered and b.answered and not isinstance(a.value, list):
                rtol = 5e-7 if single else 1e-9
                squares = rtol * values.typical(np.asarray(meant)) ** 2 if name == "reconstruction_error" else 0.0
                if single:  # what single precision rounds to zero
                    squares += float(np.finfo(np.float32).tiny)
                if streamed:  # sums over blocks are rounded in another order
                    rtol = 10.0 * (_tolerance(case, plain, name, plan.new, a.value, plan) or 0.0)
                case.agree(f"{name} after fit({label})", b.value, a.value, rtol=rtol, atol=squares)


def _refused_alike(case: Case, kind: type, params: dict[str, Any], plan: Plan) -> None:
    """What is refused in one container is refused in every other."""
    if plan.form == "objects":
        return
    label = choose(case, 1)[0]
    X, meant = held(case, plan.X, label)
    if np.array_equal(meant, plan.X, equal_nan=True):
        found = case.call(f"fit({label})", kind(**params).fit, X, may_name=_names(kind), **plan.named)
        case.expect(found.error is not None, f"fit(plain) is refused and fit({label}) is not")


def _hostile_arguments(case: Case, model: Any, plan: Plan) -> None:
    """What no method can read is refused by name."""
    label, bad = refused(case, np.ones((3, 2)) if plan.form == "objects" else plan.new)
    if plan.form == "objects":
        bad = case.one_of([bad, [*plan.new, hostile_item(case)]])
    for name in (*BY_ROW, "score", "rank"):
        if hasattr(model, name):
            extra = [np.ones(3)] if name == "score" and "y" in plan.named else []
            case.call(f"{name}({label})", getattr(model, name), bad, *extra, may_name=DATA)
    label, bad = refused(case, np.ones((2, 2)))
    for name in BY_CODE:
        if hasattr(model, name):
            case.call(f"{name}({label})", getattr(model, name), bad, may_name=DATA + "|output")
    twin = type(model)(**model.get_params(deep=False))
    label, bad = refused(case, np.ones((3, 2)) if plan.form == "objects" else plan.X)
    case.call(f"fit({label})", twin.fit, bad, may_name=_names(type(model)), **plan.named)
    for name in plan.named:
        label, bad = refused(case, plan.named[name])
        case.call(f"fit({name}={label})", twin.fit, plan.X, may_name=_names(type(model)), **{**plan.named, name: bad})
    unfitted = type(model)()
    for name in (*BY_ROW, *BY_CODE):
        if hasattr(unfitted, name):
            case.call(f"{name} before fit", getattr(unfitted, name), plan.new)


def _hostile_parameter(case: Case, kind: type) -> None:
    """One parameter that is out of place, beside good data: the error names it, or the answer is finite."""
    chosen = case.one_of(hostile_parameters(kind))
    given = hostile_value(case, chosen)
    n = 8
    plan = Plan("vectors", values.tame(case, n, 3), values.tame(case, 3, 3))
    _add_named(case, kind, plan, {})
    if "y" in plan.named and not values.is_tame(plan.named["y"]):  # the parameter alone is hostile
        plan.named["y"] = values.tame(case, n, np.shape(plan.named["y"])[1] if plan.named["y"].ndim == 2 else 1)
    plan.named.pop("targets", None)
    plan.named.pop("sample_weight", None)
    what = f"fit with {chosen}={given!r:.60}"
    model = kind(**{**BASE.get(kind.__name__, {}), chosen: given})
    alias = {
        "kernel": r"Kernel|kernel|function",
        "decoder_kernel": "kernel|Kernel",
        "output_kernel": "kernel|Kernel",
        "kernels": "kernel",
    }
    wanted = rf"\b{chosen}\b|[A-Z]\w+\.\w+" + (f"|{alias[chosen]}" if chosen in alias else "")
    if not case.call(what, model.fit, plan.X, must_name=wanted, **plan.named).answered:
        return
    _finite_attributes(case, model)
    for name in BY_ROW:
        if hasattr(model, name):
            case.call(
                f"{name} with {chosen}={given!r:.60}", getattr(model, name), plan.new, must_name=wanted + "|" + DATA
            )
    if hasattr(model, "inverse_transform"):
        codes = case.call("transform", model.transform, plan.new)
        if codes.answered:
            what = f"inverse_transform with {chosen}={given!r:.60}"
            case.call(what, model.inverse_transform, codes.value, must_name=wanted + "|" + DATA)


def kinds() -> dict[str, type]:
    """Public estimators, the feature maps that are estimators themselves, and the small heads."""
    from rkhs.evaluation import SmoothClassifier, SmoothRegressor
    from rkhs.features import Nystroem, RandomFeatures

    found = [*estimators(), Nystroem, RandomFeatures, SmoothClassifier, SmoothRegressor]
    return {kind.__name__: kind for kind in found}


def subjects() -> dict[str, Callable[[Case], None]]:
    """Every estimator by name."""
    return {name: (lambda case, kind=kind: walk(case, kind)) for name, kind in kinds().items()}

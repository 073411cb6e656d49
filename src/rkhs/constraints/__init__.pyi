from rkhs.constraints.base import Constraint as Constraint, Unconstrained as Unconstrained
from rkhs.constraints.code_sets import (
    Ball as Ball,
    CodeSet as CodeSet,
    SoftSphere as SoftSphere,
    Sphere as Sphere,
    Whitened as Whitened,
    as_constraint as as_constraint,
)
from rkhs.constraints.stiefel import Stiefel as Stiefel

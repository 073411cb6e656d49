from rkhs.constraints.base import Constraint as Constraint
from rkhs.constraints.base import Unconstrained as Unconstrained
from rkhs.constraints.sphere import Ball as Ball
from rkhs.constraints.sphere import SoftSphere as SoftSphere
from rkhs.constraints.sphere import Sphere as Sphere
from rkhs.constraints.sphere import Whitened as Whitened
from rkhs.constraints.sphere import as_constraint as as_constraint
from rkhs.constraints.stiefel import Stiefel as Stiefel

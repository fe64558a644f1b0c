"""Types of numpy arrays, as annotations name them."""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.uint32]  # compiled loops need not ask whether these count from the end

#!/usr/bin/env python3
"""credit_trees.py - how examples/credit-trees.json was made: python3 examples/credit_trees.py FILE

Boosted trees that learnt the credit score of credit.py from 3,000 made-up applicants, some of whom
left questions open. Needs xgboost and numpy."""
import sys

import numpy as np
import xgboost

from credit import COLUMNS, CreditModel

rng = np.random.default_rng(1)
model = CreditModel()
rows = np.array(model.mean_) + np.array(model.scale_) * rng.standard_normal((3000, len(COLUMNS)))
rows = np.round(np.maximum(rows, 0), 2)
repaid = rng.random(len(rows)) < [p for _, p in model.predict_proba(rows.tolist())]
rows[rng.random(rows.shape) < 0.05] = np.nan
data = xgboost.DMatrix(rows, repaid, feature_names=COLUMNS)
options = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.4, "seed": 1}
xgboost.train(options, data, 20).save_model(sys.argv[1])

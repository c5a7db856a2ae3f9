"""The numbers that steer learning, each with its reason.

Parameters of estimators have their defaults in their classes; what is here nobody has to set.
"""

from semistruct.rules.base import OPEN_WEIGHT

# ---- weights of losses
MARGIN_C = 0.5  # the default C of methods that learn margins: good on all corpora that were measured
LIKELIHOOD_C = 10.0  # the same for likelihoods, whose losses are smaller
MARGIN_GRID = (0.1, 0.3, 1.0)  # of C to try: three are enough, as C matters little beyond a factor of three
LIKELIHOOD_GRID = (1.0, 3.0, 10.0)
IMPLIED_WORTH = 5.0  # labelled sequences: what all labels that rules imply weigh together

# ---- how exactly things are learned
MAX_ITERATIONS = 1000  # of solvers: a limit that only a hopeless problem reaches
MARGIN_GAP = 0.01  # the relative duality gap of the supervised model at which a path starts
ROUGH_GAP = 0.05  # the same where models are only compared, unless `tol` is larger
FILL_GAP = 0.1  # the same while unknown labels are filled in
BRIEF_GAP, BRIEF_PASSES = 0.2, 10  # of models without a part: this many passes make them forget their start
ROUGH_FALL = 1e-3  # the relative fall of a smooth objective where models are only compared
SETTLED_FALL = 1e-4  # the relative fall of an objective below which nothing changes any more
COMPLETIONS = 10  # rounds of filling in unknown labels and learning again; it settles earlier almost always

# ---- what is held out
PARTS = 5  # of the labelled sequences, each held out once
FEW_PARTS = 3  # where models have to be learned for the parts alone
PATHS = 2  # parts, where a whole path has to be followed for each
MANY = 1000  # sequences: from here on a single part speaks for all, and no more are asked about
ENOUGH = 300  # sequences of that single part, and of a pool in which rules are looked for
FEW = 30  # sequences: fewer of dev data do not calibrate alone, and no fewer of a pool are learned from
POOL_SHARE = 10  # models that are only asked about a part learn from one tenth of the pool

# ---- choosing a point of a path
DEV_WIDTH = 64  # of the search under rules on dev data
SLIGHT = 0.1  # mistakes per sequence: for less, nobody leaves a model that has learned less from the pool

# ---- rules
SURE_MARGIN = 0.5  # from which on a model is sure of a label; one wrong token costs 1 in training
STRENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0, OPEN_WEIGHT)  # of rules, to try on dev data
FIRST_STRENGTH = 40.0  # of rules with one labelled sequence; it falls with the square root of their number
SUGGEST_FROM = 10  # labelled sequences for rules to be suggested where no dev data tell whether they help
WARNED = 5  # rules that are said to be false, one by one

# ---- annealing
MATCH_WIDTH = 16  # of the search for labels of the pool; a wider one does not end up nearer to the truth
CROSSED, CROSSED_FROM = 2, 60  # models that label for each other, and the smallest pool that is worth cutting
SAMPLE = 5000  # sequences of a large pool with which the path is followed; more do not change what is chosen
SECOND_START_UNTIL = 10  # labelled sequences: with more, a start from the rules is no better
SECOND_START_POOL = 500  # sequences from which that start is learned
SECOND_START_C = 1.0  # of that start without dev data: a closer fit looks better by known mistakes than it is

# ---- expectations
PROJECT_TOL, PROJECT_ITERATIONS = 1e-3, 100  # of the multipliers, in expected events per sequence
UNMET = 0.01  # events per sequence by which a hard rule may be missed without a warning
EDGE = 1e-6  # shares are kept this far from 0 and 1, where their divergence is infinite

# ---- the ranker
RANK_FROM, RANK_FROM_RULED = 50, 20  # labelled sequences, without and with rules for single sequences
PROOF, PROOF_RULED = 1.0, -2.0  # standard errors by which more sequences must become better (`learning.ranking.helps`)
BAD_LUCK = 1.0  # standard errors by which more tokens may become wrong: a single long block is a matter of luck
RANK_C, LONG = 0.1, 33  # weight of the losses of sequences of this many tokens; shorter ones tell less and weigh less
SOFTNESS = 0.3  # of the largest violation in a list, in wrong tokens
RANK_ITERATIONS = 60
SMALLEST = 1e-3  # of a ranker's weight that is kept

"""The numbers that steer the workbench, each with its reason."""

from __future__ import annotations

# what people send
LARGEST_REQUEST = 64_000_000  # bytes; larger files are for the command line
LONGEST_SEQUENCE = 20_000  # characters; longer ones cannot be labelled by hand
LONGEST_RULES = 1_000_000  # characters; YAML of that size takes seconds to read
LONGEST_NAME = 60  # characters of a field's name, which stands above tokens
MOST_FIELDS = 25  # as many as colours and strokes can tell apart

# what people are shown
EXAMPLES = 12  # of each kind: cases of a rule, worst mistakes
CONTEXT = 5  # tokens on either side of a place
SNIPPET = 160  # characters of a text in a list: two lines
LIKE_THIS = 200  # places that read the same, which a person can look through
DOUBTFUL, SURE = 0.7, 0.9  # probability of being right below which a label is doubtful, and from which on it is sure
RESERVED = 300  # seconds for which a sequence that one window shows is not given to another
RECENT_CHANGES = 500  # changes that windows can still ask for; they ask every few seconds

# learning in the background
LEARN_POOL, CANDIDATES, PICKED = 200, 400, 40  # sequences to learn from, to choose from, and chosen at a time
SAMPLES = {"suggest": 200, "effects": 100, "look": 80, "curve": 60}  # of the pool, so that each takes a few seconds
KEPT_MODELS = 5  # files; older ones are deleted
CHOOSE_C_AGAIN = 2.0  # choosing C takes longer than learning: only when the labelled part has grown so many times
SWEEP_PART = 40  # sequences labelled at a time, so that a single one does not wait long
PROPOSAL_PATIENCE = 5.0  # seconds that a sequence waits for proposals before it is shown without them

# estimates
LEAST_TO_MEASURE = 4  # labelled sequences, below which nothing can be estimated
FOLDS, CURVE_PARTS = 5, 3  # of cross-validation; folds and sizes of the learning curve, which takes longer
HONEST = 5  # random sequences, from which on the estimate is taken from these alone
ENOUGH, WANTED = 10, 0.95  # sequences, and the share of them that were right, to call a confidence acceptable

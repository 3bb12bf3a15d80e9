"""The words that a request may use; imports nothing, so that a command line can offer them."""

PROJECTIONS = ("seeded", "identity")
NORMALIZERS = ("softmax", "linear", "none")

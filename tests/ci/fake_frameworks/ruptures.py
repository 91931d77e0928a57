"""A detector that names the night in the middle of what it is shown; the last break is the end, as ruptures has it."""


class Pelt:
    def __init__(self, model, min_size, jump):
        self.nights = 0

    def fit(self, signal):
        self.nights = len(signal)
        return self

    def predict(self, pen):
        return [self.nights // 2, self.nights]

"""Liu et al. (2018), Algorithms 1 and 2, and OFO, line by line; apart from the package."""

import math

import numpy as np

from tests import brute_force


def sigmoid(margin):
    return 1 / (1 + math.exp(-margin))


class Learner:
    """Stochastic gradient descent on the logistic loss, steps c / sqrt(t); keeps every vector."""

    def __init__(self, features, c, average=False):
        self.c, self.average, self.t = c, average, 0
        self.w = np.zeros(features + 1)
        self.all = []

    def chance(self, x):
        first = 2 ** (self.t.bit_length() - 2) if self.average == "suffix" and self.t > 1 else 0
        w = np.mean(self.all[first:], axis=0) if self.average and self.all else self.w
        return sigmoid(w @ np.append(x, 1))

    def update(self, x, y, cost=1.0):
        self.t += 1
        x = np.append(x, 1)
        gradient = cost * (sigmoid(self.w @ x) - y) * x
        self.w = self.w - self.c / math.sqrt(self.t) * gradient
        self.all.append(self.w)


def fofo(rows, labels, c=1.0, average=False, scale=1.0, beta=1.0, with_last=False):
    """Predictions, the last average threshold, weights; without a scale it is sqrt(10 / pi)."""
    n = len(rows)
    m = max(math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1, 1)
    n0 = n // m
    top = 1 / (1 + beta**2)
    learner, predicted = Learner(rows.shape[1], c, average), []
    theta_hat, radius, positives, t = 0.0, top, 0, 0
    for k in range(1, m + 1):
        gamma = radius / math.sqrt(10 * n0)
        theta_1 = theta_hat
        thetas = [theta_1]
        for _ in range(n0 if k < m else n - (m - 1) * n0):
            x, y = rows[t], labels[t]
            t += 1
            eta = learner.chance(x)
            predicted.append(int(eta >= (thetas[-1] if with_last else np.mean(thetas))))
            positives += y
            theta = thetas[-1]
            gradient = -max(eta - theta, 0) + beta**2 * positives / t * theta
            factor = scale or math.sqrt(10 * (t + 2) / (positives + 1))
            theta = theta - factor * gamma * gradient
            theta = np.clip(theta, max(0, theta_1 - radius), min(top, theta_1 + radius))
            thetas.append(theta)
            learner.update(x, y)
        theta_hat = np.mean(thetas)
        radius /= 2
    return predicted, theta_hat, learner.w


def ofo(rows, labels, c=1.0, beta=1.0):
    """Predictions: the threshold is the F of all before over 1 + beta^2."""
    learner, predicted = Learner(rows.shape[1], c), []
    for t, x in enumerate(rows):
        threshold = brute_force.fscore(predicted, labels[:t], beta, empty=0) / (1 + beta**2)
        predicted.append(int(learner.chance(x) >= threshold))
        learner.update(x, labels[t])
    return predicted

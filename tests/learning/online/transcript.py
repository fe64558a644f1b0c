"""Liu et al. (2018), Algorithms 1 and 2, and the other learners, line by line as they are printed.

Slow and plain; nothing is shared with the package.
"""

import math

import numpy as np


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
    """Predictions, the last average threshold, weights."""
    n = len(rows)
    m = max(math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1, 1)
    n0 = n // m
    top = 1 / (1 + beta**2)
    learner, theta_hat, radius, predicted, positives = (
        Learner(rows.shape[1], c, average),
        0.0,
        top,
        [],
        0,
    )
    t = 0
    for k in range(1, m + 1):
        gamma = scale * radius / math.sqrt(10 * n0)
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
            theta = theta - gamma * gradient
            theta = np.clip(theta, max(0, theta_1 - radius), min(top, theta_1 + radius))
            thetas.append(theta)
            learner.update(x, y)
        theta_hat = np.mean(thetas)
        radius /= 2
    return predicted, theta_hat, learner.w


def f_beta(predicted, labels, beta=1.0):
    both = sum(p * y for p, y in zip(predicted, labels, strict=True))
    below = beta**2 * sum(labels) + sum(predicted)
    return (1 + beta**2) * both / below if below else 0.0


def ofo(rows, labels, c=1.0, beta=1.0):
    """Predictions: the threshold is the F of all before over 1 + beta^2."""
    learner, predicted = Learner(rows.shape[1], c), []
    for t, x in enumerate(rows):
        threshold = f_beta(predicted, labels[:t], beta) / (1 + beta**2)
        predicted.append(int(learner.chance(x) >= threshold))
        learner.update(x, labels[t])
    return predicted


def logistic(rows, labels, c=1.0):
    learner, predicted = Learner(rows.shape[1], c), []
    for x, y in zip(rows, labels, strict=True):
        predicted.append(int(learner.chance(x) >= 0.5))
        learner.update(x, y)
    return predicted, learner.w


def stamp(rows, labels, c, epoch):
    """Predictions and levels for F1: P and N are mean rewards of positives and negatives."""
    learner, predicted, v, levels = Learner(rows.shape[1], c), [], 1.0, []
    t = 0
    held = ([], [])
    while t < len(rows):
        for _ in range(epoch):
            if t < len(rows):
                predicted.append(int(learner.chance(rows[t]) >= 0.5))
                learner.update(rows[t], labels[t], 2 - v if labels[t] else v)
                t += 1
        for _ in range(epoch):
            if t < len(rows):
                eta, y = learner.chance(rows[t]), labels[t]
                predicted.append(int(eta >= 0.5))
                margin = math.log(eta / (1 - eta)) * (1 if y else -1)
                held[y].append(1 - math.log(1 + math.exp(-margin)) / math.log(2))
                learner.t += 1
                t += 1
        if t < len(rows) and held[0] and held[1]:
            hit, spared = max(np.mean(held[1]), 0), np.mean(held[0])
            odds = (t - sum(labels[:t])) / sum(labels[:t])
            v = 2 * hit / (1 + odds + hit - odds * spared)
            held = ([], [])
            levels.append(v)
    return predicted, levels


def cost_sensitive(rows, labels, c, settings):
    """The predictions of each classifier with costs (1 - v/2, v/2), v = j / (settings + 1)."""
    found = []
    for j in range(1, settings + 1):
        v = j / (settings + 1)
        learner, predicted = Learner(rows.shape[1], c), []
        for x, y in zip(rows, labels, strict=True):
            predicted.append(int(learner.chance(x) >= 0.5))
            learner.update(x, y, 1 - v / 2 if y else v / 2)
        found.append(predicted)
    return found

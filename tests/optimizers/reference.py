"""Keras's update formulas in NumPy by optimizer: functions of (w, g, t, slots) that return the new
w."""

import numpy as np


def sgd(lr, momentum=0.0, nesterov=False):
    def update(w, g, t, s):
        if not momentum:
            return w - lr * g
        s["m"] = s.get("m", np.zeros_like(w)) * momentum - lr * g
        return w + (momentum * s["m"] - lr * g if nesterov else s["m"])
    return update


def adam(lr, beta_1=0.9, beta_2=0.999, epsilon=1e-7, weight_decay=0.0,
         amsgrad=False):
    def update(w, g, t, s):
        w = w - w * weight_decay * lr
        m, v = s.get("m", np.zeros_like(w)), s.get("v", np.zeros_like(w))
        s["m"] = m + (g - m) * (1 - beta_1)
        s["v"] = v + (g * g - v) * (1 - beta_2)
        alpha = lr * np.sqrt(1 - beta_2 ** (t + 1)) / (1 - beta_1 ** (t + 1))
        s["v_hat"] = np.maximum(s.get("v_hat", np.zeros_like(w)), s["v"])
        return w - s["m"] * alpha / (np.sqrt(s["v_hat" if amsgrad else "v"]) + epsilon)
    return update


def rmsprop(lr, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False):
    def update(w, g, t, s):
        s["v"] = rho * s.get("v", np.zeros_like(w)) + (1 - rho) * g * g
        s["a"] = rho * s.get("a", np.zeros_like(w)) + (1 - rho) * g
        step = lr * g / np.sqrt(s["v"] - centered * s["a"] ** 2 + epsilon)
        s["mom"] = momentum * s.get("mom", np.zeros_like(w)) + step
        return w - s["mom"]
    return update


def adagrad(lr, initial=0.1, epsilon=1e-7):
    def update(w, g, t, s):
        s["v"] = s.get("v", np.full_like(w, initial)) + g * g
        return w - lr * g / np.sqrt(s["v"] + epsilon)
    return update

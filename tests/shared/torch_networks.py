"""Torch modules of users, found by their names; to import this needs torch."""

import torch
from torch import nn


class Net(nn.Sequential):
    def __init__(self, observation_size, outputs):
        super().__init__(nn.Linear(observation_size, 5), nn.Tanh(), nn.Linear(5, outputs))


class Remembers(nn.Module):
    """Takes its state and returns it."""

    def __init__(self, observation_size, outputs):
        super().__init__()
        self.cell, self.last = nn.GRUCell(observation_size, 4), nn.Linear(4, outputs)

    def forward(self, x, state):
        state = self.cell(x, state)
        return self.last(state), state


class RemembersInside(nn.Module):
    """Keeps its state to itself."""

    def __init__(self, observation_size, outputs):
        super().__init__()
        self.cell, self.last = nn.GRUCell(observation_size, 4), nn.Linear(4, outputs)
        self.state = torch.zeros(1, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.last(self.state)


class Frozen(nn.Module):
    """Random features that are not trained, drawn when it is made."""

    def __init__(self, observation_size, outputs):
        super().__init__()
        self.features, self.last = nn.Linear(observation_size, 3), nn.Linear(3, outputs)
        self.features.requires_grad_(False)

    def forward(self, x):
        return self.last(torch.tanh(self.features(x)))

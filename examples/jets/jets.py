"""A jet tagger: 16 features of a jet in, scores of 5 kinds out."""

from torch import Tensor, nn


class Jets(nn.Module):
    """16-64-32-32-5 with ReLUs between."""

    input_shape = (16,)

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(16, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 32)
        self.fc4 = nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.fc1, self.fc2, self.fc3):
            x = layer(x).relu()
        return self.fc4(x)

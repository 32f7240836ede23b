"""Architectures made of torch alone, as tutorials and papers write them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.specimen import Example, Shelf, image

SHELF = Shelf()


@SHELF.add("torch/transformer", notes=("fused kernel",))
def _transformer() -> Example:
    model = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    return Example(model, (torch.randn(2, 7, 32), torch.randn(2, 5, 32)), {"tgt_mask": mask})


@SHELF.add("torch/transformer, training", training=True)
def _transformer_training() -> Example:
    return Example(nn.Transformer(32, 4, 2, 2, 64), (torch.randn(7, 2, 32), torch.randn(5, 2, 32)))


@SHELF.add("torch/lstm_tagger")
def _lstm_tagger() -> Example:
    """Packed sequences through a stack of bidirectional LSTMs."""
    return Example(_Tagger(), (torch.randint(1, 50, (3, 9)), torch.tensor([9, 6, 4])))


class _Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, 7)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.embed(ids), lengths, batch_first=True)
        out, _ = self.lstm(packed)
        padded, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return self.head(padded)


@SHELF.add("torch/seq2seq_attention", loops=6, quick=True)
def _seq2seq() -> Example:
    """A GRU encoder, and a decoder that attends and feeds its own best guess back in, five times."""
    return Example(_Seq2Seq(), (torch.randint(1, 20, (2, 6)),))


class _Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.encoder = nn.GRU(16, 16, batch_first=True)
        self.cell = nn.GRUCell(32, 16)
        self.query = nn.Linear(16, 16, bias=False)
        self.head = nn.Linear(32, 20)

    def forward(self, ids: Tensor) -> Tensor:
        states, last = self.encoder(self.embed(ids))
        hidden, token = last[0], torch.zeros(ids.shape[0], dtype=torch.long)
        logits = []
        for _ in range(5):
            weights = (states @ self.query(hidden)[..., None]).softmax(1)
            seen = (weights * states).sum(1)
            hidden = self.cell(torch.cat([self.embed(token), seen], -1), hidden)
            logits.append(self.head(torch.cat([hidden, seen], -1)))
            token = logits[-1].argmax(-1)
        return torch.stack(logits, 1)


@SHELF.add("torch/unet", quick=True)
def _unet() -> Example:
    return Example(_UNet(), (image(32, channels=1),))


class _Double(nn.Sequential):
    def __init__(self, given: int, made: int) -> None:
        super().__init__(
            nn.Conv2d(given, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(inplace=True),
            nn.Conv2d(made, made, 3, padding=1), nn.BatchNorm2d(made), nn.ReLU(inplace=True),
        )  # fmt: skip


class _UNet(nn.Module):
    """Ronneberger et al. 2015, with fewer channels."""

    def __init__(self, widths: tuple[int, ...] = (8, 16, 32, 64)) -> None:
        super().__init__()
        self.down = nn.ModuleList(_Double(a, b) for a, b in zip((1, *widths), widths, strict=False))
        self.pool = nn.MaxPool2d(2)
        pairs = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, stride=2) for a, b in pairs)
        self.join = nn.ModuleList(_Double(2 * b, b) for _, b in pairs)
        self.head = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for block in self.down[:-1]:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.down[-1](x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([skips.pop(), up(x)], 1))
        return self.head(x)


@SHELF.add("torch/variational_autoencoder, training", training=True)
def _autoencoder() -> Example:
    return Example(_Autoencoder(), (torch.randn(4, 30),))


class _Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(30, 20), nn.GELU())
        self.mean, self.log_var = nn.Linear(20, 4), nn.Linear(20, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 20), nn.GELU(), nn.Linear(20, 30))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        hidden = self.encoder(x)
        mean, log_var = self.mean(hidden), self.log_var(hidden)
        code = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        made = self.decoder(code)
        divergence = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(-1).mean()
        return {"made": made, "loss": nn.functional.mse_loss(made, x) + divergence}


@SHELF.add("torch/graph_network")
def _graph_network() -> Example:
    """Three rounds of messages along the edges of a graph, by index_add, each with its own weights."""
    return Example(_GraphNetwork(), (torch.randn(7, 8), torch.randint(0, 7, (2, 15))))


class _GraphNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rounds = nn.ModuleList(nn.Linear(16, 8) for _ in range(3))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        for update in self.rounds:
            messages = torch.zeros_like(nodes).index_add_(0, target, nodes[source])
            nodes = torch.tanh(update(torch.cat([nodes, messages], -1)))
        return nodes.mean(0)


@SHELF.add("torch/neural_ode", loops=32)
def _neural_ode() -> Example:
    """Runge-Kutta steps of one small network: four evaluations a step, eight steps."""
    return Example(_NeuralOde(), (torch.randn(3, 4),))


class _NeuralOde(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.field = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, state: Tensor) -> Tensor:
        step = 0.1
        for _ in range(8):
            one = self.field(state)
            two = self.field(state + step / 2 * one)
            three = self.field(state + step / 2 * two)
            four = self.field(state + step * three)
            state = state + step / 6 * (one + 2 * two + 2 * three + four)
        return state

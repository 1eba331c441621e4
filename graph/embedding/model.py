"""A model in ONNX, in this process; it takes a quarter of a gigabyte, so ``child`` is the process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime as untyped  # pyright: ignore[reportMissingTypeStubs]

from graph.embedding.packaged import require_sha256
from graph.embedding.profile import ModelFiles, Pooling, Profile
from graph.embedding.wordpiece import WordPiece
from graph.errors import UnavailableError

onnxruntime: Any = untyped
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]
_WARNINGS = 3  # errors alone: what it warns of are settings of the machine


class Model:
    """A model that is loaded.

    Args:
        profile: How it is used.
        files: Where it lies.

    Attributes:
        batch_size: Texts of one run.

    Raises:
        UnavailableError: the files are not what the profile says.
    """

    def __init__(self, profile: Profile, files: ModelFiles) -> None:
        require_sha256(files.model, profile.sha256)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _WARNINGS
        onnxruntime.disable_telemetry_events()
        self.batch_size = profile.batch_size
        self._profile = profile
        try:
            self._words = WordPiece.read(files.vocabulary)
            self._session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library has no errors of its own that could be named
            raise UnavailableError(
                f"the model {profile.name} cannot be loaded: {error}",
                field="WHENCE_EMBEDDER",
                allowed="an ONNX model of the BERT family, and its WordPiece vocabulary",
            ) from error
        self._inputs = {each.name for each in self._session.get_inputs()}
        if (found := len(self.vectors(["a"])[0])) != profile.dimensions:
            raise UnavailableError(
                f"the model {profile.name} gives {found} dimensions, not {profile.dimensions}",
                field="WHENCE_EMBEDDER.dimensions",
                allowed=str(found),
            )

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The vectors of texts, prefixes included, in one run; each of length 1."""
        ids = [self._words.ids(text, self._profile.tokens_max) for text in texts]
        longest = max(map(len, ids))
        tokens = np.zeros((len(ids), longest), np.int64)
        mask = np.zeros_like(tokens)
        for at, found in enumerate(ids):
            tokens[at, : len(found)] = found
            mask[at, : len(found)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        hidden = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        pooled = self._pooled(hidden, mask[:, :, None].astype(np.float32))
        return (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)

    def _pooled(self, hidden: Any, mask: Any) -> Any:
        if self._profile.pooling is Pooling.CLS:
            return hidden[:, 0]
        return (hidden * mask).sum(1) / mask.sum(1)

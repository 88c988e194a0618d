# SPDX-License-Identifier: MIT
"""`LLM`: a language model behind an address, as a model to explain and as a function of prompts."""
import json
import os
import re
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._core import Error
from ._inputs import is_frame

FIELD = re.compile(r"\{([A-Za-z0-9_]+)\}")


class LLM:
    """A language model behind an address (docs/llm.md):

        llm = sis.LLM("http://localhost:8000/v1/completions", model="NAME",
                      prompt="{context} Question: {question} Answer:")
        r = sis.explain(llm, [{"context": "...", "question": "..."}])

    address   .../v1/completions, .../v1/chat/completions, or llama.cpp's .../completion
    model     the server's name of the model; a server with one model may need none
    prompt    the prompt, with {field} for each field of an example; or the path (pathlib.Path) of a file with the
              prompt
    explain   the field whose parts are the features. Default: the only field, else "context". features= of
              sis.explain chooses the parts: "sentence" (the default), "paragraph", "line", "word"; the parts of a
              list are its entries
    answer    the answer, if an example has no field "answer". Default: the model's own answer
    score     "margin": 0 or more if the model gives this answer, so no threshold is needed; "logprob": the mean
              log-probability of its tokens; "label:yes,no": the probability of the first label
    token     a file with the key. Default: $OPENAI_API_KEY, for https and for addresses of this machine
    headers   a dict of further headers
    cache     a file of answers (SQLite); questions in it are not asked again
    timeout   seconds to wait for one answer
    retries   how often a failed request is repeated

    Examples are dicts of fields, a frame with a column for each field, texts (the explained field), or the path
    of a JSON Lines file. Call the object with prompts to score them; answers() returns the answers.
    """

    def __init__(self, address: str, model: Optional[str] = None, *, prompt: "Union[str, os.PathLike[str]]" = "{text}",
                 explain: Optional[str] = None, answer: Optional[str] = None, score: str = "margin",
                 token: "Union[None, str, os.PathLike[str]]" = None, headers: Optional[Mapping[str, str]] = None,
                 cache: "Union[None, str, os.PathLike[str]]" = None, timeout: float = 60.0, retries: int = 3) -> None:
        if isinstance(prompt, os.PathLike):
            with open(prompt, encoding="utf-8") as f:
                prompt = f.read()
            prompt = prompt[:-1] if prompt.endswith("\n") else prompt
        fields = FIELD.findall(prompt)
        self.address, self.model, self.prompt, self.answer, self.score = address, model, prompt, answer, score
        self.explain = explain or (fields[0] if len(set(fields)) == 1 else "context")
        if self.explain not in fields:
            raise Error("prompt: expected it to contain {%s}, the explained field" % self.explain)
        self.token, self.headers, self.cache = token, dict(headers or {}), cache
        self.timeout, self.retries = timeout, retries
        self._opened: Optional["_core.Model"] = None
        self._lock = threading.Lock()

    @property
    def spec(self) -> str:
        """The value of the program's option --model."""
        return self.address + ("#" + self.model if self.model else "")

    def __getstate__(self) -> Dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_opened", "_lock")}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _opened=None, _lock=threading.Lock())

    def __repr__(self) -> str:
        return "<LLM %s>" % self.spec

    def open(self) -> "_core.Model":
        """Open a new connection and ask the server what it supports."""
        return _core.Model.open(self.spec, timeout=self.timeout, score=self.score, retries=self.retries,
                                cache=None if self.cache is None else os.fspath(self.cache),
                                token=None if self.token is None else os.fspath(self.token),
                                headers=["%s: %s" % h for h in self.headers.items()])

    def _ask(self, prompts: Union[str, Sequence[str]], answer: Optional[str]) -> List[Any]:
        with self._lock:
            if self._opened is None:
                self._opened = self.open()
            return self._opened.ask([prompts] if isinstance(prompts, str) else list(prompts), answer)

    def __call__(self, prompts: Union[str, Sequence[str]], answer: Optional[str] = None) -> np.ndarray:
        """The score of the answer after each whole prompt. Without an answer, here or in the constructor, the
        score of the model's own answer."""
        return np.array([score for score, _ in self._ask(prompts, self.answer if answer is None else answer)])

    def answers(self, prompts: Union[str, Sequence[str]]) -> List[str]:
        """The model's own answer to each whole prompt."""
        if self.score.startswith("label:"):
            raise Error("answers: not available with score=%r" % self.score)
        return [answer for _, answer in self._ask(prompts, None)]

    def objects(self, X: Any, ids: Optional[Sequence[str]]) -> str:
        """The examples as lines of JSON."""
        if is_frame(X):
            X = X.to_dict("records")
        rows: List[Any] = [X] if isinstance(X, (str, Mapping)) else list(X)
        rows = [dict(r) if isinstance(r, Mapping) else {self.explain: r} for r in rows]
        if not rows:
            raise Error("X: has no examples")
        if ids is not None and len(ids) != len(rows):
            raise Error("ids: %d are given for %d examples" % (len(ids), len(rows)))
        try:
            return "".join(json.dumps(r if ids is None else dict(r, id=ids[i])) + "\n" for i, r in enumerate(rows))
        except TypeError as e:
            raise Error("X: expected dicts of texts, or texts, for a language model (%s)" % e) from None

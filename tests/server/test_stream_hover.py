"""What a hover shows of a stream: what happens in it, in the order of the text."""

from __future__ import annotations

from pathlib import Path

from server.client import serving
from server.samples import PUSH, place

_PROGRAM = Path(__file__).parents[1] / "host" / "programs" / "async_fork_join.cu"
URI = "file:///streams.cu"


def test_a_stream_shows_its_tokens() -> None:
    text = _PROGRAM.read_text(encoding="utf-8")
    text += """
void many(float* p, cudaStream_t given) {
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i) cudaStreamCreate(&streams[i]);
  fill<<<1, 32, 0, streams[0]>>>(p);
  fill<<<1, 32, 0, given>>>(p);
  for (int i = 0; i < 2; ++i) cudaStreamDestroy(streams[i]);
}
"""
    with serving(PUSH) as client:
        client.open(URI, text)

        function = client.at(URI, *place(text, "many("))
        drawn = client.request("smem/layout", {**function, "format": "html"})["html"]
        assert "many: what happens in its streams" in drawn and "launch fill" in drawn
        assert client.request("smem/layout", function) is None  # no JSON of it
        listed = client.request("smem/kernels", {"textDocument": {"uri": URI}})
        assert [(each["name"], each["title"]) for each in listed][-1] == ("many", "2 streams")

        def shown(before: str, name: str) -> str:
            number, at = place(text, before + name)
            found = client.hover(URI, number, at + len(before))
            return "" if found is None else found

        assert [line.split()[1:] for line in shown("", "a, b, c").splitlines()[3:-1]] == [
            ["●", "allocate", "p"],
            ["◆", "record", "ready"],
            ["▷", "wait", "for", "one"],
            ["▷", "wait", "for", "two"],
            ["●", "free", "p"],
        ]
        assert "● launch fill" in shown("<<<1, 32, 0, ", "b>>>")
        assert "stream **`streams[]`**: 1 piece of work" in shown("cudaStreamCreate(&", "streams[i]")
        assert "● launch fill" in shown("float* p, cudaStream_t ", "given")
        assert shown("many(float* ", "p, cudaStream_t") == ""

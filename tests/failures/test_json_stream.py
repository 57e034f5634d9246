"""JSON in pieces is what the standard library makes of the whole."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cprsim.failures.logs import json_stream
from cprsim.failures.logs.json_stream import IrregularError, streamed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def read(text: str | bytes, keys: tuple[str, ...] = (), each=lambda _, value: value):
    raw = text.encode() if isinstance(text, str) else text
    return streamed(io.BytesIO(raw), keys, each, dict)


@pytest.fixture(params=[1, 3, 2**20])
def piece(request, monkeypatch):
    """Bytes that are read at a time: borders lie everywhere."""
    monkeypatch.setattr(json_stream, "_PIECE", request.param)


@pytest.mark.parametrize("piece", [1, 7])
@settings(max_examples=40)
@given(value=VALUES, indent=st.sampled_from([None, 1]))
def test_it_is_what_json_reads(piece, value, indent):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_PIECE", piece)
        for ascii_only in (True, False):
            text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
            assert read(text) == value
            assert read(f'{{"a": 1, "data": {text}}}', ("data",)) == {"a": 1, "data": value}


@pytest.mark.usefixtures("piece")
def test_elements_of_the_list_are_made_small_and_nothing_else():
    text = (
        '\ufeff {"result": [1], "data": {"result": [10, [2], {"result": [3]}], "b": []}, "c": [4]} '
    )

    found = read(text, ("data", "result"), lambda number, value: (number, str(value)))

    kept = [(0, "10"), (1, "[2]"), (2, "{'result': [3]}")]
    assert found == {"result": [1], "data": {"result": kept, "b": []}, "c": [4]}


BROKEN = """[ [1 [1, [1,] [1;2] []] {}1 { {"a" {"a": {"a":1 {1:2} {"a":1,} ["\\x"] [nul] {"a";1}
{"data":[1}"""


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize("text", ["", *BROKEN.split()])
def test_what_is_no_json_is_none_in_pieces(text):
    for keys in ((), ("data",)):
        with pytest.raises(IrregularError):
            read(text, keys)
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_what_is_no_utf_8():
    with pytest.raises(UnicodeDecodeError):
        read(b'["\xe9"]')


def test_an_element_that_is_gone_takes_no_room(monkeypatch):
    monkeypatch.setattr(json_stream, "_PIECE", 1000)
    held = []

    class File(io.BytesIO):
        def read(self, size=-1):
            held.append(size)
            return super().read(size)

    text = json.dumps([{"text": "x" * 900}] * 200)
    found = streamed(File(text.encode()), (), lambda number, _: number, dict)

    assert found == list(range(200))
    assert max(held) <= 2000  # no more than twice an element is asked for at a time

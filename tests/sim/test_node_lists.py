"""Lists of nodes are sorted sets, servers first."""

from hypothesis import given
from hypothesis import strategies as st

from cprsim.machine import node_lists as nodes

NODES = st.lists(st.integers(0, 9), unique=True)
ROOM = nodes.FIRST + 10


def of(lists: list[list[int]], row: int) -> list[int]:
    return lists[row][nodes.FIRST : nodes.FIRST + lists[row][nodes.COUNT]]


@given(NODES, NODES, st.integers(0, 10), st.integers(0, 9))
def test_lists_of_nodes_are_sorted_sets(first, second, servers, node):
    lists = [[9] * ROOM for _ in range(nodes.FIXED + 1)]
    for row, content, severity in ((nodes.HIT, first, 1), (nodes.LOST, second, 2)):
        nodes.clear(lists, row)
        for each in content:
            nodes.insert(lists, row, each)
            nodes.insert(lists, row, each)
        lists[row][nodes.SEVERITY] = severity
        assert of(lists, row) == sorted(content)

    assert nodes.holds(lists, nodes.HIT, node) == (node in first)
    assert nodes.server_count(lists, nodes.HIT, servers) == sum(each < servers for each in first)
    nodes.keep_trainers(lists, nodes.NEW, nodes.HIT, servers)
    assert of(lists, nodes.NEW) == sorted(each for each in first if each >= servers)

    nodes.without(lists, nodes.DOWN, nodes.HIT, nodes.LOST)
    assert of(lists, nodes.DOWN) == sorted({*first} - {*second})
    nodes.copy(lists, nodes.AWAY, nodes.HIT)
    nodes.join(lists, nodes.AWAY, nodes.LOST)
    assert of(lists, nodes.AWAY) == sorted({*first} | {*second})
    severities = [lists[row][nodes.SEVERITY] for row in (nodes.DOWN, nodes.AWAY)]
    assert severities == [1, 2]


def test_a_row_is_taken_until_it_is_given_back():
    lists = [[0] * ROOM for _ in range(nodes.FIXED + 2)]
    one, other = nodes.take(lists), nodes.take(lists)
    assert (one, other, nodes.take(lists)) == (nodes.FIXED, nodes.FIXED + 1, -1)
    nodes.append(lists, other, 3)
    nodes.give_back(lists, other)
    assert nodes.take(lists) == other
    assert of(lists, other) == []

"""What people see first of each object: a line or two on the terminal, a page in a notebook, without foreign code."""

from html.parser import HTMLParser

import jax.numpy as jnp
import pytest

import lexicone as lx

NASTY = '<script>alert("1")</script>'


def objects():
    tree = lx.tasks.fruit_tree(2, seed=0, num_objectives=2)
    order = lx.Order({NASTY: 1.0, "b": lx.lowest})
    named = lx.MDP.from_function(
        NASTY, ["go"], lambda s, a: (1.0, None, [0.0, -1.0]), objective_names=(NASTY, "b")
    )
    maximum = lx.maximize(lambda x: jnp.stack([-(x[0] ** 2)]), [1.0], [], max_steps=2)
    return [order, tree, lx.tasks.maze("extended"), named, lx.solve(named, order), maximum]


@pytest.fixture(scope="module", params=range(6))
def shown(request):
    return objects()[request.param]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_lines_are_short_and_pages_whole(shown):
    assert len(repr(shown)) < 250
    assert "\n" not in repr(shown)
    page = Tags()
    page.feed(shown._repr_html_())
    assert page.open == []
    assert page.seen <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "p"}


def test_the_map_is_on_the_page():
    page = lx.tasks.maze("extended")._repr_html_()
    assert page.count('<td style="background') == 20
    assert ">H<" in page


def test_every_public_name_is_listed():
    names = dir(lx)
    assert {"solve", "Order", "order", "plots", "tasks", "__version__"} <= set(names)
    assert all(hasattr(lx, name) for name in names)

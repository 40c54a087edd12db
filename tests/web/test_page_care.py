"""The page under rough use: reloads, two windows, bad files, a hundred random actions, small screens, long work."""

import random
import re
import shutil

import pytest

from lexicone.web._sources import Opened
from tests.helpers.browser import Window
from tests.helpers.saved_runs import PPO_RUN, cut_short

pytestmark = pytest.mark.slow
COIN = "task=maze:extended&objectives=path&t=-3"


def test_a_reload_keeps_all_of_it(window):
    window.go(
        "drawing=..G./HH#./S...&objectives=goal,tiles,time&slip=0.1&order=1,0,2&t=-1,0.5&gamma=0.97"
        "&criterion=deterministic&view=front&x=1&y=2"
    )
    before, answer, view = window.page.url, window.text("#answer-body"), window.text("#view-front")
    window.page.reload()
    window.settle()
    assert window.page.url == before
    strip = re.compile(r"[\d.]+ ms")  # how long it took
    assert strip.sub("", window.text("#answer-body")) == strip.sub("", answer)
    assert window.text("#view-front") == view


def test_a_pasted_link_is_followed_without_a_reload(window):
    window.go(COIN)
    window.page.evaluate("() => { location.hash = 'task=maze:extended&objectives=path&t=-2'; }")
    window.page.wait_for_selector("text=at least −2")
    window.settle()
    assert window.values() == [-2, -6.4]


def test_two_windows_do_not_disturb_each_other(window, browser, address):
    other = Window(browser, address)
    window.go(COIN)
    other.go("task=grid:100&t=-1,-1&gamma=1", settle=False)
    other.page.wait_for_selector("#busy:not([hidden])")
    window.page.locator("#objectives input[type=number]").fill("-2")
    window.page.keyboard.press("Tab")
    window.settle()
    assert window.values() == [-2, -6.4]
    assert other.state["task"] == "grid:100"
    other.page.click("#cancel")
    other.go("task=space_traders")
    assert other.values()[0] == pytest.approx(0.88)
    assert window.values() == [-2, -6.4]
    assert other.said == []
    other.close()


def test_long_work_has_a_busy_sign_and_can_be_cancelled(window):
    window.go("task=grid:100&t=-1,-1&gamma=1", settle=False)
    page = window.page
    page.wait_for_selector("#busy >> text=solving")
    page.click("#theme")  # the page is not frozen
    page.click("#cancel")
    page.wait_for_selector("#busy", state="hidden")
    assert "Cancelled" in window.text("#answer-body")
    page.click("#again-solve")
    page.wait_for_selector("#busy >> text=solving")
    page.click("#cancel")
    page.wait_for_selector("#again-solve")
    page.select_option("#task", "maze:extended")
    window.settle()
    assert len(window.values()) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.npz", b"this is no model"),
        ("empty.npz", b""),
        ("zip.npz", b"PK\x03\x04" + bytes(200)),
        ("maze.txt", b"\xff\xfe\x00not a maze"),
        ("eval.txt", b"__import__('os').system('true')"),
    ],
)
def test_a_bad_file_is_refused_in_words_and_nothing_changes(window, name, content):
    window.go(COIN)
    kind = "application/octet-stream"
    window.page.set_input_files("#file", {"name": name, "mimeType": kind, "buffer": content})
    window.page.wait_for_selector("#error:not([hidden])")
    assert len(window.text("#error")) > 10
    assert window.values() == [-3, -5.2]
    assert window.state["task"] == "maze:extended"


@pytest.mark.parametrize(
    "state",
    ["task=maze:/etc/passwd", "t=1+1", "gamma=9&view=x&order=5,5", "drawing=S", "file=" + "0" * 64,
     "objectives=<script>alert(1)</script>", "%E0%A4%A", "opened=1"],
)  # fmt: skip
def test_a_link_that_makes_no_sense_does_not_break_the_page(window, state):
    window.go(state)
    window.page.select_option("#task", "space_traders")
    window.settle()
    assert window.values()[0] == pytest.approx(0.88)


def test_a_drawing_that_is_not_finished_is_shown_to_be_mended(window):
    window.go("drawing=.G./.../...")
    assert "has no start" in window.text("#view-policy")
    window.page.click("[data-tile='S']")
    window.page.locator("#map").click(position={"x": 12, "y": 12})
    window.settle()
    assert window.state["drawing"] == "SG./.../..."
    assert window.values() == [1, 0]  # the step to the goal is free


def test_a_hundred_random_actions_leave_no_error_in_the_console(window):
    window.go(COIN)
    page, rng = window.page, random.Random(0)
    tasks = ["maze:small", "maze:concave", "space_traders", "road_trip", "resource_gathering"]
    kinds = ["tab", "task", "slider", "type", "move", "criterion", "gamma", "edit", "map", "button"]
    for _ in range(100):
        kind = rng.choice(kinds)
        if kind == "tab":
            page.locator("#tabs [role=tab]:visible").nth(rng.randrange(4)).click()
        elif kind == "task":
            page.select_option("#task", rng.choice(tasks))
        elif kind in ("slider", "type"):
            inputs = page.locator(
                f"#objectives input[type={'range' if kind == 'slider' else 'number'}]:enabled"
            )
            if inputs.count():
                one = inputs.nth(rng.randrange(inputs.count()))
                number = rng.choice(["-1", "0", "2", "1e9", "-3.5"])
                one.press(
                    rng.choice(["ArrowLeft", "Home", "End"])
                ) if kind == "slider" else one.fill(number)
        elif kind == "move":
            buttons = page.locator("#objectives button.down:enabled, #objectives .handle")
            if buttons.count():
                buttons.nth(rng.randrange(buttons.count())).press(
                    rng.choice(["Enter", "ArrowDown"])
                )
        elif kind == "criterion":
            page.check(f"input[value={rng.choice(['expected', 'episode', 'deterministic'])}]")
        elif kind == "gamma":
            page.locator("#gamma-slider").press(rng.choice(["ArrowLeft", "End", "PageDown"]))
        elif kind == "edit" and page.is_visible("#edit"):
            page.click("#edit")
        elif kind == "map" and page.is_visible("#map"):
            page.locator("#map").press(
                rng.choice(["2", "3", "4", "5", "ArrowUp", "ArrowLeft", "Control+z"])
            )
        elif kind == "button":
            shown = page.locator("#views button:visible:enabled, #views svg .point:visible")
            if shown.count():
                shown.nth(rng.randrange(shown.count())).press("Enter")
    window.settle()
    page.select_option("#task", "space_traders")
    page.check("input[value=expected]")
    window.settle()
    assert window.page.locator("#answer-body tbody tr").count() == 2


@pytest.mark.parametrize("view", ["policy", "front", "criteria", "episodes"])
def test_a_small_screen_needs_no_sideways_scrolling(browser, address, view):
    small = Window(browser, address, width=390, dark=True)
    small.go(f"{COIN}&view={view}")
    width = small.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 390
    assert small.said == []
    small.close()


def test_all_can_be_reached_by_keys(window):
    window.go(COIN)
    page, seen = window.page, set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "() => document.activeElement.id || document.activeElement.className || document.activeElement.type"
            )
        )
    assert {"skip", "task", "handle", "range", "gamma", "tab-policy", "map", "take-link"} <= seen
    page.focus("#tab-policy")
    page.keyboard.press("ArrowRight")
    window.settle()
    assert window.state["view"] == "front"


def test_a_training_is_watched_while_it_runs(browser, tmp_path):
    from lexicone.web._server import Settings, in_background

    file, later = tmp_path / "training.safetensors", tmp_path / "later"
    cut_short(PPO_RUN, file, 12)
    shutil.copy(PPO_RUN, later)
    opened = Opened("run", str(file), "runs/train", (), "opened=1&view=training")
    with in_background(opened, Settings(port=0, workers=2, seconds=30)) as found:
        window = Window(browser, found)
        window.go()
        page = window.page
        page.wait_for_selector("text=● running")
        assert "12 of 30 updates" in window.text("#view-training")
        assert page.locator("#view-training .seed").count() == 2 * 2  # objectives × seeds
        assert "exact optimum" in page.locator("#view-training").inner_html()
        assert "Which objective was being improved when" in window.text("#view-training")
        later.replace(file)
        page.wait_for_selector("text=■ finished")
        window.settle()
        page.locator("#when").press("Home")
        page.wait_for_selector("text=after 15 updates")
        page.select_option("#run", "1")
        window.settle()
        assert (window.state["at"], window.state["run"]) == ("0", "1")
        assert page.locator("#snapshot svg.figure").count() == 1
        assert len(window.values()) == 2  # the model of the training, solved
        assert window.said == []
        window.close()

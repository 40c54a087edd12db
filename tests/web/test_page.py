"""What one can do on the page, in a real browser."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest

pytestmark = pytest.mark.slow
COIN = "task=maze:extended&objectives=path&t=-3"


def test_someone_new_finds_what_the_threshold_costs_and_why_there_is_a_coin(window):
    window.go()
    answer = window.text("#answer-body")
    assert "time would get worse by 1.2, from −5.2 to −6.4" in answer
    assert "At (0,0), the start (● on the map), it goes Up in 80 % and Right in 20 %" in answer
    assert "always Up: tiles+goal −4 (misses −3), time −4" in answer
    assert "always Right: tiles+goal 1 (more than is needed), time −10" in answer
    assert "never flips a coin has time −8 in place of −5.2 (and tiles+goal −3)" in answer
    assert window.values() == [-3, -5.2]
    assert "80 %" in window.page.locator("#map text").all_text_contents()
    assert "One more unit costs 1.2 of time" in window.text("#objectives")


@pytest.mark.parametrize(
    ("task", "objective"),
    [("space_traders", "success"), ("deep_sea_treasure:concave", "treasure"), ("grid:10", "time")],
)
def test_a_task_is_chosen(window, task, objective):
    window.go()
    window.page.select_option("#task", task)
    window.settle()
    assert window.state["task"] == task
    assert objective in window.text("#answer-body")
    assert window.page.locator("#view-policy svg.figure").count() == 1


def test_a_maze_is_drawn_with_undo_and_saved_as_text(window):
    window.go(COIN)
    page = window.page
    page.click("#edit")
    window.settle()
    before = window.state["drawing"]
    assert before == ".G../.hhh/..../HHH./S..."
    page.click("[data-tile='#']")
    box = page.locator("#map").bounding_box()
    tile = box["width"] / 4
    page.locator("#map").click(position={"x": 2.5 * tile, "y": 2.5 * tile})
    window.settle()
    assert window.state["drawing"] == ".G../.hhh/..#./HHH./S..."
    assert window.values() == [-3, -8]  # the way around leads over an h now
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "1"):
        page.keyboard.press(key)  # away with S
    window.settle()
    assert window.state["drawing"].endswith("/....")
    assert "has no start" in window.text("#view-policy")
    page.keyboard.press("Control+z")
    window.settle()
    page.click("#undo")
    window.settle()
    assert window.state["drawing"] == before
    assert window.values() == [-3, -5.2]
    with page.expect_download() as download:
        page.click("#save-text")
    text = download.value.path().read_text()
    assert text == before.replace("/", "\n") + "\n"
    page.set_input_files(
        "#file", {"name": "m.txt", "mimeType": "text/plain", "buffer": b"S.H\n..G\n"}
    )
    window.settle()
    assert window.state["drawing"] == "S.H/..G"


def test_objectives_are_ordered_by_dragging_and_by_keys(window):
    window.go(COIN)
    page = window.page
    first = page.locator("#objectives > li").nth(0)
    second = page.locator("#objectives > li").nth(1)
    begin, end = first.locator(".handle").bounding_box(), second.bounding_box()
    page.mouse.move(begin["x"] + 5, begin["y"] + 5)
    page.mouse.down()
    page.mouse.move(begin["x"] + 5, end["y"] + end["height"] - 4, steps=4)
    page.mouse.up()
    window.settle()
    assert window.state["order"] == "1,0"
    assert page.locator("#objectives strong").all_inner_texts() == ["time", "tiles+goal"]
    page.locator(".handle").nth(0).focus()
    page.keyboard.press("ArrowDown")
    window.settle()
    assert page.locator("#objectives strong").all_inner_texts() == ["tiles+goal", "time"]
    page.locator("button.down").nth(0).press("Enter")
    window.settle()
    assert window.state["order"] == "1,0"


def test_a_slider_moves_a_threshold_and_the_optimum_follows(window):
    window.go(COIN)
    page = window.page
    slider = page.locator("#objectives input[type=range]")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")  # four steps of 0.05 to −2.8
    window.settle()
    assert float(window.state["t"].split(",")[0]) == pytest.approx(-2.8)
    assert window.values() == pytest.approx([-2.8, -5.2 - 1.2 * 0.2])
    page.locator("#objectives input[type=number]").fill("1.5")
    page.keyboard.press("Tab")
    window.settle()
    assert "✗ missed: 1" in window.text("#objectives")
    assert "no policy has more than 1 of it" in window.text("#answer-body")


def test_thresholds_in_each_others_way_are_named(window):
    window.go("task=maze:extended&objectives=goal,tiles,time&order=2,1,0&t=-4,0")
    assert "tiles ≥ 0 cannot be had together with time ≥ −4" in window.text("#answer-body")


def test_at_corners_of_the_front_costs_are_those_of_asking_for_more(window):
    window.go("task=maze:extended&objectives=path&t=-4")
    assert "One more unit costs 1.2 of time" in window.text("#objectives")  # to ask less gains 0.8
    window.go("task=space_traders&t=1")
    assert "More cannot be had." in window.text("#objectives")
    assert "More cannot be had than success ≥ 1" in window.text("#answer-body")
    window.go("task=space_traders&t=0.85")
    assert "0.1 more costs 9 of time" in window.text("#objectives")


def test_a_coin_that_is_not_needed_is_called_so(window):
    window.go("task=resource_gathering")
    assert "it need not: always Left has as much of what counts" in window.text("#answer-body")
    assert "gold 0.1 more costs" not in window.text("#objectives")
    assert "enemy" in window.text("#view-policy .legend")
    assert "depends on more than the place" in window.text("#view-policy .legend")


def test_discount_and_meaning_are_chosen(window):
    window.go(COIN)
    page = window.page
    page.check("input[value=episode]")
    window.settle()
    assert window.values() == [-3, -8]
    assert "100 %" in window.text("#answer-body")
    page.check("input[value=deterministic]")
    page.fill("#gamma", "0.9")
    page.press("#gamma", "Enter")
    window.settle()
    assert (window.state["criterion"], window.state["gamma"]) == ("deterministic", "0.9")
    assert page.locator("#answer-body .why").count() == 0


def test_a_point_of_the_front_gives_its_thresholds(window):
    window.go(COIN)
    page = window.page
    page.click("#tab-front")
    window.settle()
    assert page.locator("#view-front .here").count() == 1
    page.locator("#view-front [aria-label='Take tiles+goal 1, time −10']").last.click()
    window.settle()
    assert window.values() == [1, -10]
    point = page.locator("#view-front [aria-label='Take tiles+goal −3, time −8']")
    point.focus()
    page.keyboard.press("Enter")
    window.settle()
    assert window.values() == [-3, -5.2]


def test_of_three_objectives_the_one_that_costs_something_is_moved(window):
    window.go("task=maze:extended&objectives=goal,tiles,time&t=0.5,-4&view=front")
    assert window.state["x"] == "1"
    assert window.page.locator("#view-front .point").count() > 15
    window.page.select_option("#front-x", "0")
    window.settle()
    assert "Nothing moves: whatever is asked of goal" in window.text("#view-front")


def test_three_meanings_stand_beside_each_other(window):
    window.go(f"{COIN}&view=criteria")
    panels = window.page.locator("#view-criteria [data-criterion]")
    assert panels.count() == 3
    assert window.page.locator("#view-criteria svg.figure").count() == 3
    rows = window.page.locator("#view-criteria tbody tr").all_inner_texts()
    assert [row.split("\t")[1:] for row in rows] == [
        ["−3", "−3", "−3"],
        ["−5.2", "−8", "−8"],
        ["20 %", "100 %", "100 %"],
    ]


def test_an_episode_is_played_and_its_budget_runs_down(window):
    window.go(f"{COIN}&view=episodes")
    page = window.page
    budget = ".budget .badge"
    assert window.text(budget) == "0: 3 left"
    page.click("#step-on")
    left = {window.text(budget)}
    while page.is_enabled("#step-on"):
        page.click("#step-on")
        left.add(window.text(budget))
    assert "the episode ends" in window.text("#view-episodes")
    assert left & {"−4: 1 short", "1: 4 left"}
    page.click("#step-first")
    page.click("#play")
    page.wait_for_selector("text=After 2 steps")
    page.click("#play")
    page.click("#again")
    window.settle()
    assert window.state["seed"] == "1"


def test_what_is_shown_is_taken_along(window):
    window.go(COIN)
    page = window.page
    page.click("#take-link")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link == page.url
    files = {}
    for kind in ("svg", "png", "csv"):
        with page.expect_download() as download:
            page.click(f"#take-{kind}")
        files[kind] = download.value.path().read_bytes()
    drawing = ElementTree.fromstring(files["svg"])
    assert drawing.tag.endswith("svg")
    assert len(list(drawing.iter())) > 10
    assert files["png"].startswith(b"\x89PNG")
    assert len(files["png"]) > 2000
    rows = list(csv.DictReader(io.StringIO(files["csv"].decode())))
    coin = next(row for row in rows if row["name"] == "(0,0)")
    assert (float(coin["Up"]), float(coin["Right"])) == pytest.approx((0.8, 0.2))
    with page.expect_download() as download:
        page.click("#take-answer")
    table = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert (table[0]["value"], table[0]["what more costs"]) == (
        "-3",
        "One more unit costs 1.2 of time.",
    )
    page.click("#take-python")
    window.settle()
    names: dict = {}
    exec(page.inner_text("#python"), names)
    assert names["found"].values.tolist() == pytest.approx([-3, -5.2])


def test_a_model_without_a_map_shows_a_heat_map_over_its_factors(window, tmp_path):
    from lexicone.models import MDP

    def step(state, action):
        stock, day = state
        return [(0.5, (max(0, stock - sold) + action, day + 1), [-action, sold]) for sold in (0, 1)]

    mdp = MDP.from_function(
        (2, 0), lambda s: [0, 1] if s[1] < 4 else [], step, objective_names=("cost", "sales")
    )
    mdp.save(tmp_path / "shop.npz")
    window.go()
    window.page.set_input_files("#file", str(tmp_path / "shop.npz"))
    window.settle()
    assert window.state["name"] == "shop.npz"
    assert "cost" in window.text("#objectives")
    assert window.page.locator("#view-policy svg.figure title").count() > 10
    window.page.select_option("#heat-x", "1")
    assert "States that are visited most" in window.text("#view-policy")
    window.page.reload()
    window.settle()
    assert "cost" in window.text("#answer-body")
    assert json.loads(window.page.evaluate("() => JSON.stringify(lexicone.state.source)"))["file"]

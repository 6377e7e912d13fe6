"""The page: whole, self-contained, escaped; the drawing: in its frame, however many components there are."""

from __future__ import annotations

import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_files import edit_rtl, leave_certificate, leave_simulation, leave_synthesis

from mase_hw.emit import Build, read_build
from mase_hw.report import document, render_page
from mase_hw.report.charts import FRONT_HEIGHT, FRONT_WIDTH, bars, front_chart
from mase_hw.report.diagram import WIDTH, diagram

EVIL = "</title></style><script>document.title='taken'</script><img src=x onerror=alert(1)>\"'&"
VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Elements by name, their attributes and the text; fails where elements are not nested well."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def styled(self, name: str) -> int:
        return sum(name in (attributes.get("class") or "").split() for _, attributes in self.elements)


@pytest.fixture
def content(build: Build) -> dict[str, Any]:
    leave_simulation(build)
    leave_certificate(build)
    leave_synthesis(build)
    return document(build)


def test_the_page_says_what_the_document_says(content: dict[str, Any]) -> None:
    page = Page(render_page(content))
    for text in (
        "small",
        "net.py:Net",
        "model.toml",
        "proved for every input",
        "every output equal",
        "999",
        "778",
        "288",
    ):
        assert text in page.text
    for row in content["layers"]["rows"]:
        assert row["name"] in page.text
    for source in content["model"]["sources"].values():
        assert source["sha256"] in page.text
    assert page.styled("component") == len(content["flow"]["components"]) + 2
    assert page.styled("wire") == len(content["flow"]["streams"])
    assert page.styled("bars-values") == page.styled("bars-error") == len(content["values"]["layers"])
    assert "mase-hw explore model.toml" in page.text


def test_nothing_is_loaded_and_nothing_runs(content: dict[str, Any]) -> None:
    text = render_page(content)
    page = Page(text)
    names = {tag for tag, _ in page.elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    attributes = {name for _, found in page.elements for name in found}
    assert not attributes & {"src", "srcset", "data", "xlink:href"}
    assert not [name for name in attributes if name.startswith("on")]
    assert all((found["href"] or "").startswith("#") for _, found in page.elements if "href" in found)
    assert "@import" not in text
    assert set(re.findall(r"url\([^)]*\)", text)) <= {"url(#head)"}
    policy = [found for found in page.named("meta") if found.get("http-equiv") == "Content-Security-Policy"]
    assert [found["content"] for found in policy] == ["default-src 'none'; style-src 'unsafe-inline'"]


def _evil(value: Any) -> Any:
    """Every text of the document made hostile; the words that steer the page are left."""
    steering = {"status", "design", "origin", "interface", "about", "pattern", "implementation", "engine"}
    if isinstance(value, dict):
        return {key: item if key in steering and isinstance(item, str) else _evil(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_evil(item) for item in value]
    return value + EVIL if isinstance(value, str) else value


def test_no_text_of_a_model_becomes_markup(content: dict[str, Any]) -> None:
    hostile = _evil(copy.deepcopy(content))
    hostile["layers"]["total"]["measured"] = content["layers"]["total"]["measured"]
    hostile["synthesis"]["targets"][0]["target"] = "xcup"
    for part in (*hostile["layers"]["rows"], hostile["layers"]["between"] or {}):
        part["measured"] = {"xcup": None}
    plain, page = Page(render_page(content)), Page(render_page(hostile))
    assert EVIL in page.text
    assert not page.named("script")
    assert not page.named("img")
    assert {tag for tag, _ in page.elements} == {tag for tag, _ in plain.elements}


@pytest.mark.parametrize("how", ["emitted", "failed", "stopped", "stale", "unknown"])
def test_the_page_of_a_build_that_is_not_right(build: Build, how: str) -> None:
    if how == "failed":
        leave_simulation(build, failures=("none: data_out_0 (fc2): expected 1, got 2",), wrong=2)
        leave_certificate(build, {("fc1", "values"): "refuted", ("fc2", "widths"): "open"})
    elif how == "stopped":
        leave_simulation(build, stopped=True)
    elif how == "stale":
        leave_simulation(build)
        leave_certificate(build)
        leave_synthesis(build)
        edit_rtl(build)
    elif how == "unknown":
        (leave_simulation(build) / "verdict.json").unlink()
        (build.path / "certificate.json").write_text("{")
        leave_synthesis(build).write_text("{")
    page = Page(render_page(document(read_build(build.path))))
    expected = {
        "emitted": ["not simulated", "Nothing was simulated yet", "Nothing was proved yet", "Not synthesized"],
        "failed": ["simulation failed", "expected 1, got 2", "a claim is false", "not proved"],
        "stopped": ["simulation stopped before its end", "stopped before the end"],
        "stale": ["simulation is stale", "certificate is stale", "was proved", "synthesis is stale"],
        "unknown": ["without a verdict", "no verdict was written", "certificate cannot be read", "is no JSON: "],
    }[how]
    for text in expected:
        assert text in page.text
    assert "every output equal" not in page.text
    assert "proved for every input" not in page.text
    assert "accuracy in hardware" not in page.text
    good = page.styled("good")  # a failed build has claims that are proved, each marked so
    assert (good > 0) == (how == "failed")


def _flow(components: int) -> dict[str, Any]:
    figures = {"sites": 1, "lut": 1, "ff": 1, "dsp": 0, "bram": 0}
    names = [f"a_layer_with_quite_a_long_name_{k}" for k in range(components)]
    made = [
        {"name": name, "kind": "skid_buffer" if k % 3 else "linear_folded", "node": name, "label": "linear + relu"}
        | {"built": "folded 128x128 DSP", "implementation": "plumbing" if k % 3 else "folded"}
        | {"interval": 123456, "latency": 123456, "predicted": figures}
        for k, name in enumerate(names)
    ]
    for k, component in enumerate(made):
        component |= {"inputs": [f"s{k}"], "outputs": [f"s{k + 1}"]}
    stream = {"type": "u32.31", "lanes": 1024, "features": 4096, "beats": 4, "bits": 32768}
    return {"components": made, "streams": [{"name": f"s{k}", **stream} for k in range(components + 1)]}


@pytest.mark.parametrize("components", [1, 2, 9, 40, 60])
def test_the_drawing_stays_in_its_frame(components: int) -> None:
    drawn = diagram(_flow(components))
    assert len(drawn.boxes) == components + 2
    assert len(drawn.wires) == components + 1
    for k, one in enumerate(drawn.boxes):
        assert one.x >= 0
        assert one.x + one.width <= WIDTH
        assert one.y + one.height <= drawn.height
        assert all(len(line) * 6 <= one.width for line in one.lines)
        for other in drawn.boxes[k + 1 :]:  # no two overlap
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y
    for wire in drawn.wires:
        across = [float(number) for number in re.findall(r"[MH](-?[\d.]+)", wire.path)]
        assert all(0 <= x <= WIDTH for x in across)
    if components >= 9:
        assert len({box.y for box in drawn.boxes}) > 1  # it wraps


def test_bars_are_as_high_as_they_are_many() -> None:
    found = bars({"from": -1.0, "to": 1.0, "counts": [4, 0, 1, 0]}, marked=[0])
    assert [bar.style for bar in found] == ["marked", "plain"]
    assert found[0].height == 2 * found[1].height  # by the square root
    assert found[1].title == "0 to 0.5: 1 (20.00%)"


def test_dots_lie_where_their_numbers_say() -> None:
    figures = {"latency": 1, "lut": 1, "ff": 1, "dsp": 0, "bram": 0}
    points = [{"interval": 2.0**k, "sites": 4096 >> k, "chosen": {}, **figures} for k in range(7)]
    chart = front_chart(points, points[3])
    assert [dot.x for dot in chart.dots] == sorted(dot.x for dot in chart.dots)
    assert [dot.y for dot in chart.dots] == sorted(dot.y for dot in chart.dots)
    steps = {round(b.x - a.x, 0) for a, b in zip(chart.dots, chart.dots[1:], strict=False)}
    assert len(steps) <= 2  # powers of two are equally far apart
    assert (chart.own.x, chart.own.y) == (chart.dots[3].x, chart.dots[3].y)
    assert all(0 <= dot.x <= FRONT_WIDTH for dot in chart.dots)
    assert all(0 <= dot.y <= FRONT_HEIGHT for dot in chart.dots)
    single = front_chart(points[:1], points[0])
    assert len(single.dots) == 1
    assert single.x_ticks


def test_the_templates_are_inside_the_package() -> None:
    import mase_hw

    names = {file.name for file in (Path(mase_hw.__file__).parent / "report" / "templates").iterdir()}
    assert names == {"report.html.j2", "parts.html.j2", "style.css"}

"""MkDocs hook: pages from the top of the repository join the site, and relative links lead to the same things there."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

# In the repository, and on the site.
PAGES = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "bench/README.md": "project/benchmarks.md",
    "examples/digits/README.md": "project/digits.md",
    "examples/mnist/README.md": "project/mnist.md",
    "examples/cnv/README.md": "project/cnv.md",
}
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()[^()\s]+(?=\))")


def on_files(files: Files, *, config: Any) -> Files:
    """The pages above, and every other file of the repository that a page links to, as it is."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for file in list(files.documentation_pages()):
        for link in _LINK.findall(_FENCED.sub("", file.content_string)):
            source = _source(_repository_path(file.src_uri), link)
            if source in PAGES or source.startswith(("docs/", "..")) or not (ROOT / source).is_file():
                continue
            if files.get_file_from_path(_on_site(source)) is None:
                copy = File.generated(config, _on_site(source), abs_src_path=str(ROOT / source))
                files.append(copy)
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Relative links as the site has them; one that leads nowhere stays, and MkDocs says so."""
    here = _repository_path(page.file.src_uri)

    def moved(found: re.Match[str]) -> str:
        link = found[0]
        path, mark, anchor = link.partition("#")
        source = _source(here, link)
        if not path or ":" in path or not (ROOT / source).is_file():
            return link
        return posixpath.relpath(_on_site(source), posixpath.dirname(page.file.src_uri) or ".") + mark + anchor

    parts, end = [], 0
    for fenced in _FENCED.finditer(markdown):
        parts += [_LINK.sub(moved, markdown[end : fenced.start()]), fenced[0]]
        end = fenced.end()
    return "".join([*parts, _LINK.sub(moved, markdown[end:])])


def _repository_path(site: str) -> str:
    return next((source for source, page in PAGES.items() if page == site), f"docs/{site}")


def _source(here: str, link: str) -> str:
    """What a link in the file `here` leads to, from the top of the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(here), link.partition("#")[0]))


def _on_site(source: str) -> str:
    return PAGES.get(source) or (source.removeprefix("docs/") if source.startswith("docs/") else f"files/{source}")

"""Draw the README's pictures from the product itself: ``python docs/pictures.py``."""

import asyncio
import os
import re
from pathlib import Path

os.environ |= {"COLORTERM": "truecolor", "TERM": "xterm-256color"}

from core.language import set_language
from core.types import Mask, Request, Switches
from tui.app import AttnApp
from tui.scene import View

HERE = Path(__file__).parent
PICTURES = {
    "explorer": (
        (120, 36),
        View(Request("The black cat drank the milk"), head=1, query=5, key=2, pane="weights"),
        "attn-dark",
    ),
    "chinese": (
        (80, 24),
        View(
            Request("我想吃酸菜鱼", switches=Switches(mask=Mask(causal=True))),
            query=5,
            pane="matrix",
        ),
        "attn-light",
    ),
}


async def draw(name: str, size: tuple[int, int], view: View, theme: str) -> None:
    """Run the app without a terminal and save what it shows."""
    set_language("zh" if name == "chinese" else "en")
    app = AttnApp(view, theme=theme)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        picture = app.export_screenshot(title="attn-tui")
    # No fonts from elsewhere: a reader's own monospaced font will do.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (HERE / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    for name, options in PICTURES.items():
        asyncio.run(draw(name, *options))

"""Draw the README's pictures from the product itself: ``python docs/pictures.py``."""

from pathlib import Path

from core.language import set_language
from core.types import Mask, Request, Switches
from tui.picture import picture
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


if __name__ == "__main__":
    for name, (size, view, theme) in PICTURES.items():
        set_language("zh" if name == "chinese" else "en")
        (HERE / f"{name}.svg").write_text(picture(view, theme, size), encoding="utf-8")

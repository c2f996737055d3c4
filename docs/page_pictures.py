"""Take the pictures of the page for the documentation: ``python docs/page_pictures.py``.

A headless Chromium shows the page of a service with the sample user's history. The draft's words are written here, so
that the picture has claims of each kind; retrieval, claims and marks are real.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path

import uvicorn
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pearl.chat.fake import FakeChatModel  # noqa: E402
from pearl.settings import load_settings  # noqa: E402
from service.app import create_app  # noqa: E402
from service.sample import load_sample  # noqa: E402
from tests.browser import browser, order, sign_in, written  # noqa: E402

SIZES = {1200: 1150, 360: 740}  # width and height in pixels
REQUEST = "Tomas: can I swap my Saturday with Bea? And can you bring 12 inner tubes to Skellmouth on Friday?"
DRAFT = """Hello Tomas, kettle's on.

Short answer: yes, swap away. Bea takes your Saturday and you take hers, ten sharp; I have moved the pegs on the rota \
board.

I will bring the tubes to the ferry at 7:45, and Pim pays the 40 pounds.

Mind the tide,
Otti"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(home=Path(folder), database_url=None, log_level="error")
        app = create_app(settings, model=FakeChatModel([DRAFT] * len(SIZES)))
        services = app.state.services
        services.database.migrate()
        key = load_sample(services.database, settings)
        services.embed(1)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            with browser() as tab:
                while not server.started:
                    tab.run("new Promise((resolve) => setTimeout(resolve, 50))")
                port = server.servers[0].sockets[0].getsockname()[1]
                for width, height in SIZES.items():
                    tab.call("Network.clearBrowserCookies")
                    tab.size(width, height)
                    sign_in(tab, f"http://127.0.0.1:{port}", key)
                    tab.run("document.querySelector('#voice').value = 'email'")
                    order(tab, REQUEST)
                    written(tab)
                    tab.call("Emulation.setScrollbarsHidden", hidden=True)
                    tab.run("innerWidth > 600 ? scrollTo(0, 0) : document.querySelector('#result').scrollIntoView()")
                    picture = ROOT / "docs" / "assets" / f"page-{width}.png"
                    tab.picture(picture, whole=False)
                    Image.open(picture).quantize().save(picture, optimize=True)
        finally:
            server.should_exit = True
            thread.join()


if __name__ == "__main__":
    main()

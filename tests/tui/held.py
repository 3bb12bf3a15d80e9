"""Layers of real models that wait until a test lets them through, and what is seen meanwhile."""

import asyncio
import threading

from core import transformer
from tests.tui.helpers import ROUNDS, explorer_of, screen_lines, sentence_of


class Layers:
    """Layers of real models wait until they are let through, once `hold` is called."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.permits = threading.Semaphore(0)
        self.begun = self.let = 0
        self.first = []  # of the tokens that each layer runs

    def run_block(self, *arguments):
        self.begun += 1
        self.first.append(arguments[3].first)
        if not self.open.is_set():
            assert threading.current_thread() is not threading.main_thread()  # which draws
            self.permits.acquire(timeout=60)
        return run_block(*arguments)

    def hold(self):
        self.open.clear()
        self.permits = threading.Semaphore(0)
        self.begun = self.let = 0
        self.first = []

    def release(self):
        self.open.set()
        self.permits.release(1000)

    async def reach(self, pilot, count):
        """Let layers through until so many have begun."""
        while self.let < count - 1:
            self.permits.release()
            self.let += 1
        for _ in range(ROUNDS):
            await pilot._wait_for_screen()
            if self.begun == count:
                return
            await asyncio.sleep(0.002)
        raise AssertionError(f"{self.begun} layers have begun, not {count}")


run_block = transformer.run_block


async def begin(pilot, layers, text="t5 t6", layer=2):
    """Edit the sentence, and stand in a layer of the run."""
    layers.hold()
    sentence_of(pilot).set_true_text(text)
    await layers.reach(pilot, layer)


def status(pilot):
    return screen_lines(pilot.app)[-2].strip()


async def cancel(pilot):
    """Press esc, and wait until it is heard."""
    await pilot.press("escape")
    for _ in range(ROUNDS):
        await pilot._wait_for_screen()
        if explorer_of(pilot.app).settled:
            return
        await asyncio.sleep(0.002)
    raise AssertionError("esc was not heard")


async def until(pilot, done):
    for _ in range(ROUNDS):
        await pilot._wait_for_screen()
        if done():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come")

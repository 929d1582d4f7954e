"""A shop whose requests take turns in one thread. Spans tell them apart."""
import asyncio
import time

import profundo


def work(milliseconds):
    began = time.thread_time()
    while time.thread_time() - began < milliseconds / 1000:
        sum(range(500))


async def query(table, milliseconds):
    with profundo.span("query", table=table):
        await asyncio.sleep(0.002)  # the database answers
        work(milliseconds)


@profundo.span("render")
def render(milliseconds):
    work(milliseconds)


async def answer(route):
    with profundo.span("request", route=route):
        if route == "/search":
            # Tasks are in the span of the task that creates them.
            await asyncio.gather(query("items", 6), query("prices", 2))
            render(3)
        else:
            await query("orders", 2)
            render(1)


async def main():
    profundo.mark("ready")
    for _ in range(10):
        await asyncio.gather(*map(answer, ["/cart", "/search", "/"] * 5))
    profundo.mark("all answered")


asyncio.run(main())

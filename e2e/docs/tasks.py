"""Three tasks of asyncio, two of which have names."""
import asyncio


def burn(rounds):
    return sum(number * number for number in range(rounds * 1000))


async def fetch(rounds):
    for _ in range(20):
        burn(rounds)
        await asyncio.sleep(0.001)


async def main():
    red = asyncio.create_task(fetch(600), name="red")
    blue = asyncio.create_task(fetch(300), name="blue")
    await asyncio.gather(red, blue, asyncio.create_task(fetch(150)))


asyncio.run(main())

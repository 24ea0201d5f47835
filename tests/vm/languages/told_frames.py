"""Calls by Python, by C and by a generator, in two threads; python_frames.stp prints them."""

import os
import threading


class Shop:
    def sell(self, count):
        if count:
            return [self.sell(count - 1)]

        return os.getppid()


def each():
    shop = Shop()
    for one in map(
        shop.sell,
        [1],
    ):
        yield one or shop


def main():
    list(each())
    thread = threading.Thread(target=lambda: os.getppid())
    thread.start()
    thread.join()


main()
